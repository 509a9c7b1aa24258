package batch_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/race"
	"thresher/verify"
)

// goalsCase is a collection with queries and goals of every kind.
type goalsCase struct {
	c   *collection.Collection
	req batch.Request
}

func drawGoalsCase(t *rapid.T) goalsCase {
	dim := rapid.SampledFrom([]int{3, 16, 40}).Draw(t, "dim")
	n := rapid.IntRange(1, 300).Draw(t, "n")
	m := rapid.IntRange(1, 9).Draw(t, "m")
	whole := rapid.Bool().Draw(t, "whole numbers") // ties and duplicates
	draw := func(rows int, name string) []float32 {
		v := make([]float32, rows*dim)
		if whole {
			for i := range v {
				v[i] = float32(rapid.IntRange(-2, 2).Draw(t, name))
			}
			return v
		}
		seed := rapid.Uint64().Draw(t, name)
		for i := range v {
			seed = seed*6364136223846793005 + 1442695040888963407
			v[i] = float32(int32(seed>>33)) / (1 << 30)
		}
		return v
	}
	metric := rapid.SampledFrom([]collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean}).Draw(t, "metric")
	basis := rapid.SampledFrom([]collection.Basis{collection.Rotated, collection.Raw}).Draw(t, "basis")
	c, err := collection.Build(context.Background(), draw(n, "atom"), dim, &collection.Options{Metric: metric, Basis: basis, Seed: 1, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	rows := rapid.SliceOfN(rapid.Int64Range(0, int64(n-1)), 0, 2*n)
	methods := []batch.Method{batch.Auto, batch.Exact, batch.Certain}
	switch {
	case basis == collection.Raw:
		methods = append(methods, batch.Strict)
	case c.Coded():
		methods = append(methods, batch.Adaptive)
	}
	req := batch.Request{Queries: draw(m, "query"), K: rapid.IntRange(1, n+3).Draw(t, "k"), Goals: make([]batch.QueryGoal, m),
		Method: rapid.SampledFrom(methods).Draw(t, "method"), Delta: 1e-9}
	if m <= n && rapid.Bool().Draw(t, "exclude self") {
		req.ExcludeSelf, req.SelfFirst = true, int64(rapid.IntRange(0, n-m).Draw(t, "self"))
		if rapid.Bool().Draw(t, "own rows") {
			req.SelfFirst, req.Selves = 0, rapid.SliceOfN(rapid.Int64Range(0, int64(n-1)), m, m).Draw(t, "selves")
		}
	}
	if rapid.Bool().Draw(t, "denied") {
		req.Exclude = rows.Draw(t, "exclude")
	}
	limit := rapid.Float64Range(-1, 3)
	if metric == collection.Euclidean {
		limit = rapid.Float64Range(0, 10)
	}
	shared := rapid.Bool().Draw(t, "limits of the request")
	if shared {
		x := limit.Draw(t, "greatest score")
		req.MaxScore = &x
	}
	for j := range req.Goals {
		g := &req.Goals[j]
		if rapid.Bool().Draw(t, "limited above") {
			x := limit.Draw(t, "greatest score")
			if rapid.Bool().Draw(t, "at a vector's score") {
				x = metric.Shown(c.Score(req.Queries[j*dim:(j+1)*dim], rapid.IntRange(0, n-1).Draw(t, "vector at the limit")))
			}
			g.MaxScore = &x
		}
		if rapid.Bool().Draw(t, "own k") {
			g.K = rapid.IntRange(1, n+3).Draw(t, "goal's k")
		}
		if rapid.Bool().Draw(t, "limited") {
			x := limit.Draw(t, "least score")
			most := g.MaxScore
			if most == nil {
				most = req.MaxScore
			}
			if most == nil || metric.Ceiling(x) <= metric.Ceiling(*most) {
				g.MinScore = &x
			}
		}
		if rapid.Bool().Draw(t, "exclusions") {
			g.Exclude = rows.Draw(t, "exclude")
		}
		if rapid.Bool().Draw(t, "with candidates") {
			g.Candidates = rows.Draw(t, "candidates")
		}
		if g.MinScore != nil && rapid.Bool().Draw(t, "all that reach it") {
			g.K = 0
		}
	}
	if !slices.ContainsFunc(req.Goals, func(g batch.QueryGoal) bool { return g.MinScore == nil }) {
		req.K = 0 // for those without a k of their own: all that reach the least score
	}
	return goalsCase{c, req}
}

// TestGoalsEqualTheOracle: whatever the goals of a request's queries, each answer is that of
// float64 sums, and the one, with its certificate, that its query gets alone, by Engine and
// Coalescer.
func TestGoalsEqualTheOracle(t *testing.T) {
	b := cpu.New(cpu.Options{Threads: 2})
	defer b.Close()
	rapid.Check(t, func(t *rapid.T) { checkGoalsCase(t, b) }) // 100 requests, with 5 queries each on average
}

func checkGoalsCase(t *rapid.T, b backend.Backend) {
	ctx := context.Background()
	x := drawGoalsCase(t)
	e, err := batch.Open(ctx, x.c, b, &batch.Options{Costs: builtinCosts()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	x.req.Part = len(x.req.Goals) > 1 // plans depend on the number of queries otherwise
	resp, err := e.Search(ctx, x.req)
	if err != nil {
		t.Fatal(err)
	}
	o, err := verify.NewOracle(x.c.Rows, x.c.Dim, x.c.Metric, 1)
	if err != nil {
		t.Fatal(err)
	}
	report, err := verify.Response(ctx, o, x.req, resp)
	if err != nil {
		t.Fatal(err)
	}
	if report.Wrong+report.Malformed > 0 {
		t.Fatalf("%+v", report.Findings)
	}
	co := batch.NewCoalescer(e, nil)
	defer co.Close()
	shared, err := co.Search(ctx, x.req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(resp.Answers, shared.Answers); diff != "" {
		t.Fatalf("Coalescer (-Engine +Coalescer):\n%s", diff)
	}
	for j := range x.req.Goals {
		alone := x.req
		alone.Queries, alone.Goals = x.req.Queries[j*x.c.Dim:(j+1)*x.c.Dim], x.req.Goals[j:j+1]
		alone.SelfFirst += int64(j)
		if alone.Selves != nil {
			alone.SelfFirst, alone.Selves = 0, alone.Selves[j:j+1]
		}
		one, err := e.Search(ctx, alone)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(resp.Answers[j], one.Answers[0]); diff != "" {
			t.Fatalf("query %d (-among others +alone):\n%s", j, diff)
		}
	}
}

// TestCandidatesSaveWork: with the right atoms as candidates no more is read than a look at whole rows reads without, which scores only
// what its bounds cannot separate from the answer, and wrong ones cost no more than their scores.
func TestCandidatesSaveWork(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, dim, m, k = 8192, 128, 16, 10
	ctx := context.Background()
	c, err := collection.Build(ctx, clusters(1, n, dim), dim, &collection.Options{Metric: collection.Cosine, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	e, err := batch.Open(ctx, c, b, &batch.Options{Costs: builtinCosts()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	req := batch.Request{Queries: clusters(2, m, dim), K: k, Method: batch.Certain}
	plain, err := e.Search(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name  string
		of    func(j int) []int64
		right int
		most  func(before int64) int64 // pulls of all queries
	}{
		{"right", func(j int) []int64 { return plain.Answers[j].IDs }, k, func(before int64) int64 { return before }},
		{"wrong", func(j int) []int64 { return worst(plain.Answers[j].IDs, n) }, 0, func(before int64) int64 { return before + m*k*dim }},
		{"repeated", func(j int) []int64 { return slices.Repeat(plain.Answers[j].IDs[:1], 50) }, 1, func(before int64) int64 { return before + m*dim }},
	} {
		req := req
		req.Goals = make([]batch.QueryGoal, m)
		for j := range req.Goals {
			req.Goals[j].Candidates = x.of(j)
		}
		resp, err := e.Search(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		for j := range resp.Answers {
			a, before := &resp.Answers[j], &plain.Answers[j]
			if diff := cmp.Diff(before.IDs, a.IDs); diff != "" {
				t.Errorf("%s, query %d (-without +with candidates):\n%s", x.name, j, diff)
			}
			r := a.Certificate.Candidates
			if r == nil || r.Right != x.right || r.Given != len(slices.Compact(slices.Sorted(slices.Values(x.of(j))))) {
				t.Errorf("%s, query %d: %+v, want %d right", x.name, j, r, x.right)
			}
		}
		if most := x.most(plain.Stats.Pulls); resp.Stats.Pulls > most {
			t.Errorf("%s: %d pulls, at most %d; %d without candidates", x.name, resp.Stats.Pulls, most, plain.Stats.Pulls)
		}
	}
}

// worst lists as many rows that are not among ids.
func worst(ids []int64, n int) []int64 {
	var out []int64
	for row := int64(0); len(out) < len(ids); row += int64(n / 50) {
		if !slices.Contains(ids, row) {
			out = append(out, row)
		}
	}
	return out
}

// clusters are points near 64 centres.
func clusters(seed uint64, n, dim int) []float32 {
	rows := make([]float32, n*dim)
	state := seed
	next := func() float64 {
		state = state*6364136223846793005 + 1442695040888963407
		return float64(int32(state>>32)) / (1 << 31)
	}
	for i := range n {
		for c := range dim {
			rows[i*dim+c] = float32(math.Sin(float64(i%64*dim+c)*12.9898) + .5*next())
		}
	}
	return rows
}

func TestGoalsRefuse(t *testing.T) {
	ctx := context.Background()
	c, err := collection.Build(ctx, clusters(1, 50, 16), 16, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw})
	if err != nil {
		t.Fatal(err)
	}
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	e, err := batch.Open(ctx, c, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	nan, none, less := math.NaN(), 0., -1.
	for _, x := range []struct {
		name   string
		change func(*batch.Request)
		field  string
		query  int
		want   string
	}{
		{"too few goals", func(r *batch.Request) { r.Goals = r.Goals[:2] }, "goals", -1, "2 for 3 queries"},
		{"k", func(r *batch.Request) { r.Goals[1].K = -2 }, "k", 1, "-2"},
		{"greatest score", func(r *batch.Request) { r.Goals[1].MaxScore = &nan }, "max_score", 1, "NaN"},
		{"greatest score of all", func(r *batch.Request) { r.MaxScore = &nan }, "max_score", -1, "NaN"},
		{"no score between", func(r *batch.Request) { r.MinScore, r.Goals[2].MaxScore = &none, &less }, "max_score", 2, "-1, but min_score is 0"},
		{"greatest score alone", func(r *batch.Request) { r.K = 0; r.Goals[1].MaxScore = &none }, "k", 0, "at least 1"},
		{"greatest score of a published method", func(r *batch.Request) { r.Method = batch.BanditMIPS; r.MaxScore = &none }, "max_score", -1, "banditmips"},
		{"later vectors of no vector", func(r *batch.Request) { r.LaterOnly = true }, "later_only", -1, "exclude_self"},
		{"no k", func(r *batch.Request) { r.K = 0; r.Goals[0].MinScore = &none }, "k", 1, "at least 1"},
		{"least score", func(r *batch.Request) { r.Goals[2].MinScore = &nan }, "min_score", 2, "NaN"},
		{"a candidate that does not exist", func(r *batch.Request) { r.Goals[2].Candidates = []int64{3, 50} }, "candidates", 2, "entry 1: row 50 of 50"},
		{"an exclusion that does not exist", func(r *batch.Request) { r.Goals[0].Exclude = []int64{-1} }, "exclude", 0, "entry 0: row -1 of 50"},
		{"of several k", func(r *batch.Request) { r.Goals[1].K = 5; r.Goals[2].Exclude = []int64{99} }, "exclude", 2, "row 99"},
		{"candidates of a published method", func(r *batch.Request) { r.Method = batch.BucketAE; r.Goals[0].Candidates = []int64{1} }, "candidates", -1, "bucket-ae"},
	} {
		req := batch.Request{Queries: clusters(2, 3, 16), K: 3, Goals: make([]batch.QueryGoal, 3)}
		x.change(&req)
		_, err := e.Search(ctx, req)
		var refused *batch.RequestError
		if !errors.As(err, &refused) || refused.Field != x.field || refused.Query != x.query || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

// searches counts the searches of an engine.
type searches struct {
	batch.Observer
	n int
}

func (s *searches) Searched(batch.Method, int, batch.Stats, time.Duration) { s.n++ }

// TestFiltersAreCheckedFirst: a filter that is refused is so before any query is searched, and once the context has ended
// the answers are empty.
func TestFiltersAreCheckedFirst(t *testing.T) {
	const n, m = 1 << 14, 64
	c := build(t, clusters(1, n, 16), 16, &collection.Options{Metric: collection.InnerProduct, NoCodes: true})
	seen := &searches{}
	e := over(t, c, 1, &batch.Options{Observer: seen})
	req := batch.Request{Queries: clusters(2, m, 16), K: 3, Goals: make([]batch.QueryGoal, m)}
	for j := range req.Goals {
		req.Goals[j].Filter = []int64{int64(j), n / 2}
	}
	req.Goals[m-1].Filter = []int64{1, n}
	_, err := e.Search(t.Context(), req)
	var refused *batch.RequestError
	if !errors.As(err, &refused) || refused.Field != "filter" || refused.Query != m-1 || seen.n != 0 {
		t.Errorf("%v after %d searches", err, seen.n)
	}
	req.Goals[m-1].Filter = []int64{1}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	resp, err := e.Search(ctx, req)
	if !errors.Is(err, context.Canceled) || resp == nil {
		t.Fatal(resp, err)
	}
	for j := range resp.Answers {
		if a := &resp.Answers[j]; len(a.IDs) != 0 || a.Certificate.StoppedBy != batch.Cancelled {
			t.Errorf("answer %d: %+v", j, a)
		}
	}
}

func builtinCosts() *backend.Costs {
	costs := backend.Describe(cpu.New(cpu.Options{Threads: 1})).Costs
	return &costs
}

// TestUselessCandidatesAreSampled: of many candidates that say less than a first chunk, most are
// never scored, and of good ones all are. Answers are those without candidates.
func TestUselessCandidatesAreSampled(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, dim, m, k = 8192, 128, 16, 48
	c, err := collection.Build(t.Context(), clusters(1, n, dim), dim, &collection.Options{Metric: collection.Cosine, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	e, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{Threads: 1}), &batch.Options{Costs: builtinCosts()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	req := batch.Request{Queries: clusters(2, m, dim), K: k, Method: batch.Certain, Plan: "whole,rescore"}
	plain := search(t, e, req)
	given := func(of func(j int) []int64) *batch.Response {
		req := req
		req.Goals = make([]batch.QueryGoal, m)
		for j := range req.Goals {
			req.Goals[j].Candidates = of(j)
		}
		resp := search(t, e, req)
		for j := range resp.Answers {
			if diff := cmp.Diff(plain.Answers[j].IDs, resp.Answers[j].IDs); diff != "" {
				t.Errorf("query %d: %s", j, diff)
			}
		}
		return resp
	}
	right := given(func(j int) []int64 { return plain.Answers[j].IDs })
	wrong := given(func(j int) []int64 { return worst(plain.Answers[j].IDs, n) })
	if more := wrong.Stats.RowsScored - plain.Stats.RowsScored; more > m*k/8 {
		t.Errorf("%d rows scored for useless candidates, want at most an eighth of %d", more, m*k)
	}
	if right.Stats.RowsScored < m*k || right.Stats.Pulls > plain.Stats.Pulls {
		t.Errorf("%+v with the right candidates, %+v without", right.Stats, plain.Stats)
	}
}
