package batch_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

// TestAuto checks which method auto picks: exact where elimination saves nothing, adaptive
// where it is forecast to save much.
func TestAuto(t *testing.T) {
	rng := vectors.Rand(1)
	for _, x := range []struct {
		name string
		dim  int
		rows []float32
		opt  collection.Options
		k    int
		want []batch.Method
	}{
		{"tiny", 300, vectors.PowerLaw(rng, 50, 300), collection.Options{Metric: collection.InnerProduct}, 1, []batch.Method{batch.Exact}},
		{"one vector", 40, vectors.Gaussian(rng, 1, 40), collection.Options{Metric: collection.InnerProduct}, 1, []batch.Method{batch.Exact}},
		{"most of the vectors wanted", 300, vectors.PowerLaw(rng, 1000, 300), collection.Options{Metric: collection.InnerProduct}, 500, []batch.Method{batch.Exact}},
		{"all wanted", 300, vectors.PowerLaw(rng, 1000, 300), collection.Options{Metric: collection.InnerProduct}, 1000, []batch.Method{batch.Exact}},
		{"iid", 256, vectors.Gaussian(rng, 3000, 256), collection.Options{Metric: collection.InnerProduct}, 100, []batch.Method{batch.Certain}},
		{"embeddings", 768, vectors.PowerLaw(rng, 4000, 768), collection.Options{Metric: collection.InnerProduct}, 1, []batch.Method{batch.Adaptive, batch.Certain}},
		{"few dimensions", 8, vectors.Gaussian(rng, 20000, 8), collection.Options{Metric: collection.InnerProduct}, 1, []batch.Method{batch.Certain, batch.Exact}},
		{"raw", 300, vectors.PowerLaw(rng, 2000, 300), collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw}, 1, []batch.Method{batch.Certain, batch.Strict, batch.Exact}},
	} {
		e := over(t, build(t, x.rows, x.dim, &x.opt), 1, &batch.Options{Costs: &backend.Costs{Scan: .0022, Wide: .0021, Transpose: .023, Test: .24, List: 1, Visit: 12,
			Code: .0079, Sign: .0031, Far: .05, Fetch: 110, Score: .11, Dense: .0078, DenseTest: .23, DenseOne: .039, Gather: .6, Rotate: 1.7, Query: 400}})
		cert := search(t, e, batch.Request{Queries: slices.Repeat(x.rows[:x.dim], 2), K: x.k}).Answers[0].Certificate
		if !slices.Contains(x.want, cert.Method) {
			t.Errorf("%s, k %d: auto picked %s (%s, forecast %g), want one of %v", x.name, x.k, cert.Method, cert.Plan, cert.Predicted, x.want)
		}
	}
}

// TestPlanIgnoresTheBatch checks that a plan depends on the collection and the request's
// settings, not on the queries or, for adaptive and parts of longer lists, their number.
func TestPlanIgnoresTheBatch(t *testing.T) {
	const dim = 384
	rng := vectors.Rand(2)
	rows := vectors.PowerLaw(rng, 2000, dim)
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct}, 2)
	for _, x := range []struct {
		numbers []int
		part    bool
		method  batch.Method
	}{
		{[]int{2, 3, 7}, false, batch.Auto},
		{[]int{1, 2, 3, 20, 100}, true, batch.Auto},
		{[]int{1, 2, 3, 20, 100}, true, batch.Certain},
		{[]int{1, 2, 3, 20, 100}, false, batch.Adaptive},
	} {
		plans, costs := map[string]bool{}, map[float64]bool{}
		for _, m := range x.numbers {
			for _, a := range search(t, e, batch.Request{Queries: rows[:m*dim], K: 10, Method: x.method, Part: x.part}).Answers {
				plans[a.Certificate.Plan], costs[a.Certificate.PredictedCost] = true, true
			}
		}
		if len(plans) != 1 || len(costs) != 1 {
			t.Errorf("%+v: plans %v of %v ns", x, plans, costs)
		}
	}
}

// TestPlanOfFewQueries: auto and certain price scans by what they cost one query, few or many, as many as
// the request has, also where searches share a run; adaptive has one plan.
func TestPlanOfFewQueries(t *testing.T) {
	race.Skip(t, "one goroutine")
	const dim, many = 384, 64
	rows := vectors.PowerLaw(vectors.Rand(2), 2000, dim)
	costs := cpu.New(cpu.Options{Threads: 1}).Describe().Costs
	costs.Dense, costs.DenseTest, costs.DenseOne = 1e-4, 1e-4, 1
	e := over(t, build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct}), 1, &batch.Options{Costs: &costs})
	plan := func(m int, method batch.Method) string {
		return search(t, e, batch.Request{Queries: rows[:m*dim], K: 10, Method: method}).Answers[0].Certificate.Plan
	}
	for _, method := range []batch.Method{batch.Auto, batch.Certain} {
		if one, few, all := plan(1, method), plan(4, method), plan(many, method); one == "dense" || few == "dense" || all != "dense" {
			t.Errorf("%s: one query by %s, four by %s, %d by %s", method, one, few, many, all)
		}
	}
	if got := search(t, e, batch.Request{Queries: rows[:dim], K: 10, Part: true}).Answers[0].Certificate.Plan; got != "dense" {
		t.Errorf("one query of a longer list by %s", got)
	}
	if one, all := plan(1, batch.Adaptive), plan(many, batch.Adaptive); one != all {
		t.Errorf("adaptive: one query by %s, %d by %s", one, many, all)
	}
	for _, a := range search(t, e, batch.Request{Queries: rows[:2*dim], K: 10, Goals: []batch.QueryGoal{{}, {K: 3}}}).Answers {
		if a.Certificate.Plan != "dense" {
			t.Errorf("a query of two with a k of its own by %s", a.Certificate.Plan)
		}
	}
	costs = backend.Portable()
	costs.Scan, costs.Wide, costs.Code = 1e-3, 1e-3, 1 // whole rows cost one query as much as all codes of later looks
	e = over(t, build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct}), 1, &batch.Options{Costs: &costs})
	if one, all := plan(1, batch.Certain), plan(many, batch.Certain); one == all || all != "whole,rescore" {
		t.Errorf("certain: one query by %s, %d by %s", one, many, all)
	}
	if got := search(t, e, batch.Request{Queries: rows[:dim], K: 10, Method: batch.Certain, Part: true}).Answers[0].Certificate.Plan; got != "whole,rescore" {
		t.Errorf("certain: one query of a longer list by %s", got)
	}
}

// TestCertainMayScanDensely: where a dense scan costs least, certain answers by it, and its certificate
// says what was done: method certain, plan dense, guarantee exact, no look. Answers are those of exact
// and of looks.
func TestCertainMayScanDensely(t *testing.T) {
	const dim, k = 128, 50
	rows := vectors.PowerLaw(vectors.Rand(2), 1000, dim)
	costs := cpu.New(cpu.Options{Threads: 1}).Describe().Costs
	costs.Dense, costs.DenseTest, costs.DenseOne = 1e-4, 1e-4, 1e-4
	e := over(t, build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct}), 1, &batch.Options{Costs: &costs})
	req := batch.Request{Queries: rows[:8*dim], K: k, Method: batch.Certain, Epsilon: .5}
	got := search(t, e, req)
	for _, a := range got.Answers {
		c := a.Certificate
		if c.Method != batch.Certain || c.Plan != "dense" || c.Guarantee != batch.GuaranteeExact || !c.Exact || len(c.Looks) > 0 || c.Fallback != "" || c.Delta != 0 || c.Pulls != c.DensePulls {
			t.Errorf("%+v", c)
		}
	}
	req.Epsilon = 0
	for _, x := range []struct {
		method batch.Method
		plan   string
	}{{batch.Exact, ""}, {batch.Certain, ""}, {batch.Certain, "whole,rescore"}} {
		req.Method, req.Plan = x.method, x.plan
		for j, a := range search(t, e, req).Answers {
			if !slices.Equal(a.IDs, got.Answers[j].IDs) || !slices.Equal(a.Scores, got.Answers[j].Scores) {
				t.Errorf("%s %s, query %d: %v, densely %v", x.method, x.plan, j, a.IDs, got.Answers[j].IDs)
			}
			if x.plan != "" && a.Certificate.Guarantee != batch.GuaranteeCertain {
				t.Errorf("by looks: %+v", a.Certificate)
			}
		}
	}
	costs.Dense, costs.DenseTest, costs.DenseOne = 1e3, 1e3, 1e3
	e = over(t, build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct}), 1, &batch.Options{Costs: &costs})
	req.Method, req.Plan = batch.Certain, ""
	if c := search(t, e, req).Answers[0].Certificate; c.Plan == "dense" || c.Guarantee != batch.GuaranteeCertain {
		t.Errorf("dense scans are dear: %s, %s", c.Plan, c.Guarantee)
	}
}

// TestMixedCodes: if costs say that the backend has looks at mixed codes, plans begin with one where that is
// cheap, but not for Euclidean distance, and certificates say so. The CPU takes such looks at panels, so
// answers and survivors are those of the plan with panels.
func TestMixedCodes(t *testing.T) {
	race.Skip(t, "one goroutine")
	const dim = 384
	rows := vectors.PowerLaw(vectors.Rand(2), 2000, dim)
	costs := cpu.New(cpu.Options{Threads: 1}).Describe().Costs
	req := batch.Request{Queries: rows[:8*dim], K: 10, Method: batch.Adaptive}
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		for _, mixed := range []float64{0, 1e-6} {
			costs.Mixed = mixed
			e := over(t, build(t, rows, dim, &collection.Options{Metric: metric}), 1, &batch.Options{Costs: &costs})
			has := mixed > 0 && metric != collection.Euclidean
			req.Plan = ""
			plans, err := e.Plans(req)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range plans {
				if begins := strings.HasPrefix(p.Plan, "mixed"); begins && !has || p.Chosen && begins != has {
					t.Errorf("%v, mixed codes at %g ns: plan %s, chosen %v", metric, mixed, p.Plan, p.Chosen)
				}
			}
			req.Plan = "mixed64,whole,rescore"
			got, err := e.Search(t.Context(), req)
			if !has {
				var refused *batch.RequestError
				if !errors.As(err, &refused) || refused.Field != "plan" {
					t.Errorf("%v, mixed codes at %g ns: %s is answered, error %v", metric, mixed, req.Plan, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			req.Plan = "64,whole,rescore"
			for j, want := range search(t, e, req).Answers {
				a := &got.Answers[j]
				if l, panels := a.Certificate.Looks[0], want.Certificate.Looks[0]; l.Reads != "mixed" || l.Survivors != panels.Survivors || l.Alpha != panels.Alpha || !slices.Equal(a.IDs, want.IDs) {
					t.Errorf("%v, query %d: look %+v, at panels %+v; vectors %v and %v", metric, j, l, panels, a.IDs, want.IDs)
				}
			}
		}
	}
}

// TestAlphaIsShared checks that the alphas of a query's looks sum to delta / k, and to delta
// without k.
func TestAlphaIsShared(t *testing.T) {
	race.Skip(t, "one goroutine")
	const delta = .05
	least := 5.
	looks := 0 // the most fallible looks of an answer
	for _, set := range []struct {
		n, dim int
		opt    collection.Options
	}{
		{2000, 384, collection.Options{Metric: collection.InnerProduct}},
		{2000, 384, collection.Options{Metric: collection.InnerProduct, NoHead: true, KeepRotated: true}},
		{2000, 384, collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw}},
	} {
		dim := set.dim
		rows := vectors.PowerLaw(vectors.Rand(3), set.n, dim)
		e := open(t, rows, dim, &set.opt, 1)
		for _, x := range []struct {
			k, arms int
			least   *float64
		}{{1, 1, nil}, {10, 10, nil}, {100, 100, nil}, {0, 1, &least}} {
			for _, way := range []struct {
				method batch.Method
				plan   string
			}{{batch.Adaptive, ""}, {batch.Adaptive, "64,128,rescore"}, {batch.Adaptive, "64,whole,rescore"}, {batch.PrefixF32, ""}, {batch.Strict, ""}} {
				method := way.method
				resp, err := e.Search(t.Context(), batch.Request{Queries: rows[:20*dim], K: x.k, MinScore: x.least, Method: method, Plan: way.plan, Delta: delta})
				if err != nil {
					continue
				}
				for _, a := range resp.Answers {
					spent, random := 0., 0
					for _, l := range a.Certificate.Looks {
						if method == batch.Strict {
							spent = max(spent, l.Alpha) // one alpha covers all looks
						} else {
							spent += l.Alpha
						}
						if l.Alpha > 0 {
							random++
						}
					}
					if method == batch.Adaptive {
						looks = max(looks, random)
					}
					if most := delta / float64(x.arms) * (1 + 1e-12); spent > most {
						t.Errorf("%s k %d: looks spend %g an arm, at most %g\n%+v", method, x.k, spent, most, a.Certificate.Looks)
					}
				}
			}
		}
	}
	if looks < 2 {
		t.Errorf("%d looks that can fail at most: sharing was not seen", looks)
	}
}

// TestPlansAnswer searches by every plan and compares the answers with the oracle. At delta
// 1e-6 the 400 probabilistic answers cause a false alarm with probability below .0005.
func TestPlansAnswer(t *testing.T) {
	const dim, k = 384, 10
	rng := vectors.Rand(4)
	for _, opt := range []collection.Options{{Metric: collection.InnerProduct, Seed: 1}, {Seed: 1, Metric: collection.Cosine}} {
		c := build(t, vectors.PowerLaw(rng, 3000, dim), dim, &opt)
		e, o := over(t, c, 2, nil), backendtest.NewOracle(c)
		queries := vectors.PowerLaw(rng, 5, dim)
		for _, method := range []batch.Method{batch.Auto, batch.Adaptive, batch.Certain, batch.Exact} {
			req := batch.Request{Queries: queries, K: k, Delta: 1e-6, Method: method}
			plans, err := e.Plans(req)
			if err != nil {
				t.Fatal(err)
			}
			chosen := 0
			for i, f := range plans {
				if i > 0 && f.Cost < plans[i-1].Cost {
					t.Errorf("%s: %s at %g ns comes after %s at %g", method, f.Plan, f.Cost, plans[i-1].Plan, plans[i-1].Cost)
				}
				free := req
				free.Plan, free.Method = "", method
				want := search(t, e, free).Answers[0].Certificate
				if f.Chosen {
					chosen++
				}
				if f.Chosen != (f.Plan == want.Plan && f.Method == want.Method) {
					t.Errorf("%s: %s of %s is chosen: %v; Search takes %s of %s", method, f.Plan, f.Method, f.Chosen, want.Plan, want.Method)
				}
				req.Plan, req.Method = f.Plan, f.Method
				resp := search(t, e, req)
				if n := wrong(t, o, c, queries, goal(c, k), resp); n > 0 {
					t.Errorf("%v %s: %d wrong answers", c.Metric, f.Plan, n)
				}
				cert := resp.Answers[0].Certificate
				if cert.Plan != f.Plan || cert.Method != f.Method || cert.Guarantee != f.Guarantee || cert.PredictedCost != f.Cost {
					t.Errorf("%s: forecast %+v, certificate of %s, %s, %s, %g ns", method, f, cert.Plan, cert.Method, cert.Guarantee, cert.PredictedCost)
				}
				if looks := strings.Count(f.Plan, ","); len(f.SurvivorShares) != looks || len(cert.Looks) > looks {
					t.Errorf("%s: shares %v after looks, %d looks were taken", f.Plan, f.SurvivorShares, len(cert.Looks))
				}
				for _, l := range cert.Looks {
					rule := "student"
					if f.Method == batch.Certain {
						rule = "cauchy"
					}
					if l.Width == c.R+c.D {
						rule = "rounding"
					}
					if l.Rule != rule {
						t.Errorf("%s of %s: look of %d coordinates by rule %s", f.Plan, f.Method, l.Width, l.Rule)
					}
				}
			}
			if chosen != 1 {
				t.Errorf("%s: %d of %d plans are chosen", method, chosen, len(plans))
			}
		}
	}
}

func TestPlansRefused(t *testing.T) {
	rows := vectors.PowerLaw(vectors.Rand(5), 300, 300)
	rotated, raw := open(t, rows, 300, &collection.Options{Metric: collection.InnerProduct}, 1), open(t, rows, 300, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw}, 1)
	for _, x := range []struct {
		e    *batch.Engine
		req  batch.Request
		want string
	}{
		{rotated, batch.Request{Plan: "65,rescore"}, "65"},
		{rotated, batch.Request{Plan: "dense", Method: batch.Adaptive}, "adaptive"},
		{rotated, batch.Request{Plan: "64,rescore", Method: batch.Exact}, "exact"},
		{raw, batch.Request{Plan: "64,rescore"}, "none"},
		{raw, batch.Request{Plan: "dense", Method: batch.Strict}, "strict"},
	} {
		x.req.Queries, x.req.K = rows[:300], 3
		_, err := x.e.Search(t.Context(), x.req)
		var refused *batch.RequestError
		if !errors.As(err, &refused) || refused.Field != "plan" || !strings.Contains(err.Error(), x.want) {
			t.Errorf("plan %q for %s: %v", x.req.Plan, x.req.Method, err)
		}
		if _, again := x.e.Plans(x.req); again == nil || again.Error() != err.Error() {
			t.Errorf("plan %q: Plans says %v, Search %v", x.req.Plan, again, err)
		}
	}
	for _, req := range []batch.Request{{}, {Method: batch.Strict}} {
		req.Queries, req.K = rows[:300], 3
		if all, err := raw.Plans(req); err != nil || len(all) != 0 {
			t.Errorf("plans on raw coordinates: %v, %v", all, err)
		}
	}
}

// TestCostsDecide: Options.Costs determine the plan, and invalid ones are refused.
func TestCostsDecide(t *testing.T) {
	const dim = 384
	c := build(t, vectors.PowerLaw(vectors.Rand(6), 3000, dim), dim, &collection.Options{Metric: collection.InnerProduct})
	plan := func(costs *backend.Costs) string {
		e := over(t, c, 1, &batch.Options{Costs: costs})
		return search(t, e, batch.Request{Queries: c.Rows[:dim], K: 10}).Answers[0].Certificate.Plan
	}
	costs := cpu.New(cpu.Options{}).Describe().Costs
	if own, same := plan(nil), plan(&costs); own != same || own == "dense" {
		t.Errorf("plan %s by the backend's costs, %s by the same given", own, same)
	}
	free := costs
	free.Dense, free.DenseTest, free.DenseOne = 1e-9, 1e-9, 1e-9
	if got := plan(&free); got != "dense" {
		t.Errorf("plan %s where a dense scan costs nothing", got)
	}
	free.Visit = -1
	if _, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{}), &batch.Options{Costs: &free}); err == nil || !strings.Contains(err.Error(), "visit: -1") {
		t.Errorf("a negative cost: %v", err)
	}
}

// TestPlansAreRememberedApart: an engine with many cached plans answers as a new one does.
func TestPlansAreRememberedApart(t *testing.T) {
	const dim = 384
	c := build(t, vectors.PowerLaw(vectors.Rand(7), 3000, dim), dim, &collection.Options{Metric: collection.InnerProduct})
	asked := over(t, c, 1, nil)
	var deny []int64
	for i := range int64(2900) {
		deny = append(deny, i)
	}
	for range 2 {
		for _, req := range []batch.Request{
			{K: 10}, {K: 1}, {K: 10, Delta: 1e-5}, {K: 10, Exclude: deny}, {K: 10, Plan: "128,rescore"}, {K: 10, Plan: "64,128,rescore"},
			{K: 10, Method: batch.Certain}, {K: 10, Method: batch.Exact}, {K: 10, Method: batch.Adaptive},
		} {
			req.Queries = c.Rows[:dim]
			got, want := search(t, asked, req), search(t, over(t, c, 1, nil), req)
			same(t, got.Answers, want.Answers)
		}
	}
}
