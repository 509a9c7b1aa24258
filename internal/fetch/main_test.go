package fetch

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"go.uber.org/goleak"
)

// TestMain runs the tests without what the machine has of credentials.
func TestMain(m *testing.M) {
	for _, line := range os.Environ() {
		if name, _, _ := strings.Cut(line, "="); strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "GOOGLE_") {
			os.Unsetenv(name)
		}
	}
	os.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/johannesboyne/gofakes3/backend/s3mem.New.func1"))
}

// store is an object store on loopback.
type store struct {
	t       *testing.T
	backend *s3mem.Backend
	server  *httptest.Server

	mu       sync.Mutex
	requests []string
	// between, if not nil, answers a request in place of the store if it returns true.
	between func(w http.ResponseWriter, r *http.Request, next http.Handler) bool
}

// openStore starts a store with a bucket box, which s3:// reaches from now on.
func openStore(t *testing.T) *store {
	t.Helper()
	s := &store{t: t, backend: s3mem.New()}
	if err := s.backend.CreateBucket("box"); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(s.backend).Server()
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path+" "+r.Header.Get("Range"))
		between := s.between
		s.mu.Unlock()
		if between != nil && between(w, r, fake) {
			return
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	t.Setenv("AWS_ENDPOINT_URL", s.server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "someone")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	return s
}

// put writes objects of the bucket.
func (s *store) put(objects map[string]string) {
	s.t.Helper()
	for key, text := range objects {
		if _, err := s.backend.PutObject("box", key, map[string]string{"Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT"}, strings.NewReader(text), int64(len(text)), nil); err != nil {
			s.t.Fatal(err)
		}
	}
}

// did returns the requests since the last call that begin with a method.
func (s *store) did(method string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.HasPrefix(r, method+" ") {
			all = append(all, r)
		}
	}
	s.requests = nil
	return all
}

// put replaces how requests are answered.
func (s *store) answer(between func(w http.ResponseWriter, r *http.Request, next http.Handler) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.between = between
}

// newCache returns a cache of its own.
func newCache(t *testing.T) *Cache {
	t.Helper()
	c, err := Open(Options{Folder: filepath.Join(t.TempDir(), "cache")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// soon is a context that ends before a test would hang.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// fetched fetches a name.
func fetched(t *testing.T, c *Cache, name string) *Set {
	t.Helper()
	set, err := c.Fetch(soon(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// wantTexts compares the contents of files.
func wantTexts(t *testing.T, files []string, want ...string) {
	t.Helper()
	var got []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(b))
	}
	if !slices.Equal(got, want) {
		t.Errorf("files have %.300q, want %.300q", got, want)
	}
}

// wantError fetches a name, which must fail, and wants parts of the message.
func wantError(t *testing.T, c *Cache, name string, parts ...string) {
	t.Helper()
	_, err := c.Fetch(soon(t), name)
	if err == nil {
		t.Errorf("%s: no error", name)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: the error is %q, without %q", name, err, part)
		}
	}
}

// long returns n bytes that do not repeat soon.
func long(n int) string {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{7}).Read(b) //nolint:errcheck // never fails
	return string(b)
}
