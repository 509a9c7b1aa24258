package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"thresher/internal/cli"
	"thresher/service/api"
)

// elsewhere is a web server on loopback that has the files of a folder.
type elsewhere struct {
	dir, url string
	gets     atomic.Int64
	// stops, if positive, is how many bytes of the next file arrive before its connection stands still.
	stops atomic.Int64
	still chan struct{} // closed when one does
}

func openElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	e := &elsewhere{dir: t.TempDir(), still: make(chan struct{})}
	files := http.FileServer(http.Dir(e.dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			e.gets.Add(1)
		}
		info, err := os.Stat(filepath.Join(e.dir, filepath.FromSlash(r.URL.Path)))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%d-%d"`, info.Size(), info.ModTime().UnixNano()))
		if n := e.stops.Load(); n > 0 && r.Method == http.MethodGet && r.Header.Get("Range") == "" {
			e.stops.Store(0)
			w.Header().Set("Content-Length", fmt.Sprint(info.Size()))
			f, err := os.Open(filepath.Join(e.dir, filepath.FromSlash(r.URL.Path)))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			io.CopyN(w, f, n) //nolint:errcheck // the client is killed
			http.NewResponseController(w).Flush()
			close(e.still)
			<-r.Context().Done()
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	e.url = s.URL
	return e
}

// build makes the collection films.thresher of n vectors.
func (e *elsewhere) build(t *testing.T, n int) {
	t.Helper()
	var text strings.Builder
	text.WriteString("id,x,y,z\n")
	for i := range n {
		fmt.Fprintf(&text, "film-%d,%d,%d,%d\n", i, i%7, (i*i)%11, (i*i*i)%13)
	}
	vectors := filepath.Join(t.TempDir(), "films.csv")
	if err := os.WriteFile(vectors, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	thresher(t, "build", "--vectors", vectors, "--metric", "ip", "--out", filepath.Join(e.dir, "films.thresher"), "--overwrite").WantCode(t, cli.ExitOK)
}

// replica starts a read-only server as a process of its own; more is added to its arguments.
func (e *elsewhere) replica(t *testing.T, cache string, more ...string) (stop func(os.Signal), hangup func(), url string, said *heard) {
	t.Helper()
	cmd, url, said := serveChild(t, append([]string{"--listen=127.0.0.1:0", "--backend=cpu", "--drain-lame-duck=0", "--read-only", "--log-level=info",
		"--collection=films=" + e.url + "/films.thresher", "--cache=" + cache}, more...)...)
	return func(s os.Signal) {
			t.Helper()
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil && s != os.Kill {
				t.Errorf("%v: %s", err, said)
			}
		}, func() {
			t.Helper()
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		}, url, said
}

// readyIn waits until a server is ready.
func readyIn(t *testing.T, url string, said *heard) api.Readiness {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ready, err := whenReady(ctx, url)
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return ready
}

// answersIn returns the answers of a server to a search, without the time that it took.
func answersIn(t *testing.T, url string) string {
	t.Helper()
	body := okBody(t, &http.Client{}, request(t, "POST", url+"/v1/collections/films/search", []byte(`{"queries":[[1,2,3],[3,-1,0.5]],"k":4,"method":"exact"}`), "Content-Type", "application/json"))
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "took_ms")
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReplicas: two read-only servers of one URL answer alike, byte for byte; they refuse to change anything, follow a new version
// at SIGHUP, and leave nothing of their own.
func TestReplicas(t *testing.T) {
	e := openElsewhere(t)
	e.build(t, 100)
	cache := t.TempDir()
	stop, hangup, first, said := e.replica(t, cache)
	stopOther, _, second, saidOther := e.replica(t, t.TempDir())
	one, two := readyIn(t, first, said), readyIn(t, second, saidOther)
	if one.Versions["films"] == "" || one.Versions["films"] != two.Versions["films"] {
		t.Errorf("versions %v and %v", one.Versions, two.Versions)
	}
	before := answersIn(t, first)
	if other := answersIn(t, second); other != before || !strings.Contains(before, `"film-`) {
		t.Errorf("answers differ:\n%s\n%s", before, other)
	}

	c := &http.Client{}
	defer c.CloseIdleConnections()
	for _, r := range []*http.Request{
		request(t, "PUT", first+"/v1/collections/other?metric=ip", []byte(`{"source":{"vectors":[[1,2]]}}`), "Content-Type", "application/json"),
		request(t, "DELETE", first+"/v1/collections/films", nil),
		request(t, "PUT", first+"/v1/collections/films/rows", []byte(`{}`), "Content-Type", "application/json"),
		request(t, "POST", first+"/v1/collections/films/rows", []byte(`{}`), "Content-Type", "application/json"),
		request(t, "POST", first+"/v1/batches", []byte(`{}`), "Content-Type", "application/json"),
		request(t, "POST", first+"/v1/files", nil),
	} {
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusForbidden || !bytes.Contains(text, []byte("/problems/read-only")) {
			t.Errorf("%s %s: %s %v %s", r.Method, r.URL.Path, resp.Status, err, text)
		}
	}

	e.build(t, 200)
	hangup()
	for began := time.Now(); answersIn(t, first) == before; runtime.Gosched() {
		if time.Since(began) > time.Minute {
			t.Fatalf("the new version is not served: %s", said)
		}
	}
	stopThird, _, third, saidThird := e.replica(t, t.TempDir())
	readyIn(t, third, saidThird)
	if a, b := answersIn(t, first), answersIn(t, third); a != b {
		t.Errorf("one that was reloaded and one that was started answer differently:\n%s\n%s", a, b)
	}
	if got := answersIn(t, second); got != before {
		t.Errorf("the one that was not told answers otherwise: %s", got)
	}
	for _, end := range []func(os.Signal){stop, stopOther, stopThird} {
		end(syscall.SIGTERM)
	}
	entries, err := filepath.Glob(filepath.Join(cache, "*", "entry.json"))
	if err != nil || len(entries) != 1 {
		t.Errorf("the cache has %q, %v", entries, err)
	}
	if left, err := os.ReadDir(filepath.Join(cache, "replicas")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestReplicaKilled: a replica that is killed while it fetches goes on where it was when it is started again.
func TestReplicaKilled(t *testing.T) {
	e := openElsewhere(t)
	e.build(t, 3000)
	info, err := os.Stat(filepath.Join(e.dir, "films.thresher"))
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	e.stops.Store(info.Size() / 2)
	kill, _, url, said := e.replica(t, cache)
	select {
	case <-e.still:
	case <-time.After(time.Minute):
		t.Fatalf("nothing was fetched: %s", said)
	}
	c := &http.Client{}
	resp, err := c.Do(request(t, "GET", url+"/readyz", nil))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	c.CloseIdleConnections()
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || !bytes.Contains(text, []byte("the collection films")) {
		t.Errorf("%s %v %s", resp.Status, err, text)
	}
	kill(os.Kill)
	stop, _, again, saidAgain := e.replica(t, cache)
	readyIn(t, again, saidAgain)
	if got := answersIn(t, again); !strings.Contains(got, `"film-`) {
		t.Errorf("it answers %s", got)
	}
	stop(syscall.SIGTERM)
	if left, err := os.ReadDir(filepath.Join(cache, "replicas")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestReplicaOfFolder: a folder of vectors that change is served as it is.
func TestReplicaOfFolder(t *testing.T) {
	dir := t.TempDir()
	vectors := filepath.Join(dir, "films.csv")
	if err := os.WriteFile(vectors, []byte("id,x,y,z\nfilm-a,1,2,3\nfilm-b,3,2,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	thresher(t, "build", "--vectors", vectors, "--metric", "ip", "--out", filepath.Join(dir, "films")+"/").WantCode(t, cli.ExitOK)
	cmd, url, said := serveChild(t, "--listen=127.0.0.1:0", "--backend=cpu", "--drain-lame-duck=0", "--read-only", "--collection=films="+filepath.Join(dir, "films"), "--cache="+t.TempDir())
	readyIn(t, url, said)
	if got := answersIn(t, url); !strings.Contains(got, `"ids":["film-a","film-b"]`) {
		t.Errorf("it answers %s", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// TestReplicaRefused: what cannot be served is said with its name.
func TestReplicaRefused(t *testing.T) {
	e := openElsewhere(t)
	e.build(t, 10)
	own := []string{"serve", "--listen=127.0.0.1:0", "--backend=cpu", "--cache=" + t.TempDir()}
	for _, wrong := range []struct {
		args []string
		want []string
	}{
		{[]string{"--read-only"}, []string{"read_only", "given without collection"}},
		{[]string{"--collection=a=b.thresher"}, []string{"collection", "given without read_only"}},
		{[]string{"--read-only", "--collection=b.thresher"}, []string{"collection", "NAME=PATH or NAME=URL"}},
		{[]string{"--read-only", "--collection=a=b.thresher", "--collection=a=c.thresher"}, []string{"collection a is listed twice"}},
		{[]string{"--read-only", "--collection=a=b.thresher", "--data=d"}, []string{"data", "a read-only server has no data of its own"}},
		{[]string{"--read-only", "--collection=a=absent.thresher"}, []string{"collection a", "absent.thresher"}},
		{[]string{"--read-only", "--collection=a=" + e.url + "/none.thresher"}, []string{"collection a", "/none.thresher: it does not exist: 404"}},
		{[]string{"--read-only", "--collection=a=" + e.url + "/films.thresher@0123456789abcdef"}, []string{"it has version", "@0123456789abcdef is asked for"}},
		{[]string{"--read-only", "--collection=a=s3://box/x.parquet", "--demo"}, []string{"--demo", "--read-only"}},
	} {
		got := thresher(t, append(own, wrong.args...)...)
		got.WantCode(t, cli.ExitInput)
		for _, part := range wrong.want {
			if !strings.Contains(got.Err, part) {
				t.Errorf("%q: %s, without %q", wrong.args, got.Err, part)
			}
		}
	}
}
