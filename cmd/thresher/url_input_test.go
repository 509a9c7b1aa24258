package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/filelock"
	"thresher/internal/race"
)

// servedFiles serves the files of a folder, with tags, and counts those that are fetched.
func servedFiles(t *testing.T, dir string) (url string, gets *atomic.Int64) {
	t.Helper()
	gets = new(atomic.Int64)
	files := http.FileServer(http.Dir(dir))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, err := os.Stat(filepath.Join(dir, filepath.Base(r.URL.Path))); err == nil {
			w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()))
		}
		if r.Method == http.MethodGet {
			gets.Add(1)
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, gets
}

// kept returns the files that a cache has of a name.
func kept(t *testing.T, cache, name string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(cache, "*", "files", name))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// flip changes the last byte of a file, and its time if noticed is set.
func flip(t *testing.T, path string, noticed bool) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-1] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if noticed {
		return
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedCopy: a copy in the cache that is damaged is fetched again, once, by whatever command reads it.
func TestDamagedCopy(t *testing.T) {
	race.Skip(t, "what commands do one after the other; package fetch has those that meet")
	dir, cache := t.TempDir(), t.TempDir()
	rows := clitest.WriteFile(t, dir, "x.csv", []byte(strings.Repeat("1,2,3\n4,-5,6\n7,8,-9.5\n", 20)))
	queries := clitest.WriteFile(t, dir, "q.csv", []byte("1,2,3\n-1,0,4\n"))
	prepared := filepath.Join(dir, "x.thresher")
	thresher(t, "build", "--vectors", rows, "--metric", "ip", "--out", prepared).WantCode(t, cli.ExitOK)
	url, gets := servedFiles(t, dir)
	answers := filepath.Join(dir, "a.npz")
	thresher(t, "search", "--vectors", rows, "--queries", queries, "--metric", "ip", "-k", "3", "--out", answers).WantCode(t, cli.ExitOK)
	for _, one := range []struct {
		name    string
		noticed bool
		command []string
		warns   bool
	}{
		{"x.csv", true, []string{"search", "--vectors", url + "/x.csv", "--queries", queries, "--metric", "ip", "-k", "3"}, false},
		{"x.thresher", true, []string{"search", "--vectors", url + "/x.thresher", "--queries", queries, "-k", "3"}, false},
		{"x.thresher", false, []string{"search", "--vectors", url + "/x.thresher", "--queries", queries, "-k", "3"}, true},
		{"x.thresher", false, []string{"verify", "--vectors", url + "/x.thresher", "--queries", queries, "--answers", answers}, true},
	} {
		args := append(one.command, "--cache", cache)
		first := thresher(t, args...)
		first.WantCode(t, cli.ExitOK)
		flip(t, kept(t, cache, one.name)[0], one.noticed)
		before := gets.Load()
		for i := range 2 {
			again := thresher(t, args...)
			again.WantCode(t, cli.ExitOK)
			if one.command[0] == "search" && again.Out != first.Out {
				t.Errorf("%q: other answers:\n%s%s", one.command, first.Out, again.Out)
			}
			if got := strings.Contains(again.Err, "was damaged, and was fetched again"); got != (one.warns && i == 0) {
				t.Errorf("%q: it said %q", one.command, again.Err)
			}
		}
		if got := gets.Load() - before; got != 1 {
			t.Errorf("%q: fetched %d times", one.command, got)
		}
	}
	flip(t, prepared, true) // elsewhere
	before := gets.Load()
	thresher(t, "search", "--vectors", url+"/x.thresher", "--queries", queries, "-k", "3", "--cache", cache).WantError(t, url+"/x.thresher", "damaged")
	if got := gets.Load() - before; got != 1 {
		t.Errorf("what is damaged elsewhere was fetched %d times", got)
	}
}

// TestCacheLimit: a command brings the cache to its limit, but what it reads itself stays.
func TestCacheLimit(t *testing.T) {
	race.Skip(t, "what commands do one after the other; package fetch has those that meet")
	if !filelock.Supported {
		t.Skip("without locks what was used today stays")
	}
	dir, cache := t.TempDir(), t.TempDir()
	for _, name := range []string{"a.csv", "b.csv", "c.csv"} {
		clitest.WriteFile(t, dir, name, bytes.Repeat([]byte("1,2,3\n"), 1000))
	}
	url, _ := servedFiles(t, dir)
	info := func(name string, flags ...string) {
		t.Helper()
		thresher(t, append([]string{"info", url + "/" + name, "--cache", cache}, flags...)...).WantCode(t, cli.ExitOK)
	}
	want := func(want ...string) {
		t.Helper()
		if got := kept(t, cache, "*"); len(got) != len(want) {
			t.Errorf("the cache has %q, not %q", got, want)
		}
		for _, name := range want {
			if len(kept(t, cache, name)) != 1 {
				t.Errorf("the cache has no %s", name)
			}
		}
	}
	info("a.csv")
	info("b.csv")
	info("a.csv")
	info("c.csv", "--cache-limit", "15000")
	want("a.csv", "c.csv")
	info("b.csv", "--cache-limit", "1")
	want("b.csv")
	thresher(t, "info", url+"/b.csv", "--cache-limit", "-1").WantError(t, "cache-limit")
}
