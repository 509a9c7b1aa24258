package web

import (
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"thresher/service/servicetest"
)

// ask sends a request to the handler and returns its answer.
func ask(t *testing.T, method, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w
}

func TestEveryFileIsServedSafely(t *testing.T) {
	want := map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
	pages := loadPages()
	if len(pages) < 10 {
		t.Fatalf("%d files are embedded", len(pages))
	}
	for at, p := range pages {
		w := ask(t, http.MethodGet, at)
		ext := path.Ext(at)
		if at == "/" {
			ext = ".html"
		}
		h := w.Header()
		if w.Code != http.StatusOK || h.Get("Content-Type") != want[ext] || w.Body.String() != string(p.text) {
			t.Errorf("%s: status %d, type %q, %d bytes of %d", at, w.Code, h.Get("Content-Type"), w.Body.Len(), len(p.text))
		}
		csp := h.Get("Content-Security-Policy")
		for _, must := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(csp, must) {
				t.Errorf("%s: policy %q lacks %s", at, csp, must)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: headers %v", at, h)
		}
	}
}

func TestUnchangedFilesAreNotSentAgain(t *testing.T) {
	first := ask(t, http.MethodGet, "/")
	tag := first.Header().Get("ETag")
	if again := ask(t, http.MethodGet, "/", "If-None-Match", tag); tag == "" || again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("with tag %q: status %d, %d bytes", tag, again.Code, again.Body.Len())
	}
	if other := ask(t, http.MethodGet, "/web/page.js", "If-None-Match", tag); other.Code != http.StatusOK {
		t.Errorf("another file with the page's tag: status %d", other.Code)
	}
	if head := ask(t, http.MethodHead, "/"); head.Code != http.StatusOK || head.Body.Len() != 0 || head.Header().Get("ETag") != tag {
		t.Errorf("HEAD: status %d, %d bytes, tag %q", head.Code, head.Body.Len(), head.Header().Get("ETag"))
	}
}

func TestWhatIsNotThereIsAProblem(t *testing.T) {
	for _, c := range []struct {
		method, target string
		status         int
	}{
		{"GET", "/web/", 404}, {"GET", "/web/index.html", 404}, {"GET", "/web/../handler.go", 404},
		{"GET", "/web/none.js", 404}, {"POST", "/", 405}, {"DELETE", "/web/page.js", 405},
	} {
		w := ask(t, c.method, c.target)
		if w.Code != c.status || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: status %d, type %q", c.method, c.target, w.Code, w.Header().Get("Content-Type"))
		}
		if c.status == 405 && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s %s: Allow %q", c.method, c.target, w.Header().Get("Allow"))
		}
	}
}

// TestNavigation: the first page links to pages of extensions by their titles, and has no navigation without any.
func TestNavigation(t *testing.T) {
	if alone := string(loadPages()["/"].text); strings.Contains(alone, "<nav") {
		t.Error("without extensions there is a navigation")
	}
	more := fstest.MapFS{
		"games.html": {Data: []byte("<html><title>Games · thresher</title></html>")}, "games.js": {Data: []byte("//")},
		"plain.html": {Data: []byte("<title>Plain</title>")},
	}
	page := string(loadPages(more)["/"].text)
	if want := `<nav aria-label="Pages"><a href="web/games.html">Games</a><a href="web/plain.html">Plain</a></nav>`; !strings.Contains(page, want) {
		t.Errorf("the page lacks %s", want)
	}
}

// TestTheFilesKeepToThePolicy finds violations of the policy, and references to files that do
// not exist.
func TestTheFilesKeepToThePolicy(t *testing.T) {
	files := map[string]string{}
	for at, p := range loadPages() {
		files[at] = string(p.text)
	}
	servicetest.CheckPages(t, files, func(string) bool { return false }, "/")
}
