package verify_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/race"
	"thresher/internal/vectors"
	"thresher/verify"
)

// over searches rows and knows their true scores.
func over(t *testing.T, rows []float32, dim int, o *collection.Options) (*batch.Engine, *verify.Oracle) {
	t.Helper()
	c, err := collection.Build(t.Context(), rows, dim, o)
	if err != nil {
		t.Fatal(err)
	}
	e, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{Threads: 1}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	oracle, err := verify.NewOracle(c.Rows, c.Dim, c.Metric, 2)
	if err != nil {
		t.Fatal(err)
	}
	return e, oracle
}

func report(t *testing.T, o *verify.Oracle, req batch.Request, resp *batch.Response) *verify.Report {
	t.Helper()
	r, err := verify.Response(t.Context(), o, req, resp)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestResponses: the engine's answers to every kind of request keep the guarantees of their
// certificates. At delta 1e-9 a false alarm of the test has probability below 1e-5.
func TestResponses(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, dim, m, first = 1500, 144, 8, 100
	rows := vectors.PowerLaw(vectors.Rand(1), n, dim)
	// the longest atom is so short that float32 rounds its norm by a tenth
	tiny := slices.Clone(rows)
	for i := range tiny {
		tiny[i] *= 1e-44
	}
	var odd, most []int64
	for i := range int64(n) {
		if i%2 == 1 {
			odd = append(odd, i)
		}
		if i != 17 && i != 400 {
			most = append(most, i)
		}
	}
	for i, opt := range []collection.Options{
		{Metric: collection.InnerProduct, Seed: 1}, {Seed: 1, Metric: collection.Cosine}, {Seed: 1, Metric: collection.Euclidean},
		{Metric: collection.InnerProduct, Seed: 1, Basis: collection.Raw}, {Seed: 1, Basis: collection.Raw, Metric: collection.Euclidean},
	} {
		for name, rows := range map[string][]float32{"power-law": rows, "tiny": tiny} {
			if testing.Short() && (name == "tiny") != (i%2 == 1) { // each by turns
				continue
			}
			e, o := over(t, rows, dim, &opt)
			queries := rows[first*dim : (first+m)*dim]
			limits := make([]float64, 2)
			for i, rank := range []int{3, 30} {
				resp, err := e.Search(t.Context(), batch.Request{Queries: queries, K: rank})
				if err != nil {
					t.Fatal(err)
				}
				limits[i] = float64(resp.Answers[0].Scores[rank-1])
			}
			answered := 0
			for _, req := range []batch.Request{
				{K: 10}, {K: 2 * n}, {K: 10, Delta: .3},
				{K: 10, Filter: odd}, {K: 10, Filter: []int64{33, 33}}, {K: 10, Filter: []int64{}},
				{K: 10, Exclude: odd}, {K: 10, Exclude: most}, {K: 10, Filter: odd, Exclude: []int64{1, 3, 101, 103}},
				{K: 10, ExcludeSelf: true, SelfFirst: first}, {K: 10, ExcludeSelf: true, SelfFirst: first, Filter: odd},
				{K: 10, Epsilon: .1}, {K: 10, Epsilon: .1, Relative: true},
				{MinScore: &limits[0]}, {MinScore: &limits[1]}, {K: 5, MinScore: &limits[1]}, {K: 200, MinScore: &limits[1], Exclude: odd},
			} {
				for _, method := range []batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive, batch.Strict, batch.BoundedME} {
					req.Queries, req.Method, req.SearchScores = queries, method, true
					delta := req.Delta
					if delta == 0 {
						req.Delta = 1e-9
					}
					resp, err := e.Search(t.Context(), req)
					if err != nil {
						continue // package batch tests which methods a basis has
					}
					answered++
					r := report(t, o, req, resp)
					if r.Malformed > 0 || r.WrongSure > 0 || r.Wrong > 0 && delta == 0 || r.PValue < 1e-6 {
						req.Queries = nil
						t.Errorf("%s %v %v %+v: %+v", name, opt.Metric, opt.Basis, req, r.Tally)
						bad := slices.IndexFunc(r.Findings, func(f verify.Finding) bool { return f.Malformed != "" || len(f.Missed) > 0 })
						t.Fatalf("answer %+v: %+v", resp.Answers[bad], r.Findings[bad])
					}
					req.Delta = delta
				}
			}
			if answered < 40 {
				t.Errorf("%s %v %v: %d requests were answered", name, opt.Metric, opt.Basis, answered)
			}
		}
	}
}

// TestResponsesStopped interrupts searches with every method and gap at every check of their
// context.
func TestResponsesStopped(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, dim, m, k = 2000, 144, 3, 10
	rows := vectors.Gaussian(vectors.Rand(1), n, dim)
	queries := vectors.Gaussian(vectors.Rand(2), m, dim)
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		e, o := over(t, rows, dim, &collection.Options{Seed: 1, Metric: metric})
		for _, epsilon := range []float64{0, .02, .2} {
			for _, method := range []batch.Method{batch.Exact, batch.Certain, batch.Adaptive} {
				partial := int64(0)
				for polls, struck := 0, true; struck; polls += 1 + polls/8 {
					ctx := backendtest.NewCountdown(polls, context.DeadlineExceeded)
					req := batch.Request{Queries: queries, K: k, Method: method, Delta: 1e-9, Epsilon: epsilon, Relative: true}
					resp, err := e.Search(ctx, req)
					if resp == nil || (err != nil) == resp.Complete() {
						t.Fatalf("complete %v: %v", resp.Complete(), err)
					}
					struck = ctx.Ended()
					r := report(t, o, req, resp)
					if r.Malformed > 0 || r.Wrong > 0 {
						t.Fatalf("%v %s epsilon %g, struck after %d:\n%+v", metric, method, epsilon, polls, r)
					}
					partial += r.Unfinished
				}
				if partial == 0 {
					t.Errorf("%v %s epsilon %g: nothing was struck midway", metric, method, epsilon)
				}
			}
		}
	}
}

// TestResponseFindsTampering: each change makes one answer of eight malformed or wrong.
func TestResponseFindsTampering(t *testing.T) {
	const n, dim, m, k, bad = 300, 20, 8, 4, 5
	rows := vectors.Gaussian(vectors.Rand(1), n, dim)
	e, o := over(t, rows, dim, &collection.Options{Metric: collection.Euclidean})
	denied := []int64{11, 12}
	req := batch.Request{Queries: rows[:m*dim], K: k, Method: batch.Exact, ExcludeSelf: true, Exclude: denied, Epsilon: .5, Relative: true}
	for _, x := range []struct {
		name    string
		change  func(a *batch.Answer)
		want    string // malformed
		exceeds string
		missed  bool
	}{
		{"nothing", func(*batch.Answer) {}, "", "", false},
		{"a vector that is denied", func(a *batch.Answer) { a.IDs[0] = denied[1] }, "not allowed", "", false},
		{"itself", func(a *batch.Answer) { a.IDs[0] = bad }, "the query itself", "", false},
		{"a score", func(a *batch.Answer) { a.Scores[k-1] *= 1.01 }, "scores", "", false},
		{"one too few", func(a *batch.Answer) { a.IDs, a.Scores = a.IDs[1:], a.Scores[1:] }, "3 vectors where 4", "", false},
		{"a gap that nobody asked for", func(a *batch.Answer) { a.Certificate.Epsilon *= 1.001 }, "", "epsilon", false},
		{"a delta that nobody asked for", func(a *batch.Answer) {
			a.Certificate.Guarantee, a.Certificate.Exact, a.Certificate.Delta = batch.GuaranteeProbabilistic, false, .011
		}, "", "delta 0.011 where at most 0.01", false},
		{"no guarantee", func(a *batch.Answer) { a.Certificate.Guarantee = "" }, "certificate: guarantee", "", false},
		{"an unknown law", func(a *batch.Answer) { a.Certificate.Law = "jungle" }, "certificate: law", "", false},
		{"a worse vector", func(a *batch.Answer) {
			a.Certificate.Epsilon = 0
			q := rows[bad*dim : (bad+1)*dim]
			far := farthest(t, o, q)
			a.IDs[k-1], a.Scores[k-1] = int64(far), distance(q, rows[far*dim:(far+1)*dim])
		}, "", "", true},
	} {
		resp, err := e.Search(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		x.change(&resp.Answers[bad])
		r := report(t, o, req, resp)
		f := r.Findings[bad]
		if !strings.Contains(f.Exceeds, x.exceeds) || (f.Exceeds == "") != (x.exceeds == "") {
			t.Errorf("%s: finding %+v", x.name, f)
		}
		if (f.Malformed == "") != (x.want == "") || !strings.Contains(f.Malformed, x.want) || (len(f.Missed) > 0) != x.missed {
			t.Errorf("%s: finding %+v", x.name, f)
		}
		malformed, wrong, missed := int64(0), int64(0), int64(0)
		if x.want != "" {
			malformed = 1
		}
		if x.missed {
			missed = 1
		}
		if x.missed || x.exceeds != "" {
			wrong = 1
		}
		if r.Malformed != malformed || r.Wrong != wrong || r.WrongSure != missed || int64(r.Neighbourhoods) != missed {
			t.Errorf("%s: %+v", x.name, r)
		}
	}
}

// farthest is the atom of least score for q.
func farthest(t *testing.T, o *verify.Oracle, q []float32) int {
	t.Helper()
	far := -1
	err := o.Each(t.Context(), q, func(_ int, s *verify.Scores) { far = slices.Index(s.Search, slices.Min(s.Search)) })
	if err != nil {
		t.Fatal(err)
	}
	return far
}

func distance(q, v []float32) float32 {
	var d float64
	for i := range q {
		e := float64(q[i]) - float64(v[i])
		d += e * e
	}
	return float32(d)
}

// TestRequired: answers of a search that promises less than is required are wrong.
func TestRequired(t *testing.T) {
	const n, dim, m, k = 300, 20, 6, 4
	rows := vectors.Gaussian(vectors.Rand(1), n, dim)
	e, o := over(t, rows, dim, &collection.Options{Metric: collection.InnerProduct})
	exact, probabilistic := batch.GuaranteeExact, batch.GuaranteeProbabilistic
	for _, x := range []struct {
		epsilon            float64
		guarantee, require batch.Guarantee
		wrong              bool
	}{
		{0, exact, exact, false}, {.1, exact, exact, true}, {.1, exact, batch.GuaranteeCertain, false},
		{0, probabilistic, exact, true}, {0, probabilistic, batch.GuaranteeCertain, true}, {0, probabilistic, probabilistic, false},
		{0, batch.GuaranteeHeuristic, probabilistic, true}, {0, batch.GuaranteeHeuristic, "", false},
	} {
		req := batch.Request{Queries: rows[:m*dim], K: k, Method: batch.Exact, Epsilon: x.epsilon}
		resp, err := e.Search(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for j := range resp.Answers {
			c := &resp.Answers[j].Certificate
			c.Guarantee, c.Exact = x.guarantee, x.guarantee == exact
		}
		r, err := verify.Judge(t.Context(), o, req, resp, verify.Terms{Bar: verify.Bar{Require: x.require}})
		if err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		if x.wrong {
			want = m
		}
		if r.Exceeding != want || r.Wrong != want || (r.Verdict(false) != nil) != x.wrong {
			t.Errorf("%+v: %+v", x, r.Tally)
		}
	}
	req := batch.Request{Queries: rows[:dim], K: k}
	if _, err := verify.Judge(t.Context(), o, req, &batch.Response{Answers: make([]batch.Answer, 1)}, verify.Terms{Bar: verify.Bar{Require: batch.GuaranteeHeuristic}}); err == nil {
		t.Error("heuristic is no guarantee to require")
	}
}

func TestResponseRefuses(t *testing.T) {
	const dim = 4
	rows := vectors.Gaussian(vectors.Rand(1), 10, dim)
	_, o := over(t, rows, dim, &collection.Options{Metric: collection.InnerProduct})
	two := &batch.Response{Answers: make([]batch.Answer, 2)}
	if _, err := verify.Response(t.Context(), o, batch.Request{Queries: rows[:3*dim], K: 1}, two); err == nil {
		t.Error("no error from 2 answers to 3 queries")
	}
	var refused *batch.RequestError
	if _, err := verify.Response(t.Context(), o, batch.Request{Queries: rows[:2*dim]}, two); !errors.As(err, &refused) {
		t.Errorf("%v from a request of no vectors", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	many := &batch.Response{Answers: make([]batch.Answer, 1000)}
	if _, err := verify.Response(ctx, o, batch.Request{Queries: slices.Repeat(rows, 100), K: 1}, many); !errors.Is(err, context.Canceled) {
		t.Errorf("%v from a context that has ended", err)
	}
}
