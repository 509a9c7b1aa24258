package thresher_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"thresher"
)

// TestOpenDamagedCopy: Open fetches a prepared collection again if the copy in the cache has other bytes than those that arrived.
func TestOpenDamagedCopy(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	made, err := thresher.New(t.Context(), []float32{1, 2, 3, 4, -5, 6}, 3, thresher.Options{Metric: thresher.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	if err := made.Save(t.Context(), filepath.Join(dir, "x.thresher"), false); err != nil {
		t.Fatal(err)
	}
	gets := 0
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		if r.Method == http.MethodGet {
			gets++
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	for _, want := range []int{1, 2} {
		x, err := thresher.Open(t.Context(), server.URL+"/x.thresher", thresher.Options{Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		if x.Len() != 2 || gets != want {
			t.Errorf("%d vectors, fetched %d times, want %d", x.Len(), gets, want)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		all, err := filepath.Glob(filepath.Join(cache, "*", "files", "x.thresher"))
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		info, err := os.Stat(all[0])
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(all[0])
		if err != nil {
			t.Fatal(err)
		}
		text[len(text)-1] ^= 1
		if err := os.WriteFile(all[0], text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(all[0], info.ModTime(), info.ModTime()); err != nil { // so that only reading it tells
			t.Fatal(err)
		}
	}
}
