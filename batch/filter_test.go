package batch_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/race"
	"thresher/internal/vectors"
	"thresher/simd"
)

// TestFilters compares searches with allow and deny lists, excluded selves and least scores
// with the oracle, for each metric. At delta 1e-9 a false alarm of the test has probability
// below 1e-5.
func TestFilters(t *testing.T) {
	const n, dim = 900, 144
	m := 8
	if testing.Short() {
		m = 2
	}
	rng := vectors.Rand(1)
	rows := vectors.PowerLaw(rng, n, dim)
	for _, opt := range []collection.Options{
		{Metric: collection.InnerProduct, Seed: 1}, {Seed: 1, Metric: collection.Cosine}, {Seed: 1, Metric: collection.Euclidean},
		{Metric: collection.InnerProduct, Seed: 1, Basis: collection.Raw}, {Seed: 1, Basis: collection.Raw, Metric: collection.Euclidean},
	} {
		c := build(t, rows, dim, &opt)
		e, o := over(t, c, 2, nil), backendtest.NewOracle(c)
		const first = 100 // queries are rows 100, 101, ..
		queries := rows[first*dim : (first+m)*dim]
		odd, every, most := []int64{}, []int64{}, []int64{}
		for i := range int64(n) {
			every = append(every, i)
			if i%2 == 1 {
				odd = append(odd, i)
			}
			if i != 17 && i != 400 {
				most = append(most, i)
			}
		}
		for _, x := range []struct {
			name string
			req  batch.Request
			keep func(j int, row int64) bool
		}{
			{"filter", batch.Request{Filter: odd}, func(_ int, r int64) bool { return r%2 == 1 }},
			{"allow one", batch.Request{Filter: []int64{33, 33}}, func(_ int, r int64) bool { return r == 33 }},
			{"allow none", batch.Request{Filter: []int64{}}, func(int, int64) bool { return false }},
			{"allow all", batch.Request{Filter: every}, func(int, int64) bool { return true }},
			{"exclude", batch.Request{Exclude: odd}, func(_ int, r int64) bool { return r%2 == 0 }},
			{"deny all but two", batch.Request{Exclude: most}, func(_ int, r int64) bool { return r == 17 || r == 400 }},
			{"deny all", batch.Request{Exclude: every}, func(int, int64) bool { return false }},
			{"allow and deny", batch.Request{Filter: odd, Exclude: []int64{1, 3, 101, 103}}, func(_ int, r int64) bool { return r%2 == 1 && !slices.Contains([]int64{1, 3, 101, 103}, r) }},
			{"exclude self", batch.Request{ExcludeSelf: true, SelfFirst: first}, func(j int, r int64) bool { return r != int64(first+j) }},
			{"exclude self, allow", batch.Request{ExcludeSelf: true, SelfFirst: first, Filter: odd}, func(j int, r int64) bool { return r%2 == 1 && r != int64(first+j) }},
		} {
			for _, method := range []batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive, batch.Strict} {
				req := x.req
				req.Queries, req.K, req.Method, req.Delta = queries, 10, method, 1e-9
				resp, err := e.Search(t.Context(), req)
				if err != nil {
					continue
				}
				for j := range resp.Answers {
					g := goal(c, 10)
					g.Filter, g.Allowed = o.Filter(func(row int) bool { return x.keep(j, int64(row)) })
					g.K = max(1, min(10, g.Allowed))
					if ds := explain(t, o, c, queries[j*dim:(j+1)*dim], g, &resp.Answers[j]); len(ds) > 0 {
						t.Errorf("%v %v %s %s query %d: %v", c.Metric, c.Basis, x.name, method, j, ds[0])
					}
					if got, want := len(resp.Answers[j].IDs), min(10, g.Allowed); got != want {
						t.Errorf("%v %v %s %s query %d: %d ids, want %d", c.Metric, c.Basis, x.name, method, j, got, want)
					}
				}
			}
		}
		ranges(t, e, c, o, queries)
	}
}

// ranges searches for all atoms, or k of them, that reach a least score.
func ranges(t *testing.T, e *batch.Engine, c *collection.Collection, o *backendtest.Oracle, queries []float32) {
	t.Helper()
	dim := c.Dim
	for j := range len(queries) / dim {
		q := queries[j*dim : (j+1)*dim]
		best := o.Answer(q, goal(c, 40))
		for _, rank := range []int{0, 5, 30} {
			// halfway between two ranks, so that rounding does not matter
			floor := (best.Scores[rank] + best.Scores[rank+1]) / 2
			least := floor
			if c.Metric == collection.Euclidean {
				least = -2 * floor
			}
			for _, k := range []int{0, 3, 200} {
				for _, method := range []batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive, batch.Strict} {
					resp, err := e.Search(t.Context(), batch.Request{Queries: q, K: k, MinScore: &least, Method: method, Delta: 1e-9})
					if err != nil {
						continue
					}
					g := backend.Goal{K: k, Floor: floor, Allowed: c.N, Ceiling: math.Inf(1)}
					if ds := explain(t, o, c, q, g, &resp.Answers[0]); len(ds) > 0 {
						t.Errorf("%v %v %s rank %d k %d: %v", c.Metric, c.Basis, method, rank, k, ds[0])
					}
					want := rank + 1
					if k > 0 {
						want = min(want, k)
					}
					if len(resp.Answers[0].IDs) != want {
						t.Errorf("%v %v %s rank %d k %d: %d ids, want %d", c.Metric, c.Basis, method, rank, k, len(resp.Answers[0].IDs), want)
					}
				}
			}
		}
	}
}

// TestMinScoreOfDuplicates searches with the score of a duplicate as the least: distance 0,
// cosine 1. No duplicate may be lost by rounding.
func TestMinScoreOfDuplicates(t *testing.T) {
	const n, dim = 400, 80
	for seed := range uint64(5) {
		rows := vectors.Gaussian(vectors.Rand(seed), n, dim)
		for i := range 30 {
			copy(rows[(i+200)*dim:(i+201)*dim], rows[i*dim:(i+1)*dim])
		}
		for metric, least := range map[collection.Metric]float64{collection.Euclidean: 0, collection.Cosine: 1} {
			e := open(t, rows, dim, &collection.Options{Metric: metric, Seed: seed}, 1)
			for _, method := range []batch.Method{batch.Exact, batch.Certain, batch.Adaptive} {
				resp := search(t, e, batch.Request{Queries: rows[:30*dim], MinScore: &least, Method: method, Delta: 1e-9})
				for j, a := range resp.Answers {
					if fmt.Sprint(a.IDs) != fmt.Sprint([]int{j, 200 + j}) {
						t.Errorf("%v %s: vectors as good as row %d: %v", metric, method, j, a.IDs)
					}
				}
			}
		}
	}
}

// TestMinScoreOfDrift is the same for long rows of one value: all rounding errors of their
// sums have one sign.
func TestMinScoreOfDrift(t *testing.T) {
	for _, x := range []struct {
		metric collection.Metric
		dim    int
		value  float32
		least  float64
	}{{collection.Cosine, 32768, .3, 1}, {collection.Euclidean, 131072, .1, 0}} {
		rows := make([]float32, 2*x.dim)
		for i := range x.dim {
			rows[i], rows[x.dim+i] = x.value, -x.value
		}
		c := build(t, rows, x.dim, &collection.Options{Metric: x.metric, Basis: collection.Raw})
		for _, l := range simd.Available() {
			e, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{Threads: 1, Kernels: &l}), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, method := range []batch.Method{batch.Exact, batch.Certain} {
				resp := search(t, e, batch.Request{Queries: rows[:x.dim], MinScore: &x.least, Method: method})
				if ids := resp.Answers[0].IDs; !slices.Equal(ids, []int64{0}) {
					t.Errorf("%v %v %s: vectors as good as row 0: %v", x.metric, l, method, ids)
				}
			}
			e.Close()
		}
	}
}

// TestMinScoreBesideAGiant: the least score holds for all atoms even if the norm of one is so
// great that the rounding of its product exceeds every other score.
func TestMinScoreBesideAGiant(t *testing.T) {
	const n, dim, rank = 400, 80, 5
	rows := vectors.Gaussian(vectors.Rand(1), n, dim)
	for i := range dim {
		rows[7*dim+i] *= 1e16
	}
	q := vectors.Gaussian(vectors.Rand(2), 1, dim)
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
	scores := backendtest.NewOracle(build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})).Scores(q)
	least := slices.Sorted(slices.Values(scores))[n-rank]
	var want []int64
	for i, s := range scores {
		if s >= least {
			want = append(want, int64(i))
		}
	}
	for _, method := range []batch.Method{batch.Exact, batch.Certain, batch.Adaptive} {
		for _, k := range []int{0, 100} {
			resp := search(t, e, batch.Request{Queries: q, K: k, MinScore: &least, Method: method, Delta: 1e-9})
			if got := slices.Sorted(slices.Values(resp.Answers[0].IDs)); !slices.Equal(got, want) {
				t.Errorf("%s, k %d: vectors %v, of at least %g are %v", method, k, got, least, want)
			}
		}
	}
}

// TestEpsilon checks that answers with an absolute or relative gap are within it, and that a
// wide one saves work.
func TestEpsilon(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, dim, m = 3000, 256, 8
	rng := vectors.Rand(2)
	rows := vectors.Gaussian(rng, n, dim)
	queries := vectors.Gaussian(rng, m, dim)
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		c := build(t, rows, dim, &collection.Options{Metric: metric, Seed: 1})
		e, o := over(t, c, 1, nil), backendtest.NewOracle(c)
		most := 0.0
		for i := range n {
			most = max(most, o.Norm(i))
		}
		for _, method := range []batch.Method{batch.Certain, batch.Adaptive} {
			plain := search(t, e, batch.Request{Queries: queries, K: 10, Method: method, Delta: 1e-6})
			for _, relative := range []bool{false, true} {
				req := batch.Request{Queries: queries, K: 10, Method: method, Delta: 1e-6, Relative: relative}
				req.Epsilon = map[collection.Metric]float64{collection.InnerProduct: 30, collection.Cosine: .1, collection.Euclidean: 60}[metric]
				if relative {
					req.Epsilon = .1
				}
				resp := search(t, e, req)
				for j := range resp.Answers {
					q := queries[j*dim : (j+1)*dim]
					g := goal(c, 10)
					score := req.Epsilon // in score units
					if relative && metric != collection.Cosine {
						var qq float64
						for _, v := range q {
							qq += float64(v) * float64(v)
						}
						score *= math.Sqrt(qq) * most
					}
					g.Epsilon = score
					if metric == collection.Euclidean {
						g.Epsilon = score / 2
					}
					for _, d := range explain(t, o, c, q, g, &resp.Answers[j]) {
						if d.Kind != backendtest.Tie {
							t.Errorf("%v %s relative %v: %v", metric, method, relative, d)
						}
					}
					if got := resp.Answers[j].Certificate.Epsilon; math.Abs(got-score) > 1e-6*score {
						t.Errorf("%v %s relative %v: certificate's epsilon %g, in score units it is %g", metric, method, relative, got, score)
					}
				}
				if resp.Stats.RowsScored >= plain.Stats.RowsScored {
					t.Errorf("%v %s relative %v: %d rows scored, without epsilon %d", metric, method, relative, resp.Stats.RowsScored, plain.Stats.RowsScored)
				}
			}
		}
	}
}

// TestLimitsOfShownScores: a score as it is shown, given back as a limit, lets its atom through, and
// the next float32 beyond it does not.
func TestLimitsOfShownScores(t *testing.T) {
	const n, dim, k, m = 500, 40, 12, 25
	rows := vectors.Gaussian(vectors.Rand(3), n, dim)
	queries := vectors.Gaussian(vectors.Rand(4), m, dim)
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		e := open(t, rows, dim, &collection.Options{Metric: metric}, 1)
		better := float32(math.Inf(1))
		if metric == collection.Euclidean {
			better = -better
		}
		for _, method := range []batch.Method{batch.Exact, batch.Certain} {
			best := search(t, e, batch.Request{Queries: queries, K: k, Method: method})
			for j, a := range best.Answers {
				goal := func(least, most float32) []int64 {
					req := batch.Request{Queries: queries[j*dim : (j+1)*dim], Method: method}
					low, high := float64(least), float64(most)
					req.MinScore, req.MaxScore = &low, &high
					return search(t, e, req).Answers[0].IDs
				}
				first, last := a.Scores[0], a.Scores[k-1]
				if got := goal(last, first); fmt.Sprint(got) != fmt.Sprint(a.IDs) {
					t.Errorf("%v %s: query %d within its scores: %v, want %v", metric, method, j, got, a.IDs)
				}
				if got := goal(math.Nextafter32(last, better), first); fmt.Sprint(got) != fmt.Sprint(a.IDs[:k-1]) {
					t.Errorf("%v %s: query %d above its %d-th score: %v, want %v", metric, method, j, k, got, a.IDs[:k-1])
				}
				if got := goal(last, math.Nextafter32(first, -better)); fmt.Sprint(got) != fmt.Sprint(a.IDs[1:]) {
					t.Errorf("%v %s: query %d below its first score: %v, want %v", metric, method, j, got, a.IDs[1:])
				}
			}
		}
	}
}

// TestFiltersOfQueries: a query that has a filter of its own is answered as by a request with that filter, whatever
// the filters of others; queries that share a list share its plan.
func TestFiltersOfQueries(t *testing.T) {
	const n, dim, m = 900, 32, 12
	rng := vectors.Rand(4)
	rows, queries := vectors.PowerLaw(rng, n, dim), vectors.PowerLaw(rng, m, dim)
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 2)
	third, few, all := []int64{}, []int64{700, 3, 3, 41}, []int64{}
	for i := range int64(n) {
		all = append(all, i)
		if i%3 == 0 {
			third = append(third, i)
		}
	}
	lists := [][]int64{nil, third, few, {}, all}
	for _, shared := range [][]int64{nil, all[:400]} {
		for _, method := range []batch.Method{batch.Exact, batch.Certain} {
			req := batch.Request{Queries: queries, K: 7, Method: method, Filter: shared, Exclude: []int64{3, 6}, Goals: make([]batch.QueryGoal, m), ExcludeSelf: true, SelfFirst: 30}
			for j := range req.Goals {
				req.Goals[j].Filter = lists[j%len(lists)]
			}
			req.Goals[5].K, req.Goals[6].Exclude = 3, []int64{9}
			got := search(t, e, req)
			for j := range m {
				alone := req
				alone.Queries, alone.Goals, alone.SelfFirst = queries[j*dim:(j+1)*dim], nil, int64(30+j)
				if own := req.Goals[j].Filter; own != nil {
					alone.Filter = own
				}
				if k := req.Goals[j].K; k > 0 {
					alone.K = k
				}
				alone.Exclude = slices.Concat(req.Exclude, req.Goals[j].Exclude)
				want := search(t, e, alone).Answers[0]
				if !slices.Equal(got.Answers[j].IDs, want.IDs) || !slices.Equal(got.Answers[j].Scores, want.Scores) {
					t.Errorf("%s, query %d: %v %v, alone %v %v", method, j, got.Answers[j].IDs, got.Answers[j].Scores, want.IDs, want.Scores)
				}
				if c := got.Answers[j].Certificate; c.DensePulls != want.Certificate.DensePulls {
					t.Errorf("%s, query %d: of %d coordinates, alone %d", method, j, c.DensePulls, want.Certificate.DensePulls)
				}
			}
		}
	}
	req := batch.Request{Queries: queries, K: 7, Goals: make([]batch.QueryGoal, m)}
	req.Goals[4].Filter = []int64{1, n}
	var wrong *batch.RequestError
	if _, err := e.Search(t.Context(), req); !errors.As(err, &wrong) || wrong.Field != "filter" || wrong.Query != 4 {
		t.Errorf("row %d of %d: %v", n, n, err)
	}
}
