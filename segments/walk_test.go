package segments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/draws"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

// grown returns a set of segments of these sizes, whose ids are spread over all of them, a tail of the rows that
// are left, and what it should hold. If told so, a tenth of each segment is deleted.
func grown(t testing.TB, o Options, rows []float32, dim int, deleted bool, sizes ...int) (*Set, *model) {
	t.Helper()
	held, n := &model{dim: dim, rows: map[int64][]float32{}}, len(rows)/dim
	ids := draws.Rand(17).Perm(n)
	var parts []Holding
	var gone []int64
	at := 0
	for _, size := range sizes {
		own := slices.Sorted(slices.Values(ids[at : at+size]))
		part := make([]float32, 0, size*dim)
		numbers := make([]int64, size)
		for i, id := range own {
			numbers[i] = int64(id)
			part = append(part, rows[id*dim:(id+1)*dim]...)
			held.rows[int64(id)] = rows[id*dim : (id+1)*dim]
			if deleted && i%10 == 3 {
				gone = append(gone, int64(id))
			}
		}
		co := o.Collection
		c, err := collection.Build(context.Background(), part, dim, &co)
		if err != nil {
			t.Fatal(err)
		}
		segment, err := New(context.Background(), c, numbers, o.Backend, nil, -1, nil)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, Holding{Segment: segment})
		at += size
	}
	s, err := Open(dim, o, parts...)
	if err != nil {
		t.Fatal(err)
	}
	held.delete(t, s, gone)
	for _, id := range ids[at:] {
		held.upsert(t, s, []int64{int64(id)}, rows[id*dim:(id+1)*dim])
	}
	return s, held
}

// TestWalkByLooks: segments that are answered by looks from the floors of those before them have one block's answers, bit
// for bit, for few queries and for many.
func TestWalkByLooks(t *testing.T) {
	race.Skip(t, "TestSearchBesideWrites runs the same goroutines")
	const n, dim = 5000, 128
	b := newBackend(t)
	rows := vectors.Ties(draws.Rand(3), n, dim)
	queries := append(slices.Clone(rows[:20*dim]), vectors.Embeddings(draws.Rand(4), 20, dim)...)
	for _, metric := range metrics {
		o := Options{Collection: collection.Options{Metric: metric, Seed: 3}, Backend: b}
		s, held := grown(t, o, rows, dim, true, 3800, 600, 500)
		s.short = 200 * dim // the tail is searched after the two small segments, which are searched side by side
		whole := held.block(t, b, o.Collection)
		allowed := held.ids()[:len(held.rows)/2]
		for _, m := range []int{1, 3, 40} {
			for _, req := range []batch.Request{
				{K: 1, Method: batch.Certain, Plan: "64,rescore"},
				{K: 10, Method: batch.Certain, Plan: "whole,rescore"},
				{K: 100, Method: batch.Certain},
				{K: 10, Method: batch.Exact},
				{K: 10, Method: batch.Certain, Plan: "64,whole,rescore", Filter: allowed},
				{K: 10, Method: batch.Certain, Filter: allowed[:30]},
				{K: 9000, Method: batch.Certain},
			} {
				t.Run(fmt.Sprintf("%v/%d/%d/%s/%s/%d", metric, m, req.K, req.Method, req.Plan, len(req.Filter)), func(t *testing.T) {
					req.Queries = queries[:m*dim]
					got := search(t, s, req)
					same(t, got, whole.search(t, req))
					for j := range got.Answers {
						c := &got.Answers[j].Certificate
						if !c.Exact || c.Guarantee.CanFail() || c.Plan != batch.MergedPlan || c.Delta != 0 {
							t.Fatalf("query %d: %+v", j, c)
						}
					}
				})
			}
		}
		if err := errors.Join(whole.engine.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFloorsSaveWork: a segment is read less from a floor found in another one, and no more than one block would be.
func TestFloorsSaveWork(t *testing.T) {
	race.Skip(t, "one query after the other")
	const n, dim, m = 12000, 128, 16
	b := newBackend(t)
	rows, queries := vectors.PowerLaw(draws.Rand(5), n, dim), vectors.PowerLaw(draws.Rand(6), m, dim)
	o := Options{Collection: collection.Options{Metric: collection.Cosine, Seed: 3}, Backend: b}
	s, held := grown(t, o, rows, dim, false, 9000, 3000)
	defer s.Close()
	whole := held.block(t, b, o.Collection)
	defer whole.engine.Close()
	req := batch.Request{Queries: queries, K: 10, Method: batch.Certain, Plan: "64,whole,rescore"}
	got, want := search(t, s, req), whole.search(t, req)
	same(t, got, want)
	var alone batch.Stats
	now := s.Snapshot()
	defer now.Release()
	for i := range now.views {
		resp, err := now.views[i].engine.SearchWithin(context.Background(), req, batch.Within{})
		if err != nil {
			t.Fatal(err)
		}
		alone.Add(&resp.Stats)
	}
	t.Logf("%d rows scored, one block %d, without floors %d", got.Stats.RowsScored, want.Stats.RowsScored, alone.RowsScored)
	if got.Stats.Pulls > want.Stats.Pulls*105/100 || got.Stats.RowsScored > alone.RowsScored*9/10 {
		t.Errorf("%d coordinates read and %d rows scored, one block takes %d and %d, the segments without floors %d and %d",
			got.Stats.Pulls, got.Stats.RowsScored, want.Stats.Pulls, want.Stats.RowsScored, alone.Pulls, alone.RowsScored)
	}
}

// TestDeltaIsShared: a query fails with probability at most delta, which is that of each segment: the best vector is in a
// small segment, and one nearly as good makes the floor from the largest. 320 of 1,600 failures are expected at most; more than 400 would be a
// false alarm with probability 5e-7 if the queries failed independently (10 rotations, each of 160).
func TestDeltaIsShared(t *testing.T) {
	race.Skip(t, "one query after the other")
	const n, dim, queries, seeds, delta, limit = 3000, 128, 160, 10, .2, 400
	b := newBackend(t)
	failures := 0
	for seed := range uint64(seeds) {
		r := draws.Rand(100 + seed)
		rows := vectors.Gaussian(r, n, dim)
		asked := vectors.Gaussian(r, queries, dim)
		o := Options{Collection: collection.Options{Metric: collection.InnerProduct, Seed: seed}, Backend: b}
		// the first rows of the large segment score 1 less than the first of the small one
		for j := range queries {
			q := asked[j*dim : (j+1)*dim]
			for i := range q {
				q[i] /= 4
			}
			plant := func(row int, score float64) {
				v := rows[row*dim : (row+1)*dim]
				var qq, qv float64
				for i := range q {
					qq += float64(q[i]) * float64(q[i])
					qv += float64(q[i]) * float64(v[i])
				}
				for i := range q {
					v[i] += float32((score - qv) / qq * float64(q[i]))
				}
			}
			plant(j, 14)
			plant(n-1-j, 14.01)
		}
		var parts []Holding
		for _, span := range [][2]int{{0, 2000}, {2000, n}} {
			co := o.Collection
			c, err := collection.Build(context.Background(), rows[span[0]*dim:span[1]*dim], dim, &co)
			if err != nil {
				t.Fatal(err)
			}
			ids := make([]int64, c.N)
			for i := range ids {
				ids[i] = int64(span[0] + i)
			}
			segment, err := New(context.Background(), c, ids, b, nil, -1, nil)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, Holding{Segment: segment})
		}
		s, err := Open(dim, o, parts...)
		if err != nil {
			t.Fatal(err)
		}
		got := search(t, s, batch.Request{Queries: asked, K: 1, Method: batch.Adaptive, Plan: "64,rescore", Delta: delta})
		for j := range got.Answers {
			a := &got.Answers[j]
			if len(a.IDs) != 1 || a.IDs[0] != int64(n-1-j) && a.SearchScores[0] < 14.009 {
				failures++
			}
			if c := &a.Certificate; c.Guarantee != batch.GuaranteeProbabilistic || c.Delta != delta || c.Law != batch.LawHaar || c.Method != batch.Adaptive {
				t.Fatalf("query %d: %+v", j, c)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d queries failed, at most %g expected", failures, queries*seeds, delta*queries*seeds)
	if failures > limit {
		t.Errorf("%d of %d queries failed at delta = %g", failures, queries*seeds, delta)
	}
	if failures < 20 {
		t.Errorf("%d of %d queries failed: the test does not reach what can fail", failures, queries*seeds)
	}
}

// TestCancelled: a search that is ended early returns the best so far and says so.
func TestCancelled(t *testing.T) {
	const n, dim = 3000, 32
	b := newBackend(t)
	o := Options{Collection: collection.Options{Metric: collection.Cosine, Seed: 3}, Backend: b}
	s, _ := grown(t, o, vectors.Gaussian(draws.Rand(5), n, dim), dim, true, 2000, 900)
	defer s.Close()
	now := s.Snapshot()
	defer now.Release()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	resp, err := now.Search(ctx, batch.Request{Queries: vectors.Gaussian(draws.Rand(6), 2, dim), K: 3})
	if !errors.Is(err, context.Canceled) || resp == nil || resp.Complete() || resp.Stats.Unfinished != 2 {
		t.Fatalf("%v, %+v", err, resp)
	}
	for j := range resp.Answers {
		c := &resp.Answers[j].Certificate
		if c.StoppedBy != batch.Cancelled || c.Guarantee != batch.GuaranteeBound || c.OpenBound == nil || math.IsInf(*c.OpenBound, 0) || c.Exact {
			t.Errorf("query %d: %+v", j, c)
		}
	}
}

// TestWalkGathers: where a filter allows few vectors anywhere, looks at each segment read the codes of these alone, and the
// floor of the next segment is known to be of as many; answers are those of one block, bit for bit.
func TestWalkGathers(t *testing.T) {
	race.Skip(t, "TestSearchBesideWrites runs the same goroutines")
	const n, dim, m = 12000, 128, 64
	b := newBackend(t)
	rows, queries := vectors.PowerLaw(draws.Rand(5), n, dim), vectors.PowerLaw(draws.Rand(6), m, dim)
	o := Options{Collection: collection.Options{Metric: collection.Cosine, Seed: 3}, Backend: b}
	s, held := grown(t, o, rows, dim, true, 9000, 3000)
	defer s.Close()
	whole := held.block(t, b, o.Collection)
	defer whole.engine.Close()
	var allowed []int64
	for i, id := range held.ids() {
		if i%16 == 0 {
			allowed = append(allowed, id)
		}
	}
	req := batch.Request{Queries: queries, K: 10, Method: batch.Certain, Plan: "64,rescore", Filter: allowed}
	got := search(t, s, req)
	same(t, got, whole.search(t, req))
	now := s.Snapshot()
	defer now.Release()
	all := req
	all.Filter, all.SearchScores = nil, true
	selected, err := selectIDs(now, allowed).Search(context.Background(), all)
	if err != nil {
		t.Fatal(err)
	}
	same(t, selected, got)
	for range 3 { // segments keep filters that come again, and what their looks gather
		same(t, search(t, s, req), got)
	}
	for _, searched := range []*batch.Response{got, selected, search(t, s, req)} {
		most := int64(len(allowed))*(32+64) + searched.Stats.RowsScored/m*dim
		if read := searched.Stats.Pulls / m; read > most+dim {
			t.Errorf("%d coordinates read of %d vectors, at most %d", read, len(allowed), most)
		}
	}
	asked, _, err := now.questions(req)
	if err != nil {
		t.Fatal(err)
	}
	views, end, err := now.searched(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	w := &walk{question: asked[0], views: views, found: make([]finding, m)}
	if err := w.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if w.seen != len(allowed) {
		t.Errorf("floors are said to be of %d vectors, %d are allowed", w.seen, len(allowed))
	}
	for _, m := range []int{1, m} { // of so few that segments keep their codes
		few := batch.Request{Queries: queries[:m*dim], K: 3, Method: batch.Certain, Plan: "64,rescore"}
		for i := 0; i < len(allowed); i += 9 {
			few.Filter = append(few.Filter, allowed[i])
		}
		want := whole.search(t, few)
		selection := selectIDs(now, few.Filter)
		chosen := few
		chosen.Filter, chosen.SearchScores = nil, true
		for range 4 {
			same(t, search(t, s, few), want)
			selected, err := selection.Search(context.Background(), chosen)
			if err != nil {
				t.Fatal(err)
			}
			same(t, selected, want)
		}
	}
	held.delete(t, s, got.Answers[0].IDs[:3]) // which the filter names as before
	fewer := held.block(t, b, o.Collection)
	defer fewer.engine.Close()
	same(t, search(t, s, req), fewer.search(t, req))
}

// TestRowsOf: rows are found of ids with gaps and without, as one by one.
func TestRowsOf(t *testing.T) {
	b := newBackend(t)
	rapid.Check(t, func(r *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.Int64Range(0, 90), 1, 60, rapid.ID[int64]).Draw(r, "ids")
		slices.Sort(ids)
		if rapid.Bool().Draw(r, "consecutive") {
			for i := range ids {
				ids[i] = ids[0] + int64(i)
			}
		}
		c, err := collection.Build(context.Background(), make([]float32, len(ids)), 1, &collection.Options{Metric: collection.InnerProduct, NoCodes: true})
		if err != nil {
			r.Fatal(err)
		}
		segment, err := New(context.Background(), c, ids, b, nil, 0, nil)
		if err != nil {
			r.Fatal(err)
		}
		defer segment.Close()
		v := &view{Segment: segment}
		asked := rapid.SliceOfNDistinct(rapid.Int64Range(0, 99), 0, 60, rapid.ID[int64]).Draw(r, "asked")
		slices.Sort(asked)
		want := []int64{}
		for _, id := range asked {
			if row := slices.Index(ids, id); row >= 0 {
				want = append(want, int64(row))
			}
		}
		if got := v.rowsOf(asked); got == nil || !slices.Equal(got, want) {
			r.Fatalf("ids %v of %v: rows %v, want %v", asked, ids, got, want)
		}
		for row := range 100 {
			got, found := segment.Row(int64(row))
			if want := slices.Index(ids, int64(row)); found != (want >= 0) || found && got != want {
				r.Fatalf("id %d of %v: row %d, %v, want %d", row, ids, got, found, want)
			}
		}
	})
}
