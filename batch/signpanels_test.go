package batch_test

import (
	"slices"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// TestSignPanelsMemory: panels of signs are in the footprint of the search that makes them and in what the engine keeps
// afterwards. Where they do not fit what is spare, a query is answered by codes.
func TestSignPanelsMemory(t *testing.T) {
	const n, dim = 20_000, 384
	rows := vectors.PowerLaw(vectors.Rand(5), n, dim)
	c := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	b := cpu.New(cpu.Options{Threads: 1})
	costs := backend.Describe(b).Costs
	costs.Lookup = min(max(costs.Lookup, 1e-6), costs.Scan/8) // whatever the kernels
	req := batch.Request{Queries: rows[:dim], K: 3}
	engine := func(spare int64) *batch.Engine {
		e, err := batch.Open(t.Context(), c, b, &batch.Options{Costs: &costs, Spare: func(int64) int64 { return spare }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	chosen := func(e *batch.Engine) string {
		all, err := e.Plans(req)
		if err != nil {
			t.Fatal(err)
		}
		return all[slices.IndexFunc(all, func(f batch.Forecast) bool { return f.Chosen })].Plan
	}
	footprint := func(e *batch.Engine) int64 {
		f, err := e.Footprint(req, 1)
		if err != nil {
			t.Fatal(err)
		}
		return f.Run
	}
	size := c.SignPanelsSize(2 * c.Stages[0].Width)
	for _, spare := range []int64{0, 1 << 40} { // 0: unknown
		e := engine(spare)
		if plan := chosen(e); !strings.HasPrefix(plan, "signs") {
			t.Fatalf("%d bytes spare: plan %s, costs %+v", spare, plan, costs)
		}
		before, making := footprint(e), e.Making()
		if e.Kept() != 0 || before < size || making < size {
			t.Errorf("%d bytes spare: %d bytes kept, a run of %d, %d to be made, panels of at least %d", spare, e.Kept(), before, making, size)
		}
		search(t, e, req)
		if kept := e.Kept(); kept < size || footprint(e) != before-kept || e.Making() != 0 {
			t.Errorf("%d bytes spare: %d bytes kept, a run of %d after one of %d, %d to be made", spare, kept, footprint(e), before, e.Making())
		}
	}
	e := engine(size)
	if plan := chosen(e); strings.HasPrefix(plan, "signs") {
		t.Errorf("%d bytes spare: plan %s", size, plan)
	}
	if run := footprint(e); run > size {
		t.Errorf("a run of %d bytes of %d that are spare", run, size)
	}
	if got, want := search(t, e, req).Answers[0], exactly(t, c, req); e.Kept() >= size || !slices.Equal(got.IDs, want) {
		t.Errorf("%d bytes kept, ids %v, want %v", e.Kept(), got.IDs, want)
	}
}

// exactly returns the ids of the exact answer to a query.
func exactly(t *testing.T, c *collection.Collection, req batch.Request) []int64 {
	req.Method = batch.Exact
	return search(t, over(t, c, 1, nil), req).Answers[0].IDs
}
