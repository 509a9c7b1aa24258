package slate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// oracle implements every algorithm as published, without shortcuts: all scores from
// scratch for every item, list and threshold.
type oracle struct {
	c    *Constraint
	user *Estimator
	beta float64
}

func (o oracle) score(list []int, e int) (mean, width float64) {
	d := o.user.Features()
	l := o.c.Items().Objective().NewList()
	for _, e := range list {
		l.Append(e)
	}
	x := make([]float64, d)
	l.Gains(x, e)
	return o.user.Mean(x), o.beta * o.user.Deviation(x, make([]float64, d))
}

// grow appends the item of the largest key, the smallest id among equals, while there is one.
func (o oracle) grow(keys func(list []int, e int, ucb float64) (admitted bool, key []float64)) Slate {
	s := Slate{Picks: []Pick{}}
	for {
		list := s.Items()
		var best Pick
		var bestKey []float64
		for e := range o.c.Items().Size() {
			if o.c.Check(append(slices.Clone(list), e)) != nil {
				continue
			}
			mean, width := o.score(list, e)
			if ok, key := keys(list, e, mean+width); ok && (bestKey == nil || slices.Compare(key, bestKey) > 0) {
				best, bestKey = Pick{Item: e, Mean: mean, Width: width}, key
			}
		}
		if bestKey == nil {
			s.UCB = s.Value + 3*s.Width
			return s
		}
		s.Value += best.Mean
		s.Width += best.Width
		best.Value = s.Value
		s.Picks = append(s.Picks, best)
	}
}

func (o oracle) gm(rho float64) Slate {
	return o.grow(func(_ []int, e int, ucb float64) (bool, []float64) {
		mean, width := o.score(nil, e)
		least := rho * o.c.Cost(e)
		return ucb >= least && mean+width >= least, []float64{ucb}
	})
}

func (o oracle) plain() Slate {
	return o.grow(func(_ []int, _ int, ucb float64) (bool, []float64) { return true, []float64{ucb} })
}

func (o oracle) perCost() Slate {
	return o.grow(func(_ []int, e int, ucb float64) (bool, []float64) {
		if cost := o.c.Cost(e); cost > 0 {
			return true, []float64{ucb / cost, ucb}
		}
		return true, []float64{math.Inf(1), ucb}
	})
}

// afsm is the plain loop of Algorithm 2, with thresholds increasing.
func (o oracle) afsm(opt Options) Slate {
	r := 2 / float64(o.c.K()+2*o.c.Knapsacks()+1)
	best := Slate{UCB: math.Inf(-1)}
	for rho := r * opt.Lowest / (1 + opt.Epsilon); rho <= r*opt.Highest*float64(o.c.Length()); rho *= 1 + opt.Epsilon {
		if s := o.gm(rho); s.UCB >= best.UCB {
			best = s
			best.Rho = rho
		}
	}
	if opt.Greedy {
		for _, s := range []Slate{o.plain(), o.perCost()} {
			if s.UCB > best.UCB {
				best = s
			}
		}
	}
	if len(best.Picks) == 0 {
		return o.plain()
	}
	return best
}

// scene is a random constraint and a user.
type scene struct {
	instance
	a Attributes
	l Limits
	c *Constraint
	u *Estimator
}

// newScene rounds many figures, so that ties occur.
func newScene(r *rand.Rand, n int) scene {
	for {
		all := instances(r, n)
		s := scene{instance: all[r.IntN(len(all))]}
		s.a, s.l = randomLimits(r, n)
		if r.IntN(2) == 0 {
			for i, x := range s.a.Costs {
				s.a.Costs[i] = math.Round(4*x) / 4
			}
		}
		var err error
		if s.c, err = must(NewItems(s.o, s.a)).Constrain(s.l); err != nil {
			continue // no item is left
		}
		s.u = must(NewEstimator(s.o.Features(), 0.5+r.Float64()))
		for range r.IntN(4) {
			list := r.Perm(n)[:1+r.IntN(3)]
			must(0, s.u.Observe(s.c.Items(), list, uniform(r, len(list), -0.3, 1)))
		}
		return s
	}
}

// The accelerated algorithms give the lists and figures of the plain ones, to the last
// bit.
func TestPlannerIsThePaper(t *testing.T) {
	rounds := 1500
	if testing.Short() {
		rounds = 200
	}
	r := newRand(8, 0)
	reruns, fallbacks, lists := 0, 0, map[string]bool{}
	for i := range rounds {
		s := newScene(r, 3+r.IntN(8))
		o := Options{
			Epsilon: 0.1 + r.Float64(), Lowest: 0.01 + 0.1*r.Float64(), Highest: 0.5 + r.Float64(), Greedy: r.IntN(2) == 0,
			Confidence: Confidence{Rule: Fixed, Base: r.Float64()},
		}
		if r.IntN(2) == 0 {
			o.Lowest = o.Highest * r.Float64() // the filters exclude good items to the end
		}
		if r.IntN(8) == 0 {
			o.Lowest, o.Highest = 50, 100 // the filters exclude all items with a cost
		}
		or := oracle{s.c, s.u, o.Confidence.Base}
		plain, perCost := or.plain(), or.perCost()
		wider := plain
		if perCost.UCB > plain.UCB {
			wider = perCost
		}
		p := NewPlanner(s.c)
		for _, c := range []struct {
			a    Algorithm
			want Slate
		}{{AFSM, or.afsm(o)}, {LSBGreedy, plain}, {ModifiedGreedy, perCost}, {BetterGreedy, wider}} {
			o.Algorithm = c.a
			got := must(p.Recommend(s.u, o))
			if got.Evaluations < 1 || got.Beta != or.beta || got.Alpha != 0 || got.Algorithm != c.a {
				t.Fatalf("scene %d, %s: %+v", i, c.a, got)
			}
			got.Evaluations, got.Beta, got.Algorithm = 0, 0, ""
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatalf("scene %d (%s), %s: plain -, planner +\n%s", i, s.name, c.a, diff)
			}
			if c.a == AFSM && got.Rho > 0 && len(got.Picks) != len(plain.Picks) {
				reruns++
			}
			if len(got.Picks) == 0 {
				t.Fatalf("scene %d, %s: nothing", i, c.a)
			}
			if c.a == AFSM && !o.Greedy && got.Rho == 0 {
				fallbacks++
			}
			lists[fmt.Sprint(c.a, got.Items())] = true
		}
	}
	t.Logf("%d lists, %d of AFSM are of another length than the greedy one", len(lists), reruns)
	if reruns < rounds/50 || fallbacks < rounds/50 {
		t.Errorf("AFSM differs from the greedy list in %d of %d scenes and falls back to it in %d: too alike to compare", reruns, rounds, fallbacks)
	}
}

// MCSGreedy agrees with its definition.
func TestMCSGreedyIsTheDefinition(t *testing.T) {
	r := newRand(9, 0)
	for i := range 60 {
		s := newScene(r, 3+r.IntN(5))
		or := oracle{s.c, s.u, 0.4}
		n := s.c.Items().Size()
		best := Slate{Picks: []Pick{}, Width: math.Inf(-1)}
		take := func(seed []int) {
			if s.c.Check(seed) != nil {
				return
			}
			got := or.grow(func(list []int, e int, ucb float64) (bool, []float64) {
				if len(list) < len(seed) {
					return e == seed[len(list)], []float64{0}
				}
				if len(seed) < 3 {
					return false, nil
				}
				if cost := s.c.Cost(e); cost > 0 {
					return true, []float64{ucb / cost, ucb}
				}
				return true, []float64{math.Inf(1), ucb}
			})
			if got.Value+got.Width > best.Value+best.Width {
				best = got
			}
		}
		for a := range n {
			take([]int{a})
			for b := a + 1; b < n; b++ {
				take([]int{a, b})
				for c := b + 1; c < n; c++ {
					take([]int{a, b, c})
				}
			}
		}
		got := must(NewPlanner(s.c).Recommend(s.u, Options{Algorithm: MCSGreedy, Confidence: Confidence{Rule: Fixed, Base: 0.4}}))
		if got.Value+got.Width != best.Value+best.Width {
			t.Fatalf("scene %d: %v of %v, want %v of %v", i, got.Items(), got.Value+got.Width, best.Items(), best.Value+best.Width)
		}
	}
}

// Every list of every algorithm is allowed, by the definition; nothing more fits, except
// for AFSM, whose filters may end a list.
func TestListsKeepTheLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 9).Draw(t, "n")
		s := newScene(newRand(10, rapid.Uint64().Draw(t, "scene")), n)
		a := rapid.SampledFrom([]Algorithm{AFSM, LSBGreedy, ModifiedGreedy, BetterGreedy, MCSGreedy, Random}).Draw(t, "algorithm")
		o := Options{Algorithm: a, Greedy: rapid.Bool().Draw(t, "greedy"), Seed: rapid.Uint64().Draw(t, "seed")}
		got := must(Recommend(s.c, s.u, o))
		list := got.Items()
		ok := allowed(s.a, s.l)
		if !ok(setOf(list)) || s.c.Check(list) != nil {
			t.Fatalf("%s: list %v within %+v", a, list, s.l)
		}
		for e := range n {
			if (a == LSBGreedy || a == ModifiedGreedy || a == Random) && !in(setOf(list), e) && ok(setOf(list)|1<<e) {
				t.Fatalf("%s: item %d fits behind %v", a, e, list)
			}
		}
		var value, width float64
		for _, p := range got.Picks {
			value += p.Mean
			width += p.Width
			if p.Value != value {
				t.Fatalf("value %v, means add up to %v", p.Value, value)
			}
		}
		if got.Value != value || got.Width != width || got.UCB != value+3*width {
			t.Fatalf("%+v does not add up", got)
		}
		if again := must(Recommend(s.c, s.u, o)); !reflect.DeepEqual(got, again) {
			t.Fatalf("%+v, again %+v", got, again)
		}
	})
}

// A planner gives what a new one gives, whatever it did before.
func TestPlannersForget(t *testing.T) {
	r := newRand(11, 0)
	algorithms := []Algorithm{AFSM, LSBGreedy, Random, ModifiedGreedy, MCSGreedy, BetterGreedy}
	for range 20 {
		s := newScene(r, 8)
		p := NewPlanner(s.c)
		for range 12 {
			o := Options{Algorithm: algorithms[r.IntN(len(algorithms))], Greedy: true, Round: r.Uint64()}
			if got, want := must(p.Recommend(s.u, o)), must(Recommend(s.c, s.u, o)); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %+v, a new planner %+v", o.Algorithm, got, want)
			}
		}
	}
}

// Ties go to the smallest id.
func TestTiesGoToTheSmallestID(t *testing.T) {
	x := make([]float64, 6)
	for e := range x {
		x[e] = 0.5
	}
	it := must(NewItems(must(NewCoverage(6, 1, x)), Attributes{Knapsacks: 1, Costs: make([]float64, 6)}))
	c := must(it.Constrain(Limits{Length: 3, Budgets: []float64{1}}))
	for _, a := range []Algorithm{AFSM, LSBGreedy, ModifiedGreedy, MCSGreedy} {
		got := must(Recommend(c, must(NewEstimator(1, 1)), Options{Algorithm: a}))
		if !slices.Equal(got.Items(), []int{0, 1, 2}) {
			t.Errorf("%s: %v", a, got.Items())
		}
	}
}

// Random takes each item that fits with the same probability: 6000 first picks of six,
// each 1000 +- 29; with random seeds six standard deviations would fail once in 10^8
// tests.
func TestRandomIsUniform(t *testing.T) {
	c := must(must(NewItems(blank(6), Attributes{})).Constrain(Limits{Length: 2}))
	p, u := NewPlanner(c), must(NewEstimator(1, 1))
	var first, second [6]int
	for round := range 6000 {
		list := must(p.Recommend(u, Options{Algorithm: Random, Seed: 3, Round: uint64(round)})).Items()
		first[list[0]]++
		second[list[1]]++
	}
	for e := range first {
		if math.Abs(float64(first[e])-1000) > 6*29 || math.Abs(float64(second[e])-1000) > 6*29 {
			t.Errorf("item %d: first %d times, second %d times", e, first[e], second[e])
		}
	}
}

func TestRecommendRefuses(t *testing.T) {
	c := must(must(NewItems(blank(MCSLimit+1), Attributes{})).Constrain(Limits{Length: 2}))
	u := must(NewEstimator(1, 1))
	for i, x := range []struct {
		o    Options
		want string
	}{
		{Options{Algorithm: "best"}, `unknown algorithm "best"`},
		{Options{Epsilon: -1}, "epsilon -1"},
		{Options{Epsilon: math.NaN()}, "epsilon NaN"},
		{Options{Lowest: 2}, "lowest 2 and highest 1"},
		{Options{Lowest: -1}, "lowest -1"},
		{Options{Highest: math.Inf(1)}, "highest +Inf"},
		{Options{Epsilon: 1e-9}, "thresholds"},
		{Options{Epsilon: 1e-17, Lowest: 1}, "epsilon 1e-17 is not in [1e-09, 1e+60]"}, // 1+1e-17 is 1
		{Options{Confidence: Confidence{Delta: 2}}, "delta 2"},
		{Options{Algorithm: MCSGreedy}, "48 items at most, there are 49"},
	} {
		if _, err := Recommend(c, u, x.o); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("case %d: %v, want one with %q", i, err, x.want)
		}
	}
	if _, err := Recommend(c, must(NewEstimator(2, 1)), Options{}); err == nil || !strings.Contains(err.Error(), "estimator of 2 features, items of 1") {
		t.Error(err)
	}
	if _, err := Recommend(nil, u, Options{}); err == nil || !strings.Contains(err.Error(), "no constraint") {
		t.Error(err)
	}
	if _, err := Recommend(c, nil, Options{}); err == nil || !strings.Contains(err.Error(), "no estimator") {
		t.Error(err)
	}
	p := NewPlanner(c)
	for _, w := range [][]float64{nil, {-1}, {math.NaN()}} {
		if _, err := p.Known(w, Options{}); err == nil {
			t.Errorf("weights %v: no error", w)
		}
	}
}

// Alpha is stated only if the intervals are proven.
func TestAlphaIsStatedWhereItHolds(t *testing.T) {
	c := must(must(NewItems(blank(3), Attributes{})).Constrain(Limits{}))
	for _, x := range []struct {
		lambda float64
		o      Options
		want   float64
	}{
		{1, Options{}, 1 / (1.2 * 2)},
		{1e-6, Options{}, 1 / (1.2 * 2)},
		{1, Options{Epsilon: 1, Confidence: Confidence{Rule: Information}}, 0.25},
		{0.99, Options{Confidence: Confidence{Rule: Information}}, 0},
		{1, Options{Confidence: Confidence{Rule: Tuned}}, 0},
		{1, Options{Confidence: Confidence{Rule: Fixed}}, 0},
		{1, Options{Algorithm: LSBGreedy}, 0},
	} {
		if got := must(Recommend(c, must(NewEstimator(1, x.lambda)), x.o)); got.Alpha != x.want {
			t.Errorf("lambda %v, %+v: alpha %v, want %v", x.lambda, x.o, got.Alpha, x.want)
		}
	}
}

// If figures contradict Lowest or Highest there is no Alpha; a list is still returned and
// something is learned from it.
func TestWrongBoundsOfTheBestItem(t *testing.T) {
	it := must(NewItems(must(NewCoverage(3, 1, []float64{1, 1, 0.5})), Attributes{Knapsacks: 1, Costs: []float64{1, 1, 1}}))
	c := must(it.Constrain(Limits{Budgets: []float64{1}}))
	for _, x := range []struct {
		weight, lowest, highest float64
		promised                bool
	}{{0.5, 0.5, 0.5, true}, {0.5, 0.1, 1, true}, {1e-3, 0.05, 1, false}, {0.5, 0.6, 1, false}, {0.5, 0.1, 0.4, false}} {
		got := must(NewPlanner(c).Known([]float64{x.weight}, Options{Lowest: x.lowest, Highest: x.highest}))
		if !slices.Equal(got.Items(), []int{0}) || (got.Alpha > 0) != x.promised {
			t.Errorf("%+v: list %v, alpha %v", x, got.Items(), got.Alpha)
		}
	}
	u := must(NewEstimator(1, 1))
	for _, greedy := range []bool{false, true} {
		got := must(Recommend(c, u, Options{Lowest: 1e3, Highest: 1e4, Greedy: greedy}))
		if !slices.Equal(got.Items(), []int{0}) || got.Alpha != 0 || got.Rho != 0 {
			t.Errorf("greedy %v: %+v", greedy, got)
		}
	}
}

// Long lists without filters take memory proportional to items, not to items times
// positions.
func TestLongListsTakeLittleMemory(t *testing.T) {
	const n = 500
	c := must(must(NewItems(must(NewCoverage(n, 1, uniform(newRand(16, 0), n, 0, 1))), Attributes{})).Constrain(Limits{}))
	for _, a := range []Algorithm{LSBGreedy, ModifiedGreedy, BetterGreedy, Random} {
		p := NewPlanner(c)
		if got := must(p.Recommend(must(NewEstimator(1, 1)), Options{Algorithm: a})); len(got.Picks) != n {
			t.Errorf("%s: %d items", a, len(got.Picks))
		}
		held := cap(p.rest.items)
		for _, l := range p.steps {
			held += cap(l.items)
		}
		if held > 6*n {
			t.Errorf("%s: scratch for %d items, there are %d", a, held, n)
		}
	}
}

// Scoring does not allocate: a call's allocations do not grow with the number of items.
func TestScoringAllocatesNothing(t *testing.T) {
	var counts [2]float64
	for i, n := range []int{50, 400} {
		r := newRand(12, 0)
		vectors, costs := news(r, n, 6)
		copy(costs, uniform(r, 50, 0.3, 1)) // the same lists, of the first items
		for e := 50; e < n; e++ {
			clear(vectors[e*6 : (e+1)*6])
			costs[e] = 1
		}
		it := must(NewItems(must(NewCoverage(n, 6, vectors)), Attributes{Knapsacks: 1, Costs: costs}))
		p, u := NewPlanner(must(it.Constrain(Limits{Length: 4, Budgets: []float64{2}}))), must(NewEstimator(6, 1))
		counts[i] = testing.AllocsPerRun(20, func() { must(p.Recommend(u, Options{})) })
	}
	if counts[0] != counts[1] {
		t.Errorf("%v allocations for 50 items, %v for 400", counts[0], counts[1])
	}
}

// Lower thresholds admit item 0, which has the value of item 1 and precedes it; item 1
// shares a group of limit 1 with item 2.
func TestTiesAreReopened(t *testing.T) {
	it := must(NewItems(must(NewCoverage(3, 2, []float64{1, 0, 1, 0, 0, 0.8})), Attributes{
		Knapsacks: 1, Costs: []float64{0.6, 0.1, 0.3}, GroupCount: 1, Groups: [][]int{{}, {0}, {0}},
	}))
	c := must(it.Constrain(Limits{Budgets: []float64{1}, Groups: map[int]int{0: 1}}))
	got := must(NewPlanner(c).Known([]float64{0.5, 0.5}, Options{}))
	if !slices.Equal(got.Items(), []int{0, 2}) {
		t.Errorf("list %v, want items 0 and 2", got.Items())
	}
}
