package collection

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestForecastLater: of few rows in memory the forecast is made by the first call, once for all goroutines, and is
// that of an eager build with any number of threads; files keep it.
func TestForecastLater(t *testing.T) {
	const n, dim = 1500, 96
	rows := clustered(n, dim, 4)
	for _, metric := range metrics {
		o := &Options{Metric: metric, Seed: 3, Threads: 3}
		path := filepath.Join(t.TempDir(), "atoms")
		saved, err := Create(t.Context(), path, &rowsSource{rows: rows, dim: dim}, false, o)
		if err != nil {
			t.Fatal(err)
		}
		defer saved.Close()
		want := saved.Forecast()
		if len(want.Ks) == 0 || want.Early == nil {
			t.Fatalf("%v: forecast of the file is %+v", metric, want)
		}
		c := build(t, rows, dim, &Options{Metric: metric, Seed: 3, Threads: 1})
		got := make([]*Pilot, 8)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() { got[i] = c.Forecast() })
		}
		wg.Wait()
		for _, p := range got {
			if p != got[0] {
				t.Errorf("%v: made more than once", metric)
			}
		}
		if d := cmp.Diff(want, got[0]); d != "" {
			t.Errorf("%v: in memory, not as in the file: %s", metric, d)
		}
	}
}

// TestForecastWaits: neither a file nor many rows leave the forecast for later, and a collection without codes has none.
func TestForecastWaits(t *testing.T) {
	for _, x := range []struct {
		name     string
		n, dim   int
		inMemory bool
		want     bool
	}{
		{"few rows", laterAtoms - 1, 100, true, true},
		{"many rows", laterAtoms, 100, true, false},
		{"few rows of many columns", 100, laterEntries / 50, true, false},
		{"few rows in a file", 100, 100, false, false},
	} {
		b := &builder{c: &Collection{N: x.n, Dim: x.dim}, inMemory: x.inMemory}
		if got := b.forecastsLater(); got != x.want {
			t.Errorf("%s: left for later: %v", x.name, got)
		}
	}
	c := build(t, data("gaussian", 100, 40, 1), 40, &Options{Metric: InnerProduct, NoCodes: true})
	if p := c.Forecast(); len(p.Ks) > 0 || p.Shares != nil {
		t.Errorf("without codes the forecast is %+v", p)
	}
}
