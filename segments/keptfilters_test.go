package segments

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/internal/draws"
	"thresher/internal/vectors"
)

// TestKeptFiltersAfterWrites: a filter that the segments keep gives the answers of a scan of one block after its vectors were
// deleted, replaced and put back, by lists and by selections, also those of a snapshot from before.
func TestKeptFiltersAfterWrites(t *testing.T) {
	const n, dim, m = 7000, 128, 5
	b := newBackend(t)
	rows, queries := vectors.PowerLaw(draws.Rand(5), n, dim), vectors.PowerLaw(draws.Rand(6), m, dim)
	o := Options{Collection: collection.Options{Metric: collection.InnerProduct, Seed: 3}, Backend: b}
	s, held := grown(t, o, rows, dim, true, 5000, 2000)
	defer s.Close()
	var allowed []int64
	for i, id := range held.ids() {
		if i%110 == 0 {
			allowed = append(allowed, id)
		}
	}
	list, err := json.Marshal(allowed)
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := columns.ParseJSON(fmt.Appendf(nil, `{"must": [{"has_id": %s}]}`, list))
	if err != nil {
		t.Fatal(err)
	}
	req := batch.Request{Queries: queries, K: 3, Filter: allowed}
	var before *Snapshot
	var then, last *batch.Response
	for round, write := range []func(){
		func() {},
		func() { held.delete(t, s, last.Answers[0].IDs) },
		func() { held.upsert(t, s, last.Answers[1].IDs, vectors.PowerLaw(draws.Rand(7), 3, dim)) },
		func() { held.upsert(t, s, then.Answers[0].IDs, vectors.PowerLaw(draws.Rand(8), 3, dim)) },
		func() { held.delete(t, s, last.Answers[2].IDs[:1]) },
	} {
		write()
		one := held.block(t, b, o.Collection)
		scan := req
		scan.Method = batch.Exact
		want := one.search(t, scan)
		one.engine.Close()
		now := s.Snapshot()
		selection, err := now.Select(chosen, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, plan := range []string{"64,rescore", "whole,rescore", ""} {
			for range 3 {
				asked := req
				asked.Filter = slices.Clone(allowed)
				if asked.Method, asked.Plan = batch.Certain, plan; plan == "" {
					asked.Method = batch.Exact
				}
				same(t, search(t, s, asked), want)
				clear(asked.Filter) // the caller's
				asked.Filter, asked.SearchScores = nil, true
				selected, err := selection.Search(context.Background(), asked)
				if err != nil {
					t.Fatal(err)
				}
				same(t, selected, want)
				if before != nil {
					asked.Filter = allowed
					earlier, err := before.Search(context.Background(), asked)
					if err != nil {
						t.Fatal(err)
					}
					same(t, earlier, then)
				}
			}
		}
		if last = want; round == 0 {
			before, then = now, want
			defer before.Release()
		} else {
			now.Release()
		}
	}
	now := s.Snapshot()
	defer now.Release()
	if now.Kept() == 0 {
		t.Error("nothing is kept")
	}
}
