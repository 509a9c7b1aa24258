package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"

	"thresher/service/problem"
)

//go:embed assets
var assets embed.FS

// policy permits the page's own files and requests to its own server only: no inline script
// or style, no markup made of strings, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Handler serves the page at / and its files under /web/ without a token, because they
// contain nothing that the API protects. The files at the top of more are served among them.
func Handler(more ...fs.FS) http.Handler {
	pages := loadPages(more...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := pages[r.URL.Path]
		if !ok {
			problem.Write(w, problem.New(problem.UnknownPath, "there is no %s", r.URL.Path), "")
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			problem.Write(w, problem.New(problem.MethodNotAllowed, "%s supports GET and HEAD", r.URL.Path), "")
			return
		}
		h := w.Header()
		h.Set("Content-Type", p.media)
		h.Set("ETag", p.tag)
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.text))
	})
}

// page is an embedded file and its headers.
type page struct {
	text  []byte
	media string
	tag   string
}

// loadPages reads the embedded files; the keys are the paths at which they are served.
func loadPages(more ...fs.FS) map[string]page {
	pages := map[string]page{}
	own, _ := fs.Sub(assets, "assets") // embedded, cannot fail
	addPages(pages, own, navigation(more))
	for _, files := range more {
		addPages(pages, files, "")
	}
	return pages
}

// addPages adds the files at the top of an embedded folder. The first page gets the navigation.
func addPages(pages map[string]page, files fs.FS, navigation string) {
	entries, _ := fs.ReadDir(files, ".") // embedded, cannot fail
	for _, e := range entries {
		text, _ := fs.ReadFile(files, e.Name())
		at := "/web/" + e.Name()
		if e.Name() == "index.html" {
			at = "/"
			text = bytes.Replace(text, []byte(noNavigation), []byte(navigation), 1)
		}
		sum := sha256.Sum256(text)
		pages[at] = page{text, media(e.Name()), `"` + hex.EncodeToString(sum[:12]) + `"`}
	}
}

// noNavigation is where the first page links to the pages of extensions.
const noNavigation = "  <nav aria-label=\"Pages\"></nav>\n"

// title finds a page's title, up to the name of the program.
var title = regexp.MustCompile(`<title>([^<·]+?)\s*(?:·|</title>)`)

// navigation links to the pages of extensions by their titles; it is empty if there are none.
func navigation(more []fs.FS) string {
	var links strings.Builder
	for _, files := range more {
		names, _ := fs.Glob(files, "*.html") // the pattern is valid
		for _, name := range names {
			text, _ := fs.ReadFile(files, name)
			if found := title.FindSubmatch(text); found != nil {
				fmt.Fprintf(&links, `<a href="web/%s">%s</a>`, name, found[1])
			}
		}
	}
	if links.Len() == 0 {
		return ""
	}
	return strings.Replace(noNavigation, "></", ">"+links.String()+"</", 1)
}

// media returns the media type of a file by its name. The system's table is not used, because
// it may lack types or have wrong ones.
func media(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}
