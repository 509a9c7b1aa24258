package batch_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	_ "thresher/internal/draws"
	"thresher/internal/vectors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(t testing.TB, rows []float32, dim int, o *collection.Options) *collection.Collection {
	t.Helper()
	c, err := collection.Build(context.Background(), rows, dim, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func over(t testing.TB, c *collection.Collection, threads int, o *batch.Options) *batch.Engine {
	t.Helper()
	e, err := batch.Open(context.Background(), c, cpu.New(cpu.Options{Threads: threads}), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func open(t testing.TB, rows []float32, dim int, o *collection.Options, threads int) *batch.Engine {
	t.Helper()
	return over(t, build(t, rows, dim, o), threads, nil)
}

func search(t testing.TB, e *batch.Engine, req batch.Request) *batch.Response {
	t.Helper()
	resp, err := e.Search(context.Background(), req)
	if err != nil {
		t.Fatalf("%s, k %d: %v", req.Method, req.K, err)
	}
	return resp
}

// goal is the backend's goal of a request with k only.
func goal(c *collection.Collection, k int) backend.Goal {
	return backend.Goal{K: min(k, c.N), Floor: math.Inf(-1), Allowed: c.N, Ceiling: math.Inf(1)}
}

// explain lists the causes of an answer's differences from the oracle's, and checks its
// scores.
func explain(t testing.TB, o *backendtest.Oracle, c *collection.Collection, q []float32, g backend.Goal, a *batch.Answer) []backendtest.Difference {
	t.Helper()
	scores := o.Scores(q)
	got := backend.Answer{IDs: slices.Clone(a.IDs), OpenBound: math.Inf(-1), Random: !a.Certificate.Exact}
	if b := a.Certificate.OpenBound; b != nil {
		got.OpenBound = *b
	}
	for k, id := range a.IDs {
		want := scores[id]
		if c.Metric == collection.Euclidean {
			want = 0
			for j, v := range c.Row(int(id)) {
				want += (float64(q[j]) - float64(v)) * (float64(q[j]) - float64(v))
			}
		}
		if d := math.Abs(float64(a.Scores[k]) - want); d > 1e-7*math.Abs(want)+o.Precision(q, int(id)) {
			t.Errorf("vector %d returned with score %g, it is %g", id, a.Scores[k], want)
		}
		if k > 0 && (c.Metric == collection.Euclidean) != (a.Scores[k] >= a.Scores[k-1]) && a.Scores[k] != a.Scores[k-1] {
			t.Errorf("score %g after %g, metric %v", a.Scores[k], a.Scores[k-1], c.Metric)
		}
	}
	slices.SortFunc(got.IDs, func(x, y int64) int {
		switch {
		case scores[x] > scores[y]:
			return -1
		case scores[x] < scores[y]:
			return 1
		}
		return int(x - y)
	})
	for _, id := range got.IDs {
		got.Scores = append(got.Scores, scores[id])
	}
	got.Looks = looks(c, a.Certificate.Looks)
	return o.Explain(q, g, got, o.Answer(q, g))
}

// looks returns the backend's reports of the looks in a certificate.
func looks(c *collection.Collection, records []batch.LookRecord) []backend.LookReport {
	var out []backend.LookReport
	for _, r := range records {
		l := backend.Look{To: r.Width, Alpha: r.Alpha}
		switch r.Reads {
		case "panels":
			l.Rep, l.To = backend.Panels, r.Width-c.R
		case "mixed":
			l.Rep, l.To = backend.Mixed, r.Width-c.R
		case "sign panels":
			l.Rep, l.To = backend.SignPanels, r.Width-c.R
		case "codes":
			l.Rep, l.To = backend.RowCodes, r.Width-c.R
		case "float32":
			l.Rep = backend.Float32
		}
		switch r.Rule {
		case "student":
			l.Rule = backend.Student
		case "martingale":
			l.Rule = backend.Martingale
		case "mean-radius":
			l.Rule = backend.MeanRadius
		default:
			l.Rule = backend.Cauchy
		}
		out = append(out, backend.LookReport{Look: l, Seen: r.Seen, Disallowed: r.Disallowed, Survivors: r.Survivors})
	}
	return out
}

// wrong counts the answers that miss an atom for a reason other than a tie. It
// fails the test for misses that no failed bound explains.
func wrong(t testing.TB, o *backendtest.Oracle, c *collection.Collection, queries []float32, g backend.Goal, resp *batch.Response) int {
	t.Helper()
	bad := 0
	for j := range resp.Answers {
		q := queries[j*c.Dim : (j+1)*c.Dim]
		ds := explain(t, o, c, q, g, &resp.Answers[j])
		for _, d := range ds {
			if d.Kind == backendtest.Wrong {
				t.Errorf("query %d, %s: %v", j, resp.Answers[j].Certificate.Plan, d)
			}
		}
		if backendtest.Count(ds, backendtest.Tie) < len(ds) {
			bad++
		}
	}
	return bad
}

// TestMethodsAgainstOracle runs every method on every basis that has it. At delta 1e-6 the
// 1,800 probabilistic answers cause a false alarm with probability below .002; exact and
// certain answers may never fail.
func TestMethodsAgainstOracle(t *testing.T) {
	rng := vectors.Rand(1)
	m, ks := 10, []int{1, 10, 100}
	if testing.Short() {
		m, ks = 3, []int{10}
	}
	for _, set := range []struct {
		name string
		dim  int
		rows []float32
	}{
		{"gaussian", 100, vectors.Gaussian(rng, 1500, 100)},
		{"power-law", 300, vectors.PowerLaw(rng, 1500, 300)},
		{"power-law-770", 770, vectors.PowerLaw(rng, 500, 770)},
	} {
		if testing.Short() && set.dim == 770 {
			continue
		}
		for _, opt := range []collection.Options{
			{Metric: collection.InnerProduct, Seed: 7}, {Seed: 7, Metric: collection.Cosine}, {Seed: 7, Metric: collection.Euclidean},
			{Metric: collection.InnerProduct, Seed: 7, NoHead: true, KeepRotated: true},
			{Metric: collection.InnerProduct, Seed: 7, Basis: collection.Raw}, {Seed: 7, Basis: collection.Raw, Metric: collection.Cosine},
			{Seed: 7, Basis: collection.Raw, Metric: collection.Euclidean},
		} {
			c := build(t, set.rows, set.dim, &opt)
			e, o := over(t, c, 2, nil), backendtest.NewOracle(c)
			queries := set.rows[:m*set.dim]
			for _, method := range []batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive, batch.PrefixF32, batch.Strict} {
				for _, k := range ks {
					req := batch.Request{Queries: queries, K: k, Method: method, Delta: 1e-6}
					resp, err := e.Search(context.Background(), req)
					if err != nil {
						needs := method == batch.Adaptive && opt.Basis == collection.Raw || method == batch.PrefixF32 && !opt.KeepRotated ||
							method == batch.Strict && opt.Basis != collection.Raw
						if !needs {
							t.Errorf("%s %v %v %s k=%d: %v", set.name, opt.Metric, opt.Basis, method, k, err)
						}
						continue
					}
					if n := wrong(t, o, c, queries, goal(c, k), resp); n > 0 {
						t.Errorf("%s %v %v %s k=%d: %d of %d answers wrong", set.name, opt.Metric, opt.Basis, method, k, n, m)
					}
				}
			}
		}
	}
}

// TestAllAtoms searches with k = n and above.
func TestAllAtoms(t *testing.T) {
	rows := vectors.Gaussian(vectors.Rand(2), 130, 40)
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		c := build(t, rows, 40, &collection.Options{Metric: metric})
		e, o := over(t, c, 1, nil), backendtest.NewOracle(c)
		for _, method := range []batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive} {
			resp := search(t, e, batch.Request{Queries: rows[:80], K: 130, Method: method})
			if n := wrong(t, o, c, rows[:80], goal(c, 130), resp); n > 0 || len(resp.Answers[0].IDs) != 130 {
				t.Errorf("%v %s: %d wrong, %d ids", metric, method, n, len(resp.Answers[0].IDs))
			}
			if len(resp.Warnings) != 0 {
				t.Errorf("warnings %q", resp.Warnings)
			}
			resp = search(t, e, batch.Request{Queries: rows[:80], K: 131, Method: method})
			if len(resp.Answers[1].IDs) != 130 || len(resp.Warnings) != 1 || resp.Warnings[0] != "k 131 cut to the 130 vectors there are" {
				t.Errorf("%v %s: %d ids, warnings %q", metric, method, len(resp.Answers[1].IDs), resp.Warnings)
			}
		}
	}
}

// TestParts compares the answers of a batch that is answered in parts with those of single
// queries.
func TestParts(t *testing.T) {
	const dim, m = 16, 1100
	rng := vectors.Rand(3)
	rows := vectors.PowerLaw(rng, 200, dim)
	queries := vectors.PowerLaw(rng, m, dim)
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct}, 2)
	for _, method := range []batch.Method{batch.Exact, batch.Certain, batch.Adaptive} {
		all := search(t, e, batch.Request{Queries: queries, K: 3, Method: method, Part: true})
		for _, j := range []int{0, 1023, 1024, m - 1} {
			alone := search(t, e, batch.Request{Queries: queries[j*dim : (j+1)*dim], K: 3, Method: method, Part: true})
			same(t, all.Answers[j:j+1], alone.Answers)
		}
	}
}
