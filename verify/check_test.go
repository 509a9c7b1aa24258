package verify

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/collection"
)

// answered computes the correct answers to queries and calls visit with each and its scores,
// one after the other.
func answered(t *testing.T, o *Oracle, queries []float32, k int, visit func(j int64, s *Scores, a batch.Answer)) {
	t.Helper()
	o.threads = 1
	err := o.Each(t.Context(), queries, func(j int, s *Scores) {
		a := batch.Answer{Certificate: batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Delta: .01}}
		for _, i := range ranking(s.Search, k, nil, -1, nil) {
			score, _ := s.reported(i)
			a.IDs = append(a.IDs, int64(i))
			a.Scores = append(a.Scores, float32(score))
		}
		visit(int64(j), s, a)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkOf(t *testing.T, o *Oracle, req batch.Request) *Check {
	t.Helper()
	c, err := NewCheck(o, req)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wrong(f Finding) bool { return len(f.Missed) > 0 }

func TestCheckAcceptsTheTruth(t *testing.T) {
	const n, d, m, k = 50, 9, 6, 5
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		for _, scale := range []float32{1e-44, 1e-18, 1, 1e15} {
			atoms, queries := gaussian(1, n, d), gaussian(2, m, d)
			for i := range atoms {
				atoms[i] *= scale
			}
			o := oracle(t, atoms, d, metric, 1)
			c := checkOf(t, o, batch.Request{K: k})
			answered(t, o, queries, k, func(j int64, s *Scores, a batch.Answer) {
				if f := c.Answer(s, j, &a); f.Malformed != "" || wrong(f) || f.Trials != 1 || f.Failures != 0 {
					t.Errorf("%v, scale %g, query %d: %+v", metric, scale, j, f)
				}
			})
		}
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	const n, d, k = 50, 9, 5
	atoms, queries := gaussian(1, n, d), gaussian(2, 1, d)
	o := oracle(t, atoms, d, collection.InnerProduct, 1)
	c := checkOf(t, o, batch.Request{K: k})
	// next returns the atom of rank k+1; worse replaces the atom of rank k by it.
	next := func(s *Scores) int { return ranking(s.Search, k+1, nil, -1, nil)[k] }
	worse := func(a *batch.Answer, s *Scores) {
		a.IDs[k-1], a.Scores[k-1] = int64(next(s)), float32(s.Search[next(s)])
	}
	// struck removes the best few atoms and marks the search as stopped.
	struck := func(a *batch.Answer, few int, open float64) {
		a.IDs, a.Scores = a.IDs[few:], a.Scores[few:]
		a.Certificate.StoppedBy, a.Certificate.OpenBound = batch.Deadline, &open
	}
	cases := []struct {
		name      string
		change    func(a *batch.Answer, s *Scores)
		malformed string
		wrong     bool
	}{
		{"nothing", func(*batch.Answer, *Scores) {}, "", false},
		{"an id below the range", func(a *batch.Answer, _ *Scores) { a.IDs[2] = -1 }, "outside [0, 50)", false},
		{"an id above the range", func(a *batch.Answer, _ *Scores) { a.IDs[2] = n }, "outside [0, 50)", false},
		{"an id twice", func(a *batch.Answer, _ *Scores) { a.IDs[2] = a.IDs[1] }, "twice", false},
		{"a wrong score", func(a *batch.Answer, _ *Scores) { a.Scores[0] *= 1.001 }, "scores", false},
		{"a score that is none", func(a *batch.Answer, _ *Scores) { a.Scores[4] = float32(math.NaN()) }, "scores", false},
		{"too few", func(a *batch.Answer, _ *Scores) { a.IDs, a.Scores = a.IDs[:4], a.Scores[:4] }, "4 vectors where 5", false},
		{"too many", func(a *batch.Answer, s *Scores) {
			a.IDs, a.Scores = append(a.IDs, int64(next(s))), append(a.Scores, float32(s.Search[next(s)]))
		}, "6 vectors where 5", false},
		{"scores missing", func(a *batch.Answer, _ *Scores) { a.Scores = a.Scores[:3] }, "3 scores for 5 ids", false},
		{"scores not known", func(a *batch.Answer, _ *Scores) { a.Scores = nil }, "", false},
		{"wrong order", func(a *batch.Answer, _ *Scores) {
			a.IDs[0], a.IDs[1] = a.IDs[1], a.IDs[0]
			a.Scores[0], a.Scores[1] = a.Scores[1], a.Scores[0]
		}, "rank 2 scores better than rank 1", false},
		{"the best left away", worse, "", true},
		{"within epsilon", func(a *batch.Answer, s *Scores) {
			a.Certificate.Epsilon = float64(a.Scores[k-1]) - s.Search[next(s)] + 1e-6
			worse(a, s)
		}, "", false},
		{"partial with a true bound", func(a *batch.Answer, s *Scores) { struck(a, 3, s.Search[a.IDs[0]]) }, "", false},
		{"partial with a false bound", func(a *batch.Answer, s *Scores) { struck(a, 2, s.Search[a.IDs[1]]) }, "", true},
		{"partial within epsilon", func(a *batch.Answer, s *Scores) {
			a.Certificate.Epsilon = float64(a.Scores[k-1]) - s.Search[next(s)] + 1e-6
			worse(a, s)
			struck(a, 0, s.Search[next(s)])
		}, "", false},
		{"partial without a bound", func(a *batch.Answer, s *Scores) {
			struck(a, 2, 0)
			a.Certificate.OpenBound = nil
		}, "no open bound", false},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			answered(t, o, queries, k, func(j int64, s *Scores, a batch.Answer) {
				x.change(&a, s)
				f := c.Answer(s, j, &a)
				if wrong(f) != x.wrong || (x.malformed == "") != (f.Malformed == "") || !strings.Contains(f.Malformed, x.malformed) {
					t.Errorf("finding %+v, want malformed %q, wrong %v", f, x.malformed, x.wrong)
				}
				if wrong(f) && (f.Gap <= 0 || f.Failures != 1) {
					t.Errorf("finding %+v does not say by how much, or of how many promises", f)
				}
				if f.Short != (x.name == "too few") {
					t.Errorf("finding %+v: short %v", f, f.Short)
				}
			})
		})
	}
}

// TestCheckOfGaps: a gap between squared distances is twice the gap between search scores.
func TestCheckOfGaps(t *testing.T) {
	o := oracle(t, []float32{0, 10}, 1, collection.Euclidean, 1)
	c := checkOf(t, o, batch.Request{K: 1})
	for epsilon, want := range map[float64]bool{19.9: true, 20.1: false} {
		answered(t, o, []float32{4}, 1, func(j int64, s *Scores, a batch.Answer) {
			a.IDs[0], a.Scores[0], a.Certificate.Epsilon = 1, 36, epsilon // the best has 16
			if f := c.Answer(s, j, &a); wrong(f) != want || f.Malformed != "" {
				t.Errorf("epsilon %g: %+v", epsilon, f)
			}
		})
	}
}

// TestCheckExcusesRounding: an atom may replace another if their scores differ by less than
// the margin, and not otherwise.
func TestCheckExcusesRounding(t *testing.T) {
	for _, x := range []struct {
		second float32
		wrong  bool
	}{{1, false}, {1 - 1.0/(1<<23), true}} {
		o := oracle(t, []float32{1, 1e-18, x.second, 0, 0, 0}, 2, collection.InnerProduct, 1)
		c := checkOf(t, o, batch.Request{K: 1})
		answered(t, o, []float32{1, 1}, 1, func(j int64, s *Scores, a batch.Answer) {
			a.IDs[0], a.Scores[0] = 1, x.second
			if f := c.Answer(s, j, &a); wrong(f) != x.wrong {
				t.Errorf("second best %g: wrong %v, want %v", x.second, wrong(f), x.wrong)
			}
		})
	}
}

// TestCheckExcusesSums: with l2, float64 sums prefer one of two atoms that differ only in the
// order of their entries. Both are accepted for a query too short to distinguish them, but no
// atom that is longer by a millionth in one entry.
func TestCheckExcusesSums(t *testing.T) {
	const dim = 64
	rows := make([]float32, 3*dim)
	for j := range dim {
		v := float32(1e-8) // its square vanishes in a sum with 1
		if j == 0 {
			v = 1
		}
		rows[j], rows[2*dim-1-j], rows[2*dim+j] = v, v, v
	}
	rows[2*dim] += 1.0 / (1 << 20)
	o := oracle(t, rows, dim, collection.Euclidean, 1)
	c := checkOf(t, o, batch.Request{K: 1})
	q := make([]float32, dim)
	q[0] = 1e-20
	answered(t, o, q, 1, func(j int64, s *Scores, a batch.Answer) {
		if s.Search[0] == s.Search[1] {
			t.Fatalf("both orders sum to %v: the test shows nothing", s.Search[0])
		}
		for id := range 3 {
			a.IDs[0] = int64(id)
			score, _ := s.reported(id)
			a.Scores[0] = float32(score)
			if f := c.Answer(s, j, &a); wrong(f) != (id == 2) || f.Malformed != "" {
				t.Errorf("vector %d: finding %+v", id, f)
			}
		}
	})
}

func TestCheckOfLeastScore(t *testing.T) {
	limit := 2.5
	o := oracle(t, []float32{1, 2, 3, 4, 5}, 1, collection.InnerProduct, 1)
	c := checkOf(t, o, batch.Request{MinScore: &limit})
	answered(t, o, []float32{1}, 3, func(j int64, s *Scores, a batch.Answer) {
		if f := c.Answer(s, j, &a); wrong(f) || f.Malformed != "" || f.Trials != 3 {
			t.Errorf("right answer: %+v", f)
		}
		lacks := a
		lacks.IDs, lacks.Scores = slices.Delete(slices.Clone(a.IDs), 1, 2), slices.Delete(slices.Clone(a.Scores), 1, 2)
		if f := c.Answer(s, j, &lacks); !slices.Equal(f.Missed, []int64{3}) || f.Trials != 3 || f.Failures != 1 {
			t.Errorf("a vector left away: %+v", f)
		}
		more := a
		more.IDs, more.Scores = append(slices.Clone(a.IDs), 1), append(slices.Clone(a.Scores), 2)
		if f := c.Answer(s, j, &more); !strings.Contains(f.Malformed, "beyond the limit") {
			t.Errorf("a vector too many: %+v", f)
		}
	})
}

// TestCheckOfLeastScoreAndGap: k atoms that reach the least score, some within rounding, may be
// worse than others by the allowed gap.
func TestCheckOfLeastScoreAndGap(t *testing.T) {
	limit := 3.0
	o := oracle(t, []float32{3, 3, 3.05, 3.2}, 1, collection.InnerProduct, 1)
	c := checkOf(t, o, batch.Request{K: 2, MinScore: &limit})
	err := o.Each(t.Context(), []float32{1}, func(_ int, s *Scores) {
		for _, x := range []struct {
			ids     []int64
			epsilon float64
			missed  []int64
		}{
			{[]int64{3, 2}, 0, nil}, {[]int64{3, 0}, .1, nil}, {[]int64{0, 1}, .25, nil},
			{[]int64{0, 1}, .01, []int64{3, 2}}, {[]int64{0, 1}, 0, []int64{3, 2}}, {[]int64{3}, .1, []int64{2}},
		} {
			for _, stop := range []batch.Stop{batch.Done, batch.Deadline} {
				if stop != batch.Done && len(x.missed) > 0 {
					continue
				}
				open := s.Search[x.ids[len(x.ids)-1]]
				a := batch.Answer{IDs: x.ids, Certificate: batch.Certificate{Epsilon: x.epsilon, StoppedBy: stop, OpenBound: &open}}
				if f := c.Answer(s, 0, &a); f.Malformed != "" || !slices.Equal(f.Missed, x.missed) {
					t.Errorf("vectors %v, gap %g, %s: %+v", x.ids, x.epsilon, stop, f)
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	// only one atom clearly reaches the least score
	o = oracle(t, []float32{3, 3, 3.05, 1}, 1, collection.InnerProduct, 1)
	c = checkOf(t, o, batch.Request{K: 2, MinScore: &limit})
	err = o.Each(t.Context(), []float32{1}, func(_ int, s *Scores) {
		for epsilon, missed := range map[float64][]int64{.1: nil, .01: {2}, 0: {2}} {
			a := batch.Answer{IDs: []int64{0, 1}, Certificate: batch.Certificate{Epsilon: epsilon}}
			if f := c.Answer(s, 0, &a); f.Malformed != "" || !slices.Equal(f.Missed, missed) {
				t.Errorf("one clearly there, gap %g: %+v", epsilon, f)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCheckExcusesTheLimit: atoms whose score equals the least score within rounding may be
// returned or not.
func TestCheckExcusesTheLimit(t *testing.T) {
	for _, x := range []struct {
		metric collection.Metric
		query  float32
		limit  float64
		clear  int64
	}{{collection.InnerProduct, 1, 3, 2}, {collection.Euclidean, 0, 9, 3}} {
		o := oracle(t, []float32{3, 3 - 1.0/(1<<22), 5, 2}, 1, x.metric, 1)
		c := checkOf(t, o, batch.Request{MinScore: &x.limit})
		err := o.Each(t.Context(), []float32{x.query}, func(_ int, s *Scores) {
			for _, ids := range [][]int64{{x.clear}, {x.clear, 0}, {x.clear, 1}, {x.clear, 0, 1}} {
				if f := c.Answer(s, 0, &batch.Answer{IDs: ids}); f.Malformed != "" || wrong(f) || f.Trials != 1 {
					t.Errorf("%v: vectors %v: %+v", x.metric, ids, f)
				}
			}
			if f := c.Answer(s, 0, &batch.Answer{IDs: []int64{0, 1}}); !slices.Equal(f.Missed, []int64{x.clear}) {
				t.Errorf("%v: without the clear one: %+v", x.metric, f)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckOfSelves(t *testing.T) {
	for first := range int64(2) {
		o := oracle(t, []float32{1, 2}, 1, collection.InnerProduct, 1)
		c := checkOf(t, o, batch.Request{K: 2, ExcludeSelf: true, SelfFirst: first})
		answered(t, o, []float32{1}, 2, func(j int64, s *Scores, a batch.Answer) {
			if f := c.Answer(s, j, &a); !strings.Contains(f.Malformed, "query itself") {
				t.Errorf("finding %+v", f)
			}
			// only the other atom can be returned
			a.IDs, a.Scores = []int64{1 - first}, []float32{float32(2 - first)}
			if f := c.Answer(s, j, &a); f.Malformed != "" || wrong(f) {
				t.Errorf("finding %+v", f)
			}
		})
	}
}

// TestCheckOfFilters: disallowed atoms do not count among the k best and must not be returned.
func TestCheckOfFilters(t *testing.T) {
	o := oracle(t, []float32{1, 2, 3, 4, 5}, 1, collection.InnerProduct, 1)
	for _, x := range []struct {
		name        string
		allow, deny []int64
		right       []int64 // the 2 best
		not         int64   // a disallowed atom
	}{
		{"filter", []int64{0, 3, 1, 3}, nil, []int64{3, 1}, 4},
		{"exclude", nil, []int64{4, 2, 4}, []int64{3, 1}, 2},
		{"both", []int64{0, 4, 2}, []int64{4}, []int64{2, 0}, 4},
		{"one", []int64{1}, nil, []int64{1}, 3},
		{"none", []int64{}, nil, nil, 4},
	} {
		c := checkOf(t, o, batch.Request{K: 2, Filter: x.allow, Exclude: x.deny})
		err := o.Each(t.Context(), []float32{1}, func(_ int, s *Scores) {
			if f := c.Answer(s, 0, &batch.Answer{IDs: x.right}); f.Malformed != "" || wrong(f) {
				t.Errorf("%s: right answer: %+v", x.name, f)
			}
			if f := c.Answer(s, 0, &batch.Answer{IDs: []int64{x.not}}); !strings.Contains(f.Malformed, "not allowed") {
				t.Errorf("%s: vector %d: %+v", x.name, x.not, f)
			}
			if x.name == "filter" {
				if f := c.Answer(s, 0, &batch.Answer{IDs: []int64{3, 0}}); !slices.Equal(f.Missed, []int64{1}) {
					t.Errorf("%s: vector 0 for vector 1: %+v", x.name, f)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	o := oracle(t, []float32{1, 2, 3}, 1, collection.InnerProduct, 1)
	for _, x := range []struct {
		req  batch.Request
		want string
	}{
		{batch.Request{}, "k: 0, at least 1"},
		{batch.Request{K: -1, MinScore: new(float64)}, "k: -1, at least 1"},
		{batch.Request{K: 1, Filter: []int64{2, 3}}, "filter: entry 1: row 3 of 3"},
		{batch.Request{K: 1, Exclude: []int64{-1}}, "exclude: entry 0: row -1 of 3"},
		{batch.Request{Goals: []batch.QueryGoal{{K: 1}, {K: 1, Filter: []int64{0, 1 << 20}}}}, "filter: query 1: entry 1: row 1048576 of 3"},
		{batch.Request{Goals: []batch.QueryGoal{{K: 1, Exclude: []int64{3}}}}, "exclude: query 0: entry 0: row 3 of 3"},
	} {
		_, err := NewCheck(o, x.req)
		var refused *batch.RequestError
		if !errors.As(err, &refused) || err.Error() != x.want {
			t.Errorf("%v, want %s", err, x.want)
		}
	}
}

func TestCheckCertificate(t *testing.T) {
	nan := math.NaN()
	for _, x := range []struct {
		c    batch.Certificate
		want string
	}{
		{batch.Certificate{Guarantee: batch.GuaranteeExact}, ""},
		{batch.Certificate{Guarantee: batch.GuaranteeCertain, Epsilon: 3}, ""},
		{batch.Certificate{Guarantee: batch.GuaranteeHeuristic, Delta: .5}, ""},
		{batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Law: batch.LawOrder, Delta: .01}, ""},
		{batch.Certificate{}, `guarantee "" is none`},
		{batch.Certificate{Guarantee: batch.GuaranteeExact, Delta: .5}, "guarantee exact, which cannot fail, and delta 0.5"},
		{batch.Certificate{Guarantee: batch.GuaranteeCertain, Delta: .01, StoppedBy: batch.Done}, "guarantee certain, which cannot fail, and delta 0.01"},
		{batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Delta: .01, Exact: true}, ""}, // a dense scan in its place
		{batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Law: "jungle"}, `law "jungle" is none`},
		{batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Delta: 1}, "out of range"},
		{batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Delta: nan}, "out of range"},
		{batch.Certificate{Guarantee: batch.GuaranteeExact, Epsilon: -1}, "out of range"},
		{batch.Certificate{Guarantee: batch.GuaranteeExact, Epsilon: nan}, "out of range"},
	} {
		err := CheckCertificate(&x.c)
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v, want %q", x.c, err, x.want)
		}
	}
}
