//go:build !race

package batch_test

import (
	"runtime/debug"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestAllocations: a query of a dense scan allocates the ids and scores of its answer and nothing else.
// Not under the race detector, which empties pools.
func TestAllocations(t *testing.T) {
	const n, dim, few, many = 100, 32, 16, 64
	rows := vectors.Embeddings(vectors.Rand(4), n, dim)
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	allocations := func(m int) float64 {
		return testing.AllocsPerRun(20, func() { search(t, e, batch.Request{Queries: rows[:m*dim], K: 10, Method: batch.Exact}) })
	}
	if each := (allocations(many) - allocations(few)) / (many - few); each > 2.1 {
		t.Errorf("%g allocations a query", each)
	}
}
