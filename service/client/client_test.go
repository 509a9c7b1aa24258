package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"thresher/service/api"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs h as a server and returns a client of it, whose waits take no time and are
// recorded.
func serve(t *testing.T, o Options, h http.HandlerFunc) (*Client, *[]time.Duration) {
	t.Helper()
	c, waits, _ := serveUntil(t, o, h)
	return c, waits
}

// serveUntil is serve for an h that records something: calls are serialised, and none runs
// after settle returns.
func serveUntil(t *testing.T, o Options, h http.HandlerFunc) (c *Client, waits *[]time.Duration, settle func()) {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		h(w, r)
	}))
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	o.HTTP = &http.Client{Transport: transport}
	c, err := New(server.URL, &o)
	if err != nil {
		t.Fatal(err)
	}
	waits = &[]time.Duration{}
	c.wait = func(ctx context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return ctx.Err()
	}
	return c, waits, func() {
		transport.CloseIdleConnections()
		server.Close()
	}
}

// refuse answers with a problem.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	io.WriteString(w, text)
}

// cut ends the connection without an answer, or in the middle of one.
func cut() { panic(http.ErrAbortHandler) }

func TestNewRefuses(t *testing.T) {
	for _, base := range []string{"", "localhost:8080", "ftp://host", "http://", "http://h?a=b", "http://h#a", "http://u:p@h", "http://h:x"} {
		if _, err := New(base, nil); err == nil {
			t.Errorf("%q is taken for an address", base)
		}
	}
}

// TestAddresses checks the URLs of calls under a base with a path, with names that must be
// escaped.
func TestAddresses(t *testing.T) {
	var got string
	c, _ := serve(t, Options{Token: "secret"}, func(w http.ResponseWriter, r *http.Request) {
		got = r.Method + " " + r.URL.EscapedPath()
		if r.URL.RawQuery != "" {
			got += "?" + r.URL.RawQuery
		}
		if a := r.Header.Get("Authorization"); a != "Bearer secret" {
			t.Errorf("Authorization: %q", a)
		}
		io.WriteString(w, "{}")
	})
	c.base = c.base.JoinPath("under/")
	ctx := context.Background()
	for want, call := range map[string]func() error{
		"GET /under/v1/collections":            func() error { _, err := c.Collections(ctx); return err },
		"GET /under/v1/collections/a%2Fb%20c":  func() error { _, err := c.Collection(ctx, "a/b c"); return err },
		"GET /under/v1/collections/%2E%2E":     func() error { _, err := c.Collection(ctx, ".."); return err },
		"DELETE /under/v1/collections/x":       func() error { return c.DeleteCollection(ctx, "x") },
		"DELETE /under/v1/collections/x/rows":  func() error { _, err := c.DeleteRows(ctx, "x", []api.ID{api.IntID(1)}, ""); return err },
		"PUT /under/v1/collections/x":          func() error { _, err := c.CreateCollectionFrom(ctx, "x", 1, nil, ""); return err },
		"POST /under/v1/collections/x/search":  func() error { _, err := c.Search(ctx, "x", api.Search{}); return err },
		"POST /under/v1/collections/x/recall":  func() error { _, err := c.Recall(ctx, "x", api.Stated{}); return err },
		"POST /under/v1/collections/x/certify": func() error { _, err := c.Certify(ctx, "x", api.Stated{}); return err },
		"GET /under/v1/files/f":                func() error { _, err := c.File(ctx, "f"); return err },
		"GET /under/v1/files?after=f&limit=3":  func() error { _, err := c.Files(ctx, "f", 3); return err },
		"DELETE /under/v1/files/f":             func() error { return c.DeleteFile(ctx, "f") },
		"POST /under/v1/batches":               func() error { _, err := c.CreateBatch(ctx, api.BatchSpec{}, ""); return err },
		"GET /under/v1/batches/b":              func() error { _, err := c.Batch(ctx, "b"); return err },
		"GET /under/v1/batches":                func() error { _, err := c.Batches(ctx, "", 0); return err },
		"POST /under/v1/batches/b/cancel":      func() error { _, err := c.CancelBatch(ctx, "b"); return err },
		"POST /under/v1/x%2Fy/z?a=b": func() error {
			return c.Do(ctx, Call{Method: http.MethodPost, Path: []string{"v1", "x/y", "z"}, Query: url.Values{"a": {"b"}}, Body: 1, Key: "k"}, nil)
		},
		"GET /under/v1/version":         func() error { _, err := c.Version(ctx); return err },
		"GET /under/readyz":             func() error { return c.Ready(ctx) },
		"GET /under/healthz":            func() error { return c.Alive(ctx) },
		"GET /under/v1/files/f/content": func() error { _, err := c.Download(ctx, "f", io.Discard); return err },
		"POST /under/v1/files":          func() error { _, err := c.Upload(ctx, text("t", "x")); return err },
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if got != want {
			t.Errorf("called %s, want %s", got, want)
		}
	}
	if p := SearchPath("a/b"); p != "/v1/collections/a%2Fb/search" {
		t.Error(p)
	}
}

// text is an upload of a text.
func text(name, s string) Upload {
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil }
	return Upload{Name: name, Purpose: "batch", Size: int64(len(s)), Open: open}
}

func TestProblems(t *testing.T) {
	c, _ := serve(t, Options{Attempts: 1}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/batches/typed":
			refuse(w, 400, `{"type":"/problems/wrong-dimension","title":"T","status":400,"detail":"D","field":"queries","index":3,"limit":64}`)
		case "/v1/batches/busy":
			w.Header().Set("Retry-After", "7")
			refuse(w, 429, `{"type":"/problems/queue-full","title":"T","detail":"D"}`)
		case "/v1/batches/plain":
			http.Error(w, "a proxy speaks", http.StatusBadGateway)
		case "/v1/batches/html":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(500)
			io.WriteString(w, "<p>")
		case "/v1/batches/cut":
			refuse(w, 400, `{"type":`)
		case "/v1/batches/foreign":
			io.WriteString(w, "hello")
		}
	})
	three := 3
	for path, want := range map[string]*Problem{
		"typed": {Type: "/problems/wrong-dimension", Title: "T", Status: 400, Detail: "D", Field: "queries", Index: &three, Limit: []byte("64")},
		"busy":  {Type: "/problems/queue-full", Title: "T", Status: 429, Detail: "D", RetryAfter: 7 * time.Second},
		"plain": {Type: "about:blank", Title: "Bad Gateway", Status: 502, Detail: "a proxy speaks"},
		"html":  {Type: "about:blank", Title: "Internal Server Error", Status: 500},
		"cut":   {Type: "about:blank", Title: "Bad Request", Status: 400},
	} {
		_, err := c.Batch(context.Background(), path)
		var p *Problem
		if !errors.As(err, &p) {
			t.Errorf("%s: error %v", path, err)
			continue
		}
		if d := cmp.Diff(want, p); d != "" {
			t.Errorf("%s: (-want +got)\n%s", path, d)
		}
	}
	if _, err := c.Batch(context.Background(), "foreign"); err == nil || !strings.Contains(err.Error(), "GET /v1/batches/foreign") {
		t.Errorf("an answer that is no JSON: %v", err)
	}
}

// TestRetries checks which failures are retried, after what waits, and that a call that
// creates something keeps its key.
func TestRetries(t *testing.T) {
	type answer func(w http.ResponseWriter)
	busy := func(status int, after string) answer {
		return func(w http.ResponseWriter) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			refuse(w, status, `{"type":"/problems/queue-full","title":"busy"}`)
		}
	}
	ok := func(w http.ResponseWriter) { io.WriteString(w, `{"id":"b"}`) }
	lost := func(http.ResponseWriter) { cut() }
	half := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, `{"id":`)
		w.(http.Flusher).Flush()
		cut()
	}
	ms := time.Millisecond
	for _, c := range []struct {
		name    string
		answers []answer
		waits   []time.Duration
		fails   bool
	}{
		{"at once", []answer{ok}, nil, false},
		{"lost", []answer{lost, lost, ok}, []time.Duration{100 * ms, 200 * ms}, false},
		{"half an answer", []answer{half, ok}, []time.Duration{100 * ms}, false},
		{"busy", []answer{busy(429, ""), busy(503, "2"), ok}, []time.Duration{100 * ms, 2000 * ms}, false},
		{"gateway", []answer{busy(502, ""), busy(504, ""), ok}, []time.Duration{100 * ms, 200 * ms}, false},
		{"too long", []answer{busy(503, "60")}, nil, true},
		{"for ever", []answer{lost, lost, lost, lost}, []time.Duration{100 * ms, 200 * ms, 400 * ms}, true},
		{"refused", []answer{busy(400, "1")}, nil, true},
		{"failed", []answer{busy(500, "1")}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var keys []string
			client, waits, settle := serveUntil(t, Options{Attempts: 4, Backoff: 100 * ms, MaxWait: 10 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || !bytes.Contains(body, []byte(`"input_file_id":"f"`)) {
					t.Errorf("body %q, %v", body, err)
				}
				keys = append(keys, r.Header.Get("Idempotency-Key"))
				c.answers[len(keys)-1](w)
			})
			b, err := client.CreateBatch(context.Background(), api.BatchSpec{InputFileID: "f"}, "")
			settle()
			if c.fails != (err != nil) || err == nil && b.ID != "b" {
				t.Errorf("%+v, %v", b, err)
			}
			if d := cmp.Diff(c.waits, *waits); d != "" && len(c.waits)+len(*waits) > 0 {
				t.Errorf("waits (-want +got)\n%s", d)
			}
			if len(keys) != len(c.answers) || len(keys[0]) < 20 || len(slices.Compact(keys)) != 1 {
				t.Errorf("%d calls with keys %q, want %d with one", len(keys), keys, len(c.answers))
			}
		})
	}
}

// TestDeleteArrivedBefore: a file that is gone when its deletion is retried counts as
// deleted; one that never existed does not.
func TestDeleteArrivedBefore(t *testing.T) {
	for name, first := range map[string]func(http.ResponseWriter){
		"lost":    func(http.ResponseWriter) { cut() },
		"gateway": func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		"late":    func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) },
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			c, _, settle := serveUntil(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
				if calls++; calls == 1 {
					first(w)
					return
				}
				refuse(w, 404, `{"type":"/problems/unknown-file","title":"none"}`)
			})
			if err := c.DeleteFile(context.Background(), "f"); err != nil {
				t.Error(err)
			}
			err := c.DeleteFile(context.Background(), "f")
			if settle(); err == nil || calls != 3 {
				t.Errorf("%d calls, %v", calls, err)
			}
		})
	}
}

// TestUploadRefusedEarly: the server answers before it has read the body; the answer counts,
// not the error of sending the body.
func TestUploadRefusedEarly(t *testing.T) {
	c, waits := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		refuse(w, 403, `{"type":"/problems/forbidden","title":"no"}`)
	})
	path := filepath.Join(t.TempDir(), "q.npy")
	if err := os.WriteFile(path, make([]byte, 200<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	u, err := UploadOf(path, "batch")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Upload(context.Background(), u)
	var p *Problem
	if !errors.As(err, &p) || p.Status != 403 || len(*waits) > 0 {
		t.Errorf("error %v after %d waits", err, len(*waits))
	}

	// Errors of reading the body after an answer came are ignored.
	w := &watched{ReadCloser: closedFile{}}
	w.Close()
	if _, err := w.Read(nil); err != os.ErrClosed || w.failure() != nil {
		t.Errorf("%v, %v", err, w.failure())
	}
	if w = (&watched{ReadCloser: closedFile{}}); w.failure() != nil {
		t.Error("a failure before anything was read")
	}
	if w.Read(nil); w.failure() != os.ErrClosed {
		t.Errorf("failure %v", w.failure())
	}
}

type closedFile struct{}

func (closedFile) Read([]byte) (int, error) { return 0, os.ErrClosed }
func (closedFile) Close() error             { return nil }

// TestDeadlineIsNotRetried: 504 of a search means its own deadline.
func TestDeadlineIsNotRetried(t *testing.T) {
	calls := 0
	c, _, settle := serveUntil(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		calls++
		refuse(w, 504, `{"type":"/problems/deadline","title":"late"}`)
	})
	_, err := c.Search(context.Background(), "x", api.Search{})
	if settle(); err == nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestCancelled(t *testing.T) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	c, waits := serve(t, Options{}, func(http.ResponseWriter, *http.Request) {
		cancel(gone)
		cut()
	})
	if _, err := c.Batch(ctx, "b"); !errors.Is(err, gone) || !errors.Is(err, context.Canceled) || len(*waits) > 0 {
		t.Errorf("error %v after %d waits", err, len(*waits))
	}
}

func TestUpload(t *testing.T) {
	content := strings.Repeat("0123456789", 1<<16)
	calls := 0
	var keys []string
	c, _, settle := serveUntil(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if calls++; calls == 1 {
			io.CopyN(io.Discard, r.Body, 1000)
			cut()
		}
		file, head, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		got, err := io.ReadAll(file)
		if err != nil || string(got) != content || head.Filename != `q"é.npy` || r.FormValue("purpose") != "batch" {
			t.Errorf("%d bytes named %q for %q, %v", len(got), head.Filename, r.FormValue("purpose"), err)
		}
		if r.ContentLength < int64(len(content)) {
			t.Errorf("content length %d", r.ContentLength)
		}
		r.MultipartForm.RemoveAll()
		fmt.Fprintf(w, `{"id":"file-1","bytes":%d}`, len(got))
	})
	u := text(`q"é.npy`, content)
	u.Key = "mine"
	var sent atomic.Int64
	u.Sent = sent.Store
	f, err := c.Upload(context.Background(), u)
	settle()
	if err != nil || f.ID != "file-1" || f.Bytes != int64(len(content)) {
		t.Fatalf("%+v, %v", f, err)
	}
	if calls != 2 || keys[0] != "mine" || keys[1] != "mine" || sent.Load() != int64(len(content)) {
		t.Errorf("%d calls with keys %q, %d bytes sent", calls, keys, sent.Load())
	}
}

// TestUploadOfFileThatShrank: an error of the local file is not retried, and not reported as
// the server's.
func TestUploadOfFileThatShrank(t *testing.T) {
	c, waits := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // ends early
		io.WriteString(w, `{"id":"file-1"}`)
	})
	u := text("q.npy", "0123456789")
	u.Size = 20
	_, err := c.Upload(context.Background(), u)
	if err == nil || !strings.Contains(err.Error(), "q.npy ends 10 bytes before its 20") || len(*waits) > 0 {
		t.Errorf("error %v after %d waits", err, len(*waits))
	}
	if _, err := UploadOf(t.TempDir(), "batch"); err == nil {
		t.Error("a folder is uploaded")
	}
}

// content serves text as a file, and breaks off each answer after so many bytes.
func content(t *testing.T, text string, each int, ranges bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		if !ranges {
			r.Header.Del("Range")
		}
		out := &breaking{ResponseWriter: w, left: each}
		http.ServeContent(out, r, "f.jsonl", time.Time{}, strings.NewReader(text))
	}
}

type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if len(p) > b.left {
		b.ResponseWriter.Write(p[:b.left])
		b.ResponseWriter.(http.Flusher).Flush()
		cut()
	}
	b.left -= len(p)
	return b.ResponseWriter.Write(p)
}

func TestDownloadGoesOn(t *testing.T) {
	want := strings.Repeat("abcdefghij", 10000)
	var got bytes.Buffer
	c, waits := serve(t, Options{Attempts: 2}, content(t, want, 30000, true))
	n, err := c.Download(context.Background(), "f", &got)
	if err != nil || n != int64(len(want)) || got.String() != want {
		t.Fatalf("%d of %d bytes, %v", n, len(want), err)
	}
	if len(*waits) != 3 {
		t.Errorf("%d waits", len(*waits))
	}
}

// TestDownloadWithoutRanges: bytes that are sent again are skipped; a download without
// progress ends.
func TestDownloadWithoutRanges(t *testing.T) {
	want := strings.Repeat("abcdefghij", 10000)
	calls := 0
	var got bytes.Buffer
	c, _ := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		calls++
		content(t, want, 30000*calls, false)(w, r)
	})
	if n, err := c.Download(context.Background(), "f", &got); err != nil || n != int64(len(want)) || got.String() != want {
		t.Fatalf("%d of %d bytes, %v", n, len(want), err)
	}

	got.Reset()
	c, waits := serve(t, Options{Attempts: 3}, content(t, want, 30000, false))
	if n, err := c.Download(context.Background(), "f", &got); err == nil || n != 30000 || got.String() != want[:n] {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if len(*waits) > 6 {
		t.Errorf("%d waits", len(*waits))
	}
}

func TestDownloadOfFileThatChanged(t *testing.T) {
	calls := 0
	c, _, settle := serveUntil(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("ETag", fmt.Sprintf(`"v%d"`, calls))
		out := &breaking{ResponseWriter: w, left: 500 * calls}
		http.ServeContent(out, r, "f", time.Time{}, strings.NewReader(strings.Repeat("x", 900)))
	})
	_, err := c.Download(context.Background(), "f", io.Discard)
	if settle(); err == nil || !strings.Contains(err.Error(), "changed") || calls != 2 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}

// TestDownloadToFullDisk: an error of the writer is returned unchanged.
func TestDownloadToFullDisk(t *testing.T) {
	full := errors.New("disk full")
	c, waits := serve(t, Options{}, content(t, "text", 100, true))
	_, err := c.Download(context.Background(), "f", failing{full})
	if !errors.Is(err, full) || len(*waits) > 0 {
		t.Errorf("error %v after %d waits", err, len(*waits))
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestCollectionsInEitherForm(t *testing.T) {
	for _, body := range []string{`[{"name":"a"}]`, `{"object":"list","data":[{"name":"a"}]}`} {
		c, _ := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
		all, err := c.Collections(context.Background())
		if err != nil || len(all) != 1 || all[0].Name != "a" {
			t.Errorf("%s: %+v, %v", body, all, err)
		}
	}
}

func TestSleep(t *testing.T) {
	if err := sleep(context.Background(), 1); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := sleep(ctx, time.Hour); err != context.Canceled {
		t.Error(err)
	}
}

// TestReadiness decodes what a server says of its backends.
func TestReadiness(t *testing.T) {
	c, _ := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"status":"ready","backends":["cpu"],"lost":["cuda"],"gpu_unused":["device 0: full; free memory"],"found":{"files":1}}`)
	})
	got, err := c.Readiness(context.Background())
	want := api.Readiness{Status: "ready", Backends: []string{"cpu"}, Lost: []string{"cuda"}, GPUUnused: []string{"device 0: full; free memory"}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
}
