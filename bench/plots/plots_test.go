package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLadder(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   []float64
	}{
		{1, 1, []float64{1, 2}},
		{.7, 3, []float64{.5, 1, 2, 5}},
		{12, 90, []float64{10, 20, 50, 100}},
	} {
		got := ladder(c.lo, c.hi)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return a > .999*b && a < 1.001*b }) {
			t.Errorf("from %g to %g: %v, want %v", c.lo, c.hi, got, c.want)
		}
	}
}

func TestSeriesDiffer(t *testing.T) {
	seen := map[style]int{alone(): -1}
	for i := range 72 {
		if j, ok := seen[series(i)]; ok {
			t.Errorf("series %d looks like %d", i, j)
		}
		seen[series(i)] = i
	}
}

// TestPlotAll draws from a few results, of which one file ends in a line cut
// short, and looks for the files.
func TestPlotAll(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("sweeps.jsonl", `{"kind":"sweep","over":"k","value":1,"m":1,"ratio":50}
{"kind":"sweep","over":"k","value":10,"m":1,"ratio":20}
{"kind":"sweep","over":"k","val`)
	write("indexes.jsonl", `{"kind":"peer","set":"a","index":"HNSW","build_seconds":30,"points":[{"recall":0.5,"us_m256":10,"thresher_us_m256":90},{"recall":1,"us_m256":50,"thresher_us_m256":95}]}
`)
	write("a.jsonl", `{"kind":"build","set":"a","task":"a","build_seconds":1}
{"kind":"race","set":"a","task":"a","m":256,"k":10,"checked":1024,"wrong":1}
`)
	if err := plotAll(dir); err != nil {
		t.Fatal(err)
	}
	drawn, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range drawn {
		drawn[i] = filepath.Base(drawn[i])
	}
	if want := []string{"indexes-a.png", "speedup-k.png"}; !slices.Equal(drawn, want) {
		t.Errorf("drew %v, want %v", drawn, want)
	}
}
