package segments

import (
	"context"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/draws"
	"thresher/internal/vectors"
)

// TestOrigin: segments whose rows are relative to one origin answer as one collection of it, queries of float64 and of
// float32, and certificates say what rounding changed.
func TestOrigin(t *testing.T) {
	const n, more, dim, far = 600, 40, 24, 1e6
	given := make([]float64, (n+more)*dim)
	for i, x := range vectors.Gaussian(draws.Rand(3), n+more, dim) {
		given[i] = far + float64(x)/3
	}
	ctx, b := context.Background(), newBackend(t)
	base, err := collection.BuildFloat64(ctx, given[:n*dim], dim, &collection.Options{Metric: collection.Euclidean})
	if err != nil {
		t.Fatal(err)
	}
	first, err := New(ctx, base, nil, b, nil, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Collection: collection.Options{Metric: collection.Euclidean, Origin: base.Origin}, Backend: b}
	s, err := Open(dim, o, Holding{Segment: first})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	written := make([]float32, more*dim)
	change, err := collection.Narrow(written, given[n*dim:], dim, base.Origin)
	if err != nil {
		t.Fatal(err)
	}
	if change.Largest == 0 {
		t.Fatal("rounding changed nothing")
	}
	ids := make([]int64, more)
	for i := range ids {
		ids[i] = int64(n + i)
	}
	if _, err := s.UpsertRounded(ids, written, change); err != nil {
		t.Fatal(err)
	}
	whole := append(append([]float32{}, base.Rows...), written...)
	all := o.Collection
	all.Change = base.Change
	all.Change.Add(change)
	one, err := collection.Build(ctx, whole, dim, &all)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := batch.Open(ctx, one, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	near := make([]float32, 5*dim)
	for i := range near {
		near[i] = float32(given[i+n*dim-2*dim])
	}
	for round := range 2 { // a tail; one segment
		for _, req := range []batch.Request{
			{Queries64: given[(n-2)*dim : (n+3)*dim], K: 7, Method: batch.Exact},
			{Queries: near, K: 7, Method: batch.Certain},
		} {
			req.SearchScores = true
			want, err := engine.Search(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			got := search(t, s, req)
			same(t, got, want)
			if got.Stats.VectorsChange != all.Change.Largest || want.Stats.VectorsChange != all.Change.Largest {
				t.Errorf("round %d: changes %g and %g, want %g", round, got.Stats.VectorsChange, want.Stats.VectorsChange, all.Change.Largest)
			}
		}
		u, err := s.BeginAll()
		if err != nil {
			t.Fatal(err)
		}
		if round > 0 {
			if u != nil {
				t.Error("an upkeep is due of one segment")
			}
			continue
		}
		if u.Change() != all.Change || &u.Origin()[0] != &base.Origin[0] {
			t.Errorf("change %v, want %v", u.Change(), all.Change)
		}
		if err := u.finish(ctx); err != nil {
			t.Fatal(err)
		}
	}

	for name, o := range map[string]Options{
		"no origin":   {Collection: collection.Options{Metric: collection.Euclidean}, Backend: b},
		"another one": {Collection: collection.Options{Metric: collection.Euclidean, Origin: make([]float64, dim)}, Backend: b},
		"a short one": {Collection: collection.Options{Metric: collection.Euclidean, Origin: make([]float64, 3)}, Backend: b},
		"for cosine":  {Collection: collection.Options{Metric: collection.Cosine, Origin: make([]float64, dim)}, Backend: b},
	} {
		if _, err := Open(dim, o, Holding{Segment: first}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := s.UpsertRounded([]int64{0}, written[:dim-1], dataset.Change{}); err == nil {
		t.Error("a short row was written")
	}
}
