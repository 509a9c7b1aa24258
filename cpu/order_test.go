package cpu_test

import (
	"compress/gzip"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
)

// TestDescendingFile: a file for Euclidean distance that was made when the atoms farthest from the centre came first keeps
// that order, and searches of it give the answers of a collection made of its rows today.
func TestDescendingFile(t *testing.T) {
	const n, dim = 200, 20
	c := openPacked(t, "testdata/descending.thresher.gz")
	now, err := collection.Build(t.Context(), c.Rows, dim, &collection.Options{Metric: collection.Euclidean, Seed: c.Seed})
	if err != nil {
		t.Fatal(err)
	}
	if !(c.Norm[0] > 4*c.Norm[n-1]) || !(now.Norm[n-1] > 4*now.Norm[0]) {
		t.Fatalf("norms from %g to %g in the file, from %g to %g today", c.Norm[0], c.Norm[n-1], now.Norm[0], now.Norm[n-1])
	}
	if c.MaxNorm() < float64(slices.Max(c.Norm)) {
		t.Errorf("norms of at most %g, the greatest is %g", c.MaxNorm(), slices.Max(c.Norm))
	}
	looks := map[string]backendtest.Ladder{"dense scan": {Dense: true}}
	for name, l := range map[string]backend.Look{
		"certain":    {Rep: backend.Panels, To: c.D, Rule: backend.Cauchy},
		"own bounds": {Rep: backend.Panels, To: c.D, Rule: backend.Cauchy, Source: backend.LowerBound},
	} {
		l.FirstChunk = 64
		looks[name] = backendtest.Ladder{Looks: []backend.Look{l}}
	}
	q := backend.Queries{M: n, Dim: dim, Data: c.Rows}
	for name, l := range looks {
		for _, k := range []int{1, 10} {
			goals := make([]backend.Goal, n)
			for j := range goals {
				goals[j] = backend.Goal{K: k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
			}
			before, after := search(t, c, l, 1, q, goals), search(t, now, l, 1, q, goals)
			for j := range before {
				if d := cmp.Diff(before[j].IDs, after[j].IDs) + cmp.Diff(before[j].Scores, after[j].Scores); d != "" {
					t.Fatalf("%s, query %d, the %d best: %s", name, j, k, d)
				}
			}
		}
	}
}

// openPacked opens a collection file that is compressed.
func openPacked(t *testing.T, path string) *collection.Collection {
	packed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a.thresher")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := collection.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
