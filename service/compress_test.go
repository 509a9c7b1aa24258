package service

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fetched sends a request with these headers, names and values, and returns the unprocessed
// answer.
func (s *site) fetched(method, path string, body []byte, h ...string) *answer {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(h); i += 2 {
		req.Header.Set(h[i], h[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if said := resp.Header.Get("Content-Length"); said != "" && said != strconv.Itoa(len(text)) && method != http.MethodHead {
		s.t.Errorf("Content-Length %s of %d bytes", said, len(text))
	}
	return &answer{t: s.t, status: resp.StatusCode, header: resp.Header, body: text}
}

// unzipped returns the body of an answer that must be compressed.
func (a *answer) unzipped() []byte {
	a.t.Helper()
	if got := a.header.Get("Content-Encoding"); got != "gzip" {
		a.t.Fatalf("Content-Encoding %q of %d bytes", got, len(a.body))
	}
	z, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil {
		a.t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		a.t.Fatal(err)
	}
	return text
}

func TestAnswersAreCompressedWhenAsked(t *testing.T) {
	s := start(t, nil)
	s.fill()
	const asked = "Accept-Encoding"
	for _, path := range []string{"/openapi.yaml", "/", "/web/style.css"} {
		plain := s.fetched("GET", path, nil, asked, "identity")
		if plain.header.Get("Content-Encoding") != "" || !slices.Contains(plain.header.Values("Vary"), asked) {
			t.Errorf("%s: %v", path, plain.header)
		}
		zipped := s.fetched("GET", path, nil, asked, "br;q=1, gzip;q=0.8")
		if d := cmp.Diff(string(plain.body), string(zipped.unzipped())); d != "" || len(zipped.body) > len(plain.body)/2 {
			t.Errorf("%s: %d bytes of %d: %s", path, len(zipped.body), len(plain.body), d)
		}
		for _, h := range []string{"gzip;q=0", "", "zstd", "identity, gzip;q=0"} {
			if a := s.fetched("GET", path, nil, asked, h); a.header.Get("Content-Encoding") != "" || !bytes.Equal(a.body, plain.body) {
				t.Errorf("%s for %q: %v", path, h, a.header)
			}
		}
		if head := s.fetched("HEAD", path, nil, asked, "gzip"); head.status != 200 || len(head.body) != 0 {
			t.Errorf("HEAD %s: %d, %d bytes", path, head.status, len(head.body))
		}
	}

	many := `{"queries":[` + strings.Repeat("[1,2,3,4,5,6,7,8],", 99) + `[1,2,3,4,5,6,7,8]],"k":10}`
	var got struct{ Results []struct{ IDs []int64 } }
	a := s.fetched("POST", "/v1/collections/films/search", []byte(many), asked, "gzip", "Content-Type", jsonType)
	a.body = a.unzipped()
	if a.into(&got); len(got.Results) != 100 || len(got.Results[99].IDs) != 10 {
		t.Errorf("%d results", len(got.Results))
	}

	for what, a := range map[string]*answer{
		"small":     s.fetched("GET", "/healthz", nil, asked, "gzip"),
		"numbers":   s.fetched("POST", "/v1/collections/films/search?k=300", npy(gaussian(3, 20*dim), dim), asked, "gzip", "Content-Type", npyType, "Accept", npzType),
		"a problem": s.fetched("GET", "/v1/collections/none", nil, asked, "gzip"),
	} {
		if e := a.header.Get("Content-Encoding"); e != "" || a.header.Get("Content-Length") == "" {
			t.Errorf("%s: %v", what, a.header)
		}
	}
}

// TestCompressedIsAnother: compressed answers have their own ETag, which conditional requests
// can use; files are sent uncompressed, so that ranges of them fit.
func TestCompressedIsAnother(t *testing.T) {
	s := start(t, nil)
	plain := s.fetched("GET", "/web/style.css", nil, "Accept-Encoding", "identity").header.Get("ETag")
	zipped := s.fetched("GET", "/web/style.css", nil, "Accept-Encoding", "gzip").header.Get("ETag")
	if plain == zipped || !strings.HasSuffix(zipped, `-gzip"`) {
		t.Errorf("ETags %s and %s", plain, zipped)
	}
	for _, tag := range []string{plain, zipped, `"other", ` + zipped} {
		if a := s.fetched("GET", "/web/style.css", nil, "Accept-Encoding", "gzip", "If-None-Match", tag); a.status != http.StatusNotModified || len(a.body) > 0 {
			t.Errorf("%s: status %d", tag, a.status)
		}
	}

	content := []byte(strings.Repeat("[1,2,3]\n", 4000))
	id := s.upload("rows.jsonl", content, "batch")
	path := "/v1/files/" + id + "/content"
	whole := s.fetched("GET", path, nil, "Accept-Encoding", "gzip")
	if !bytes.Equal(whole.body, content) || whole.header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("%d bytes, %v", len(whole.body), whole.header)
	}
	part := s.fetched("GET", path, nil, "Accept-Encoding", "gzip", "Range", "bytes=8-20015", "If-Range", whole.header.Get("ETag"))
	if part.status != http.StatusPartialContent || !bytes.Equal(part.body, content[8:20016]) {
		t.Errorf("status %d, %d bytes", part.status, len(part.body))
	}
}

// TestHalfOfACompressedAnswer: a truncated answer does not look complete.
func TestHalfOfACompressedAnswer(t *testing.T) {
	s := start(t, nil)
	s.mux = s.newMux([]route{{method: "GET", pattern: "/half", handle: func(_ *request, w http.ResponseWriter) error {
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write(bytes.Repeat([]byte("half "), 20_000))
		panic("at the disco")
	}}})
	req, _ := http.NewRequest("GET", s.url+"/half", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := s.client.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("it ends well")
	}
}
