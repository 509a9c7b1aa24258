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
		if held > f.Bytes() || held < f.Expected()/3 {
			t.Errorf("%s: %d bytes held, %d stated", method, held, f.Bytes())
		}
		runtime.KeepAlive(resp)
	}
}

// TestFootprintOfSurvivors: the lists of what looks keep are in the footprint, of random noise most of which is kept
// until whole rows of codes are read, and of queries that share a run.
func TestFootprintOfSurvivors(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const n, dim, m = 30_000, 256, 40
	r := vectors.Rand(5)
	rows := make([]float32, n*dim)
	for i := range rows {
		rows[i] = float32(r.NormFloat64())
	}
	e := over(t, build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}), 1, nil)
	plan := ""
	req := batch.Request{Queries: rows[:m*dim], K: 10, Method: batch.Certain}
	forecasts, err := e.Plans(req)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range forecasts { // the first look keeps most
		if len(f.SurvivorShares) > 1 && f.SurvivorShares[0] > .3 && f.Guarantee == batch.GuaranteeCertain && plan == "" {
			plan = f.Plan
		}
	}
	if plan == "" {
		t.Fatalf("no plan has a look that keeps much: %+v", forecasts)
	}
	req.Plan = plan
	one := req
	one.Queries = req.Queries[:dim]
	search(t, e, one) // what is allocated once for a collection
	f, err := e.Footprint(req, m)
	if err != nil {
		t.Fatal(err)
	}
	before := heldAfterGC(2)
	resp := search(t, e, req)
	held := heldAfterGC(1) - before
	kept := 0
	for _, a := range resp.Answers {
		kept += a.Certificate.Looks[0].Survivors
	}
	if held < 8*int64(kept) {
		t.Errorf("%d bytes held of %d arms: the runs' memory is not seen", held, kept)
	}
	if held > f.Bytes() || f.Bytes() > 40*n*m {
		t.Errorf("plan %s: %d bytes held, %+v stated", plan, held, f)
	}
	runtime.KeepAlive(resp)
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
