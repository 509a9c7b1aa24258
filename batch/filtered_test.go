package batch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

// TestFilteredIsTheCollectionOfAllowed: methods that cannot fail answer with a filter as on a
// collection of the allowed atoms only.
func TestFilteredIsTheCollectionOfAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, dim := rapid.IntRange(1, 700).Draw(t, "atoms"), rapid.SampledFrom([]int{7, 64, 150}).Draw(t, "dim")
		rng := vectors.Rand(rapid.Uint64().Draw(t, "seed"))
		rows := vectors.PowerLaw(rng, n, dim)
		m := rapid.SampledFrom([]int{1, 3, 20}).Draw(t, "queries")
		queries := vectors.PowerLaw(rng, m, dim)
		opt := collection.Options{Seed: 3, Metric: collection.Metric(1 + rapid.IntRange(0, 2).Draw(t, "metric"))}
		var allow []int64
		var only []float32
		share := rapid.SampledFrom([]float64{.01, .1, .5, .99}).Draw(t, "share")
		for i := range n {
			if rng.Float64() < share {
				allow, only = append(allow, int64(i)), append(only, rows[i*dim:(i+1)*dim]...)
			}
		}
		if len(allow) == 0 {
			allow, only = []int64{0}, rows[:dim]
		}
		req := batch.Request{Queries: queries, K: rapid.IntRange(1, 40).Draw(t, "k"),
			Method: rapid.SampledFrom([]batch.Method{batch.Exact, batch.Certain}).Draw(t, "method")}
		if req.Method == batch.Exact {
			req.Plan = rapid.SampledFrom([]string{"", "dense"}).Draw(t, "plan")
		}
		fewer, err := engineOf(t, only, dim, opt).Search(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		req.Filter = allow
		if rapid.Bool().Draw(t, "denied instead") {
			req.Filter = nil
			for i := range int64(n) {
				if _, ok := slices.BinarySearch(allow, i); !ok {
					req.Exclude = append(req.Exclude, i)
				}
			}
		}
		for _, want := range fewer.Answers {
			for i, id := range want.IDs {
				want.IDs[i] = allow[id]
			}
		}
		e := engineOf(t, rows, dim, opt)
		for again := range 3 { // an engine keeps a filter that comes again
			got, err := e.Search(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			for j := range got.Answers {
				if d := cmp.Diff(fewer.Answers[j], got.Answers[j], cmpopts.IgnoreFields(batch.Answer{}, "Certificate")); d != "" {
					t.Errorf("query %d of %s, search %d, %d of %d allowed (-alone +filtered):\n%s", j, req.Method, again, len(allow), n, d)
				}
			}
		}
	})
}

func engineOf(t *rapid.T, rows []float32, dim int, opt collection.Options) *batch.Engine {
	c, err := collection.Build(t.Context(), rows, dim, &opt)
	if err != nil {
		t.Fatal(err)
	}
	e, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{Threads: 2}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestFewAllowedCostFew: if ten of many atoms are allowed, a search reads ten rows, by every
// method.
func TestFewAllowedCostFew(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, dim, few = 1 << 16, 32, 10
	rows := vectors.PowerLaw(vectors.Rand(1), n, dim)
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	var allow, deny []int64
	for k, row := range order {
		if k < few {
			allow = append(allow, int64(row))
		} else {
			deny = append(deny, int64(row))
		}
	}
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
	for _, m := range []int{1, 100} {
		for _, method := range []batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive} {
			for _, req := range []batch.Request{{Filter: allow}, {Exclude: deny}, {Filter: allow, ExcludeSelf: true, SelfFirst: 7}} {
				req.Queries, req.K, req.Method = rows[:m*dim], 3, method
				resp := search(t, e, req)
				if resp.Stats.Pulls != int64(m*few*dim) || resp.Stats.RowsScored != int64(m*few) || resp.Answers[0].Certificate.Plan != "gather" {
					t.Errorf("%s, %d queries: %d pulls and %d rows by plan %s, %d of %d vectors are allowed", method, m, resp.Stats.Pulls, resp.Stats.RowsScored,
						resp.Answers[0].Certificate.Plan, few, n)
				}
			}
		}
	}
}

// TestPullsCountWhatIsRead: pulls include the disallowed rows that a requested dense scan
// reads, and the disallowed atoms of the panels of a first look.
func TestPullsCountWhatIsRead(t *testing.T) {
	const n, dim = 2000, 128
	rows := vectors.Gaussian(vectors.Rand(1), n, dim)
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	for _, few := range []int{1, 20, 1000, n - 1} {
		var allow []int64
		for _, row := range order[:few] {
			allow = append(allow, int64(row))
		}
		for _, m := range []int{1, 2, 40} {
			req := batch.Request{Queries: rows[:m*dim], K: 1, Filter: allow, Method: batch.Exact, Plan: "dense"}
			for j, a := range search(t, e, req).Answers {
				if c := a.Certificate; c.Pulls != n*dim || c.Bytes != 4*n*dim || c.DensePulls != int64(few*dim) {
					t.Errorf("query %d of %d, %d allowed: %d pulls of %d, %d bytes", j, m, few, c.Pulls, c.DensePulls, c.Bytes)
				}
			}
			req.Method, req.Plan = batch.Adaptive, "64,rescore"
			for j, a := range search(t, e, req).Answers {
				if len(a.Certificate.Looks) == 0 {
					t.Fatalf("query %d: no look", j)
				}
				first := a.Certificate.Looks[0]
				if most := min(n, 64*few); first.Seen+first.Disallowed > most || few == n-1 && first.Disallowed != 1 {
					t.Errorf("query %d of %d: a look at %d vectors read %d beside; %d of %d are allowed", j, m, first.Seen, first.Disallowed, few, n)
				}
			}
		}
	}
}

// TestPlansOfFilters: gather is a plan only if there is a filter.
func TestPlansOfFilters(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, dim = 3000, 128
	rows := vectors.Gaussian(vectors.Rand(1), n, dim)
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
	for _, method := range []batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive} {
		req := batch.Request{Queries: rows[:dim], K: 1, Method: method, Plan: "gather"}
		if _, err := e.Search(t.Context(), req); err == nil {
			t.Errorf("%s gathers without a filter", method)
		}
		req.Filter = []int64{5, 6}
		c := search(t, e, req).Answers[0].Certificate
		if c.Plan != "gather" || c.Guarantee != batch.GuaranteeExact || !c.Exact || c.Delta != 0 || method != batch.Auto && c.Method != method {
			t.Errorf("%s: %+v", method, c)
		}
		plans, err := e.Plans(req)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(plans, func(f batch.Forecast) bool { return f.Plan == "gather" && f.Chosen }) {
			t.Errorf("%s: %s", method, fmt.Sprint(plans))
		}
	}
}

// TestFilterRefusedWhenEnded: a row that is not there is refused also if the search has ended before it begins, by a filter of
// all queries and by those of each.
func TestFilterRefusedWhenEnded(t *testing.T) {
	e := open(t, vectors.Gaussian(vectors.Rand(1), 100, 4), 4, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	good, bad := []int64{1, 2}, []int64{3, 100}
	for name, req := range map[string]batch.Request{
		"of all":         {Filter: bad},
		"goals, equal":   {Goals: []batch.QueryGoal{{Filter: bad}, {Filter: bad}}},
		"goals, various": {Goals: []batch.QueryGoal{{Filter: good}, {Filter: bad}}},
	} {
		req.Queries, req.K = make([]float32, 8), 1
		_, err := e.Search(ctx, req)
		var refused *batch.RequestError
		if !errors.As(err, &refused) || refused.Field != "filter" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
