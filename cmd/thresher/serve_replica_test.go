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
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/service/api"
)

// elsewhere is a web server on loopback that has the files of a folder.
type elsewhere struct {
	dir, url string
	gets     atomic.Int64
	builds   int
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
	e.builds++
	written := time.Now().Add(time.Duration(2*e.builds) * time.Second) // version numbers count seconds
	built, err := filepath.Glob(filepath.Join(e.dir, "films.thresher*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range built {
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
	}
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
	ctx, cancel := context.WithTimeout(t.Context(), soon)
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
		if time.Since(began) > soon {
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
	case <-time.After(soon):
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
	if err := os.WriteFile(vectors, []byte("id,x,y,z\nfilm-a,1,2,3\nfilm-b,3,2,1\nfilm-c,0,0,1\nfilm-d,0,0,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	thresher(t, "build", "--vectors", vectors, "--metric", "ip", "--out", filepath.Join(dir, "films")+"/").WantCode(t, cli.ExitOK)
	cmd, url, said := serveChild(t, "--listen=127.0.0.1:0", "--backend=cpu", "--drain-lame-duck=0", "--read-only", "--collection=films="+filepath.Join(dir, "films"), "--cache="+t.TempDir())
	readyIn(t, url, said)
	if got := answersIn(t, url); !strings.Contains(got, `"ids":["film-a","film-b","film-c","film-d"]`) {
		t.Errorf("it answers %s", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// TestReplicaOfGreatIDs: ids of 2^63 and more of a folder are answered as they are.
func TestReplicaOfGreatIDs(t *testing.T) {
	dir := t.TempDir()
	vectors := filepath.Join(dir, "films.csv")
	if err := os.WriteFile(vectors, []byte("id,x,y,z\n9223372036854775813,3,0,1\n5,2,0,1\n18446744073709551614,1,0,1\n7,0,0,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	thresher(t, "build", "--vectors", vectors, "--metric", "ip", "--out", filepath.Join(dir, "films")+"/").WantCode(t, cli.ExitOK)
	thresher(t, "build", "--vectors", vectors, "--metric", "ip", "--out", filepath.Join(dir, "films.thresher")).WantCode(t, cli.ExitOK)
	var all []string
	for _, from := range []string{"films", "films.thresher"} {
		cmd, url, said := serveChild(t, "--listen=127.0.0.1:0", "--backend=cpu", "--drain-lame-duck=0", "--read-only", "--collection=films="+filepath.Join(dir, from), "--cache="+t.TempDir())
		readyIn(t, url, said)
		_, ids, _ := strings.Cut(answersIn(t, url), `"ids":`)
		ids, _, _ = strings.Cut(ids, "]")
		all = append(all, ids)
		end(t, cmd, said)
	}
	for i, id := range []string{"9223372036854775813", "5", "18446744073709551614"} {
		if !strings.Contains(all[0], id) {
			t.Errorf("id %d is not among %s", i, all[0])
		}
	}
	if all[0] != all[1] || strings.Contains(all[0], "-") {
		t.Errorf("a folder answers %s, a collection %s", all[0], all[1])
	}
}

// end ends a server.
func end(t *testing.T, cmd *exec.Cmd, said *heard) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// versionIn returns the number of the version of films that a server states, once it is another than before.
func versionIn(t *testing.T, url string, before int64, said *heard) int64 {
	t.Helper()
	for began := time.Now(); ; runtime.Gosched() {
		var info struct{ Version int64 }
		if err := json.Unmarshal(okBody(t, &http.Client{}, request(t, "GET", url+"/v1/collections/films", nil)), &info); err != nil {
			t.Fatal(err)
		}
		if info.Version != before {
			return info.Version
		}
		if time.Since(began) > soon {
			t.Fatalf("version %d stays: %s", before, said)
		}
	}
}

// TestReplicaOfPathFollows: at SIGHUP a replica of a path sees what changed in any of the files there, and a version number is of
// the same contents in each replica.
func TestReplicaOfPathFollows(t *testing.T) {
	dir := t.TempDir()
	vectors, more := filepath.Join(dir, "films.csv"), filepath.Join(dir, "more.csv")
	for path, text := range map[string]string{vectors: "id,x,y,z\nfilm-a,1,2,3\nfilm-b,3,2,1\nfilm-e,0,2,1\nfilm-f,0,1,1\n", more: "id,x,y,z\nfilm-c,9,9,9\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	changing, prepared := filepath.Join(dir, "films"), filepath.Join(dir, "films.thresher")
	thresher(t, "build", "--vectors", vectors, "--metric", "ip", "--out", changing+"/").WantCode(t, cli.ExitOK)
	thresher(t, "build", "--vectors", vectors, "--metric", "ip", "--out", prepared).WantCode(t, cli.ExitOK)
	for from, change := range map[string]func(){
		changing: func() {
			thresher(t, "rows", "put", "--collection", changing, "--vectors", more).WantCode(t, cli.ExitOK)
		},
		prepared: func() { // other ids of the same vectors
			renamed := filepath.Join(t.TempDir(), "films.csv")
			if err := os.WriteFile(renamed, []byte("id,x,y,z\nfilm-c,1,2,3\nfilm-d,3,2,1\nfilm-g,0,2,1\nfilm-h,0,1,1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			other := filepath.Join(t.TempDir(), "films.thresher")
			thresher(t, "build", "--vectors", renamed, "--metric", "ip", "--out", other).WantCode(t, cli.ExitOK)
			if err := os.Rename(other+dataset.SavedIDsSuffix, prepared+dataset.SavedIDsSuffix); err != nil {
				t.Fatal(err)
			}
		},
	} {
		replica := func() (*exec.Cmd, string, *heard) {
			cmd, url, said := serveChild(t, "--listen=127.0.0.1:0", "--backend=cpu", "--drain-lame-duck=0", "--read-only", "--collection=films="+from, "--cache="+t.TempDir())
			readyIn(t, url, said)
			return cmd, url, said
		}
		cmd, url, said := replica()
		before := versionIn(t, url, 0, said)
		change()
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		now := versionIn(t, url, before, said)
		if got := answersIn(t, url); !strings.Contains(got, "film-c") {
			t.Errorf("%s: after SIGHUP it answers %s", from, got)
		}
		other, otherURL, otherSaid := replica()
		if got := versionIn(t, otherURL, 0, otherSaid); got != now {
			t.Errorf("%s: replicas say version %d and %d of the same", from, now, got)
		}
		end(t, cmd, said)
		end(t, other, otherSaid)
	}
}

// damageFile changes a byte in the middle of a file.
func damageFile(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 0x55
	if err := os.Remove(path); err != nil { // the file may have other names
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReplicaDamagedCopy: a copy that was damaged in the cache is fetched again; one that is damaged in the store is refused by its URL.
func TestReplicaDamagedCopy(t *testing.T) {
	for _, suffix := range []string{"", dataset.SavedIDsSuffix} {
		e := openElsewhere(t)
		e.build(t, 100)
		cache := t.TempDir()
		stop, _, url, said := e.replica(t, cache)
		readyIn(t, url, said)
		before := answersIn(t, url)
		stop(syscall.SIGTERM)
		kept, err := filepath.Glob(filepath.Join(cache, "*", "files", "films.thresher"+suffix))
		if err != nil || len(kept) != 1 {
			t.Fatalf("%q, %v", kept, err)
		}
		damageFile(t, kept[0])
		stop, _, url, said = e.replica(t, cache)
		readyIn(t, url, said)
		if got := answersIn(t, url); !strings.Contains(got, `"film-`) || suffix == "" && !strings.Contains(before, `"film-`) {
			t.Errorf("%s answered, and now %s", before, got)
		}
		stop(syscall.SIGTERM)

		damageFile(t, filepath.Join(e.dir, "films.thresher"))
		cache = t.TempDir()
		got := thresher(t, "serve", "--listen=127.0.0.1:0", "--backend=cpu", "--read-only", "--collection=films="+e.url+"/films.thresher", "--cache="+cache)
		got.WantCode(t, cli.ExitInput)
		if strings.Contains(got.Err, cache) || strings.Count(got.Err, e.url+"/films.thresher") < 2 { // in the log, and at the end
			t.Errorf("it says: %s", got.Err)
		}
	}
}

// TestURLErrors: errors of what was fetched name its URL, and flags of other files refuse URLs by name.
func TestURLErrors(t *testing.T) {
	e := openElsewhere(t)
	e.build(t, 50)
	queries := filepath.Join(t.TempDir(), "queries.csv")
	if err := os.WriteFile(queries, []byte("x,y,z\n1,2,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := e.url + "/films.thresher"
	if err := os.WriteFile(filepath.Join(e.dir, "films.thresher.columns"), []byte("no columns"), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	want := func(parts []string, args ...string) {
		t.Helper()
		got := thresher(t, append(args, "--cache="+cache)...)
		got.WantError(t, parts...)
		if strings.Contains(got.Err, cache) {
			t.Errorf("%q names the cache: %s", args, got.Err)
		}
	}
	want([]string{url + ".columns"}, "search", "--vectors", url, "--queries", queries, "-k=1", "--filter", "year > 1")
	want([]string{url + ".columns"}, "info", url)
	damageFile(t, filepath.Join(e.dir, "films.thresher"))
	want([]string{url}, "search", "--vectors", url, "--queries", queries, "-k=1")
	if err := os.WriteFile(filepath.Join(e.dir, "films.thresher"), []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	want([]string{url + ": "}, "info", url)
	const only = "URLs are read as vectors and queries only"
	want([]string{"--out " + url, only}, "build", "--vectors", queries, "--metric=ip", "--out", url)
	want([]string{"--answers " + url, only}, "verify", "--answers", url, "--vectors", queries, "--queries", queries)
	thresher(t, "rows", "put", "--collection", e.url+"/films", "--vectors", queries).WantError(t, "--collection "+e.url+"/films", only)
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
