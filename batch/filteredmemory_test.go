//go:build !race

package batch_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestFewAllowedTakeLittle: a search of few allowed atoms allocates less than one bit per atom
// of the collection. Not under the race detector, which empties pools.
func TestFewAllowedTakeLittle(t *testing.T) {
	// Pools keep what a search gave back: no collection empties them, and no other processor looks into
	// a part of its own.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const n, dim, times = 1 << 16, 32, 20
	rows := vectors.PowerLaw(vectors.Rand(1), n, dim)
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
	for _, m := range []int{1, 100} {
		req := batch.Request{Queries: rows[:m*dim], K: 3, Filter: []int64{5, 70, 9000, 60000}}
		search(t, e, req)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range times {
			search(t, e, req)
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / times; each > n/16+uint64(2048*m) {
			t.Errorf("%d queries: a search allocates %d bytes", m, each)
		}
	}
}
