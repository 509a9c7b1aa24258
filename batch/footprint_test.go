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

// TestFootprint: after a search, its run and its answers hold at most what its footprint states,
// by every kind of plan, and not much less. Not under the race detector, which empties pools.
func TestFootprint(t *testing.T) {
	// No collection but those of the test: one more would empty the pools.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const n, dim, m, k = 40_000, 32, 20, 15_000
	rows := vectors.PowerLaw(vectors.Rand(3), n, dim)
	c := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	for _, method := range []batch.Method{batch.Exact, batch.Certain, batch.Adaptive} {
		e := over(t, c, 1, nil)
		req := batch.Request{Queries: rows[:m*dim], K: 10, Method: method}
		search(t, e, req) // what is allocated once for a collection
		req.K = k
		f, err := e.Footprint(req, m)
		if err != nil {
			t.Fatal(err)
		}
		before := heldAfterGC(2)
		resp := search(t, e, req)
		held := heldAfterGC(1) - before // pools keep what they hold over one collection
		if held > f.Bytes() || held < f.Bytes()/3 {
			t.Errorf("%s: %d bytes held, %d stated", method, held, f.Bytes())
		}
		runtime.KeepAlive(resp)
	}
}

// heldAfterGC returns the bytes of the heap after so many garbage collections.
func heldAfterGC(times int) int64 {
	for range times {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
