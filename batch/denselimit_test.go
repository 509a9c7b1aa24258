package batch_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

// noneAlone are costs, the same on every processor, by which no query goes dense alone.
func noneAlone() *batch.Options {
	return &batch.Options{Costs: &backend.Costs{Scan: .0039, Wide: .0053, Test: .4, List: 4.5, Visit: 15.2, Code: .0112, Sign: .0045, Far: .09, Fetch: 100, Score: .32,
		Dense: .0178, DenseTest: .226, DenseOne: .4, Gather: .8, Rotate: 2.15, Query: 500}}
}

// TestManyBetter: if many queries of a request have many atoms above their ceilings, or
// exclude many of the best, the dense path answers them, and the answers are those of exact.
// Few atoms above ceilings, few such queries, exclusions of atoms that are not among the best, and
// queries of the same request without limits stay with the looks.
func TestManyBetter(t *testing.T) {
	race.Skip(t, "TestManyBetterTogether has such queries beside others")
	const n, dim, m, most = 20000, 256, 24, 1500
	rows := vectors.Embeddings(vectors.Rand(1), n+m, dim)
	c := build(t, rows[:n*dim], dim, &collection.Options{Metric: collection.Cosine, Seed: 1})
	e := over(t, c, 2, noneAlone())
	queries := rows[n*dim:]
	ranked := search(t, e, batch.Request{Queries: queries, K: most + 1, Method: batch.Exact, SearchScores: true}).Answers
	ceiling := func(above int) func(j int) batch.QueryGoal {
		return func(j int) batch.QueryGoal { return batch.QueryGoal{MaxScore: &ranked[j].SearchScores[above]} }
	}
	excluded := func(ids func(j int) []int64) func(j int) batch.QueryGoal {
		return func(j int) batch.QueryGoal { return batch.QueryGoal{Exclude: ids(j)} }
	}
	best := excluded(func(j int) []int64 { return ranked[j].IDs[:most] })
	other := excluded(func(j int) (ids []int64) {
		known := slices.Sorted(slices.Values(ranked[j].IDs))
		for i := int64(0); len(ids) < most; i++ {
			if _, found := slices.BinarySearch(known, i); !found {
				ids = append(ids, i)
			}
		}
		return ids
	})
	for _, x := range []struct {
		name    string
		goal    func(j int) batch.QueryGoal
		queries int  // of the request
		half    bool // only every other query has a goal
		part    bool
		dense   int // queries that the dense path answers
	}{
		{"ceilings, many above", ceiling(most), m, false, false, m},
		{"ceilings, ten above", ceiling(10), m, false, false, 0},
		{"the best excluded", best, m, false, false, m},
		{"others excluded", other, m, false, false, 0},
		{"few queries", ceiling(most), 4, false, false, 0},
		{"few queries, part of a list", ceiling(most), 4, false, true, 4},
		{"few of many queries have ceilings", ceiling(most), m, true, false, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			req := batch.Request{Queries: queries[:x.queries*dim], K: 10, Goals: make([]batch.QueryGoal, x.queries), Part: x.part}
			for j := range req.Goals {
				if !x.half || j%2 == 0 {
					req.Goals[j] = x.goal(j)
				}
			}
			req.Method = batch.Exact
			want := search(t, e, req)
			for _, req.Method = range []batch.Method{batch.Certain, batch.Adaptive} {
				got := search(t, e, req)
				if got.Stats.Dense != x.dense {
					t.Errorf("%s: %d queries by the dense path, want %d", req.Method, got.Stats.Dense, x.dense)
				}
				for j, a := range got.Answers {
					if d := cmp.Diff(want.Answers[j].IDs, a.IDs); d != "" {
						t.Errorf("%s: query %d (-want +got):\n%s", req.Method, j, d)
					}
					if f := a.Certificate.Fallback; (f == "exact") != (x.dense > 0) {
						t.Errorf("%s: query %d: fallback %q", req.Method, j, f)
					}
				}
			}
		})
	}
}

// TestManyBetterTogether: queries go dense by the goals of their own request. Two requests that share
// a run get the answers and certificates that each gets alone.
func TestManyBetterTogether(t *testing.T) {
	const n, dim, many, few, most = 20000, 256, 20, 8, 1500
	rows := vectors.Embeddings(vectors.Rand(2), n+many, dim)
	c := build(t, rows[:n*dim], dim, &collection.Options{Metric: collection.Cosine, Seed: 1})
	plain := over(t, c, 1, noneAlone())
	queries := rows[n*dim:]
	ranked := search(t, plain, batch.Request{Queries: queries, K: most + 1, Method: batch.Exact, SearchScores: true}).Answers
	request := func(count int) batch.Request {
		req := batch.Request{Queries: queries[:count*dim], K: 10, Method: batch.Certain, Goals: make([]batch.QueryGoal, count)}
		for j := range req.Goals {
			req.Goals[j].MaxScore = &ranked[j].SearchScores[most]
		}
		return req
	}
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		e, err := batch.Open(t.Context(), c, g, noneAlone())
		if err != nil {
			t.Fatal(err)
		}
		l := &coalescing{T: t, gate: g, Coalescer: batch.NewCoalescer(e, &batch.CoalescerOptions{Window: time.Hour, Idle: 1, Runs: 1}), engine: e, plain: plain}
		defer l.close()
		asked := []*pending{l.ask(t.Context(), request(1)), l.ask(t.Context(), request(many)), l.ask(t.Context(), request(few))}
		l.runs(1)
		g.pass()
		l.runs(1, many+few)
		g.open()
		for i, dense := range []int{0, many, 0} {
			<-asked[i].over
			if asked[i].err != nil {
				t.Fatal(asked[i].err)
			}
			alone := search(t, plain, asked[i].req)
			if alone.Stats.Dense != dense {
				t.Errorf("request %d: %d queries by the dense path, want %d", i, alone.Stats.Dense, dense)
			}
			same(t, alone.Answers, asked[i].resp.Answers)
		}
	})
}
