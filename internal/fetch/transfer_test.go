package fetch

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// parts returns the parts that lie in a cache.
func parts(t *testing.T, c *Cache) (all []string) {
	t.Helper()
	if err := filepath.WalkDir(c.Folder(), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, partSuffix) {
			all = append(all, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// page is a file of a web server with HTTPS.
type page struct {
	server *httptest.Server
	text   atomic.Pointer[string]
	header func(http.Header)
	cut    atomic.Int64 // after so many bytes the next answer breaks, 0 for never
	ranges sync.Map     // that were asked for
	gets   atomic.Int64
}

func openPage(t *testing.T, text string) *page {
	t.Helper()
	p := &page{}
	p.text.Store(&text)
	p.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := *p.text.Load()
		w.Header().Set("ETag", fmt.Sprintf(`"%08x"`, crc32.ChecksumIEEE([]byte(text))))
		if p.header != nil {
			p.header(w.Header())
		}
		if r.Method == http.MethodGet {
			p.gets.Add(1)
			p.ranges.Store(r.Header.Get("Range"), true)
			if cut := p.cut.Swap(0); cut > 0 {
				w = &cutting{w, cut}
			}
		}
		http.ServeContent(w, r, "", modifiedOf(r), strings.NewReader(text))
	}))
	t.Cleanup(p.server.Close)
	return p
}

// cutting breaks a connection after left bytes.
type cutting struct {
	http.ResponseWriter
	left int64
}

func (c *cutting) Write(b []byte) (int, error) {
	if int64(len(b)) < c.left {
		c.left -= int64(len(b))
		return c.ResponseWriter.Write(b)
	}
	c.ResponseWriter.Write(b[:c.left]) //nolint:errcheck // the connection is given up
	http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// cacheOf returns a cache that trusts a page's certificate.
func (p *page) cacheOf(t *testing.T, folder string) *Cache {
	t.Helper()
	c, err := Open(Options{Folder: folder, Transport: p.server.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A connection that breaks is replaced by one for the rest.
func TestBrokenConnectionIsContinued(t *testing.T) {
	text := long(3 << 20)
	p := openPage(t, text)
	p.cut.Store(1 << 20)
	wantTexts(t, fetched(t, p.cacheOf(t, t.TempDir()), p.server.URL+"/x.csv?token=secret").Files, text)
	if _, ok := p.ranges.Load(fmt.Sprintf("bytes=%d-", 1<<20)); !ok {
		t.Error("the rest was not asked for by itself")
	}
}

// What a fetch that was cancelled leaves is continued by the next, unless it is of another version.
func TestCancelledFetchIsContinued(t *testing.T) {
	text := long(4 << 20)
	p, folder := openPage(t, text), t.TempDir()
	ctx, cancel := context.WithCancel(soon(t))
	c, err := Open(Options{Folder: folder, Transport: p.server.Client().Transport, Progress: func(done, _ int64) {
		if done > 1<<20 {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	url := p.server.URL + "/x.csv"
	if _, err := c.Fetch(ctx, url); !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
	left := parts(t, c)
	if len(left) != 1 {
		t.Fatalf("parts %q", left)
	}
	info, err := os.Stat(left[0])
	if err != nil || info.Size() < 1<<20 || info.Size() == int64(len(text)) {
		t.Fatalf("%v, %v", info, err)
	}
	next := p.cacheOf(t, folder)
	wantTexts(t, fetched(t, next, url).Files, text)
	if _, ok := p.ranges.Load(fmt.Sprintf("bytes=%d-", info.Size())); !ok {
		t.Errorf("the rest from %d on was not asked for by itself", info.Size())
	}
	if left := parts(t, c); len(left) != 0 {
		t.Errorf("parts are left: %q", left)
	}
	other := long(5 << 20)
	p.text.Store(&other)
	wantTexts(t, fetched(t, next, url).Files, other)
}

// A part that is damaged, or is longer than the file, does not become the file.
func TestDamagedPart(t *testing.T) {
	text := long(1 << 20)
	p := openPage(t, text)
	p.header = func(h http.Header) {
		sum := crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
		h.Set("X-Goog-Hash", "crc32c="+base64.StdEncoding.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}))
	}
	c := p.cacheOf(t, t.TempDir())
	set := fetched(t, c, p.server.URL+"/x.csv")
	if err := os.Remove(set.Path); err != nil {
		t.Fatal(err)
	}
	writeFile(t, set.Path+partSuffix, text+"more")
	wantTexts(t, fetched(t, c, p.server.URL+"/x.csv").Files, text)
	if err := os.Remove(set.Path); err != nil {
		t.Fatal(err)
	}
	writeFile(t, set.Path+partSuffix, "damaged")
	wantError(t, c, p.server.URL+"/x.csv", "what arrived is not what the store has: its crc32c is")
	wantTexts(t, fetched(t, c, p.server.URL+"/x.csv").Files, text) // it was removed
}

// A part that has all bytes of a file whose size is not stated does not keep it from being fetched for ever.
func TestWholePartOfUnstatedSize(t *testing.T) {
	const text = "all of it"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		if r.Header.Get("Range") == fmt.Sprintf("bytes=%d-", len(text)) {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		http.NewResponseController(w).Flush() // so that no size is stated
		if r.Method == http.MethodGet {
			w.Write([]byte(text)) //nolint:errcheck // the client notices
		}
	}))
	defer server.Close()
	c, err := Open(Options{Folder: t.TempDir(), Transport: server.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	set := fetched(t, c, server.URL+"/x.csv")
	if err := os.Rename(set.Path, set.Path+partSuffix); err != nil { // as of a process that is killed just before it names it
		t.Fatal(err)
	}
	wantTexts(t, fetched(t, c, server.URL+"/x.csv").Files, text)
	if left := parts(t, c); len(left) != 0 {
		t.Errorf("parts are left: %q", left)
	}
}

// Several caches of one folder, as several processes have them, fetch a file once.
func TestFetchedOnce(t *testing.T) {
	text := long(1 << 20)
	p, folder := openPage(t, text), t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		c := p.cacheOf(t, folder)
		all.Go(func() {
			set, err := c.Fetch(soon(t), p.server.URL+"/x.csv")
			if err != nil {
				t.Error(err)
				return
			}
			wantTexts(t, set.Files, text)
		})
	}
	all.Wait()
	if got := p.gets.Load(); got != 1 {
		t.Errorf("fetched %d times", got)
	}
}

// A server that states neither tag nor time is asked for the file each time, and a weak tag does not join parts.
func TestWithoutTag(t *testing.T) {
	p := openPage(t, "one")
	p.header = func(h http.Header) { h.Del("ETag") }
	c := p.cacheOf(t, t.TempDir())
	wantTexts(t, fetched(t, c, p.server.URL+"/x.csv").Files, "one")
	two := "two"
	p.text.Store(&two)
	wantTexts(t, fetched(t, c, p.server.URL+"/x.csv").Files, "two")
	p.header = func(h http.Header) { h.Set("ETag", "W/"+h.Get("ETag")) }
	text := long(3 << 20)
	p.text.Store(&text)
	p.cut.Store(1 << 20)
	wantTexts(t, fetched(t, c, p.server.URL+"/y.csv").Files, text)
}

// A file that is replaced while it is fetched is refused rather than joined of two.
func TestReplacedMeanwhile(t *testing.T) {
	p := openPage(t, long(3<<20))
	var once sync.Once
	c, err := Open(Options{Folder: t.TempDir(), Transport: p.server.Client().Transport, Progress: func(done, _ int64) {
		if done > 0 {
			once.Do(func() { other := strings.Repeat("x", 3<<20); p.text.Store(&other) })
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p.cut.Store(1 << 20)
	wantError(t, c, p.server.URL+"/x.csv", "/x.csv: it was replaced while it was fetched")
}

// Servers that refuse HEAD, as for addresses that are signed for GET, are asked for a byte.
func TestWithoutHead(t *testing.T) {
	text := long(100)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("signature") != "right":
			http.Error(w, "no", http.StatusForbidden)
		case r.URL.Path == "/gone.csv":
			http.Error(w, "no", http.StatusGone)
		case r.URL.Path == "/down.csv":
			http.Redirect(w, r, "http://example.org/x.csv", http.StatusFound)
		case r.Method == http.MethodHead:
			http.Error(w, "no", http.StatusMethodNotAllowed)
		default:
			w.Header().Set("ETag", `"a"`)
			http.ServeContent(w, r, "", modifiedOf(r), strings.NewReader(text))
		}
	}))
	defer server.Close()
	c, err := Open(Options{Folder: t.TempDir(), Transport: server.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	set := fetched(t, c, server.URL+"/x.csv?signature=right")
	wantTexts(t, set.Files, text)
	if got := set.URLs[set.Path]; got != server.URL+"/x.csv" {
		t.Errorf("shown as %s", got)
	}
	_, err = c.Fetch(soon(t), server.URL+"/x.csv?signature=wrong")
	if !errors.Is(err, errDenied) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("the error is %v", err)
	}
	wantError(t, c, server.URL+"/gone.csv?signature=right", "it does not exist: 410 Gone")
	wantError(t, c, server.URL+"/down.csv?signature=right", "leads to http://example.org, and only https is followed")
	wantError(t, c, "http://example.org/x.csv", "http neither hides nor protects", "https")
	wantError(t, c, "https://example.org/folder/", "no list of files")
	wantError(t, c, "https:///x.csv", "names no host")
}

// The cache may be full, or in a place where nothing can be written.
func TestUnwritableCache(t *testing.T) {
	p := openPage(t, "text")
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, "")
	wantError(t, p.cacheOf(t, filepath.Join(file, "cache")), p.server.URL+"/x.csv", p.server.URL+"/x.csv", "cannot be kept in the cache", file)
}

func TestChecksums(t *testing.T) {
	for name, want := range map[string]string{ // of 123456789, as published
		"crc32c": "4waSgw==", "crc64nvme": "rosUhgp5mIg=", "crc32": "y/Q5Jg==", "md5": "JfnnlDI7RTiF9RgfG2JNCw==",
		"sha1": "98O8HYCOBHMq32eZZczDTKeuNEE=", "sha256": "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=",
	} {
		s := sums{}
		s.add(name, want)
		c := s.checking()
		c.Write([]byte("123456789"))
		if err := c.check(); err != nil {
			t.Error(err)
		}
		c.Write([]byte("0"))
		if c.check() == nil {
			t.Errorf("%s: other bytes have the same", name)
		}
	}
	s := sums{}
	s.add("crc32", "AAAAAA==-3")
	if s.checking() != nil {
		t.Error("a checksum of the checksums of parts is taken for one of the bytes")
	}
}

// modifiedOf is no time: ServeContent states none.
func modifiedOf(*http.Request) (none time.Time) { return none }
