package slate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"thresher/internal/draws"
)

// fewer ignores the one figure in which a Many differs.
var fewer = cmpopts.IgnoreFields(Slate{}, "Evaluations")

// drawVectors draws n*d numbers in [0,1], with many ties half of the time.
func drawVectors(t *rapid.T, n, d int) []float64 {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "vectors"), 0))
	kind := rapid.SampledFrom([]string{"sets", "coarse", "topics", "dense", "magnitudes", "vanishing", "almost"}).Draw(t, "kind")
	x := make([]float64, n*d)
	for i := range x {
		switch kind {
		case "sets":
			x[i] = float64(r.IntN(2))
		case "coarse":
			x[i] = float64(r.IntN(3)) / 4
		case "topics":
			if r.IntN(d) == 0 {
				x[i] = 0.5 + 0.3*r.Float64()
			}
		case "dense":
			x[i] = r.Float64()
		case "magnitudes":
			x[i] = rapid.SampledFrom([]float64{0, 1, 1e-8, 1e-30, 1e-60, 1e-300}).Draw(t, "x") * r.Float64()
		case "vanishing": // their squares underflow
			x[i] = math.Pow(10, -150-13*r.Float64())
		case "almost": // so do the squares of what a few of them leave
			x[i] = 1 - math.Pow(10, -5-11*r.Float64())
		}
	}
	return x
}

// drawItems draws costs, groups and their constraint.
func drawItems(t *rapid.T, objective Objective) (*Items, *Constraint) {
	n := objective.Size()
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "costs"), 0))
	a := Attributes{Knapsacks: rapid.IntRange(0, 3).Draw(t, "knapsacks")}
	coarse := rapid.Bool().Draw(t, "coarse costs")
	for range n * a.Knapsacks {
		x := r.Float64()
		if coarse {
			x = float64(r.IntN(4)) / 4 // with zeros
		}
		a.Costs = append(a.Costs, x)
	}
	limits := Limits{Length: rapid.IntRange(1, 6).Draw(t, "length")}
	for range a.Knapsacks {
		limits.Budgets = append(limits.Budgets, rapid.SampledFrom([]float64{0.3, 1, 3}).Draw(t, "budget"))
	}
	if rapid.Bool().Draw(t, "groups") {
		a.GroupCount = 4
		a.Groups = make([][]int, n)
		limits.Groups = map[int]int{0: 1, 1: 2, 3: r.IntN(2)}
		for e := range n {
			a.Groups[e] = r.Perm(4)[:r.IntN(3)]
		}
	}
	items, err := NewItems(objective, a)
	if err != nil {
		t.Fatal(err)
	}
	c, err := items.Constrain(limits)
	if errors.Is(err, ErrEmpty) {
		t.Skip("no item is allowed")
	}
	if err != nil {
		t.Fatal(err)
	}
	return items, c
}

// drawUsers draws users who are cold, warm, or so certain of some features that M is
// nearly singular.
func drawUsers(t *rapid.T, items *Items, most int) []*Estimator {
	users := make([]*Estimator, rapid.IntRange(1, most).Draw(t, "users"))
	for i := range users {
		lambda := rapid.SampledFrom([]float64{1, 1, 0.1, 30, 1e-9}).Draw(t, "lambda")
		u, err := NewEstimator(items.Objective().Features(), lambda)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "rewards"), 0))
		for range rapid.SampledFrom([]int{0, 1, 3, 20}).Draw(t, "rounds") {
			list := r.Perm(items.Size())
			list = list[:min(len(list), 1+r.IntN(4))]
			rewards := make([]float64, r.IntN(len(list)+1))
			for j := range rewards {
				rewards[j] = float64(r.IntN(2)) - 0.2*r.Float64()
			}
			if err := u.Observe(items, list, rewards); err != nil {
				t.Fatal(err)
			}
		}
		if rapid.IntRange(0, 19).Draw(t, "near singular") == 0 {
			x := make([]float64, items.Objective().Features())
			for g := range x {
				x[g] = 1e12
			}
			must(0, u.Update(x, []float64{1}))
		}
		users[i] = u
	}
	return users
}

func drawOptions(t *rapid.T) Options {
	return Options{
		Epsilon: rapid.SampledFrom([]float64{0.05, 0.2, 1}).Draw(t, "epsilon"),
		Lowest:  rapid.SampledFrom([]float64{0.001, 0.05, 1, 100}).Draw(t, "lowest"), // 100 excludes all items
		Highest: 100,
		Confidence: Confidence{
			Rule: rapid.SampledFrom([]Rule{Determinant, Information, Tuned, Fixed}).Draw(t, "rule"),
			Base: rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "base"),
		},
	}
}

// everyAlgorithm returns the algorithms that a Many has bounds for, and one without.
func everyAlgorithm(o Options) []Options {
	all := make([]Options, 6)
	for i, a := range []Algorithm{AFSM, AFSM, LSBGreedy, ModifiedGreedy, BetterGreedy, Random} {
		all[i] = o
		all[i].Algorithm, all[i].Greedy = a, i == 1
	}
	return all
}

// compare asserts that a Many gives the same slates as planning one user after another,
// bit for bit.
func compare(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, b *Many, c *Constraint, users []*Estimator, o Options) []Slate {
	t.Helper()
	p := NewPlanner(c)
	want := make([]Slate, len(users))
	for i, u := range users {
		want[i] = must(p.Recommend(u, o))
	}
	got, err := b.Recommend(context.Background(), c, users, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, fewer); diff != "" {
		t.Fatalf("%+v: one by one -, many +\n%s", o, diff)
	}
	return got
}

func TestBatchIsOneByOne(t *testing.T) {
	var lists, lengths, filtered, unfiltered, fallbacks int
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 120).Draw(t, "n"), rapid.IntRange(1, 6).Draw(t, "d")
		items, c := drawItems(t, must(NewCoverage(n, d, drawVectors(t, n, d))))
		users, o := drawUsers(t, items, 6), drawOptions(t)
		b := must(NewMany(items, ManyOptions{Workers: 1}))
		for _, o := range everyAlgorithm(o) {
			for i, s := range compare(t, b, c, users, o) {
				if err := c.Check(s.Items()); err != nil {
					t.Fatal(err)
				}
				lists++
				lengths += len(s.Picks)
				if s.Rho > 0 && !slices.Equal(s.Items(), must(Recommend(c, users[i], Options{Algorithm: LSBGreedy, Confidence: o.Confidence})).Items()) {
					filtered++
				}
				if len(s.Picks) == 0 {
					t.Fatalf("%+v: nothing", o)
				}
				if o.Algorithm == AFSM && !o.Greedy && s.Rho == 0 {
					unfiltered++
				}
				if !newCeilings(1, d)[0].set(users[i], s.Beta, make([]float64, d*d)) {
					fallbacks++
				}
			}
		}
	})
	t.Logf("%d lists of %.1f items, %d made by filters, %d where they let nothing pass, %d without bounds",
		lists, float64(lengths)/float64(lists), filtered, unfiltered, fallbacks)
	if !draws.Usual() {
		return
	}
	if lengths < 2*lists || filtered < lists/50 || unfiltered < lists/50 || fallbacks == 0 || fallbacks > lists/5 {
		t.Error("the cases have become too easy to say much")
	}
}

// The same for many cells, with few scores computed: most items are excluded by bounds,
// and runs of many thresholds share nodes.
func TestBatchOfMarkets(t *testing.T) {
	for kind, share := range map[string]float64{"news": 0.03, "films": 0.03, "dense": 0.07} {
		t.Run(kind, func(t *testing.T) {
			items, c := market(t, kind, 400)
			users := append(readers(t, items, 2, 0), readers(t, items, 2, 20)...)
			b := must(NewMany(items, ManyOptions{}))
			scored, all := 0, 0
			p := NewPlanner(c)
			for _, o := range everyAlgorithm(Options{Confidence: Confidence{Rule: Tuned}}) {
				for i, s := range compare(t, b, c, users, o) {
					if o.Algorithm == AFSM && !o.Greedy {
						scored += s.Evaluations
						all += must(p.Recommend(users[i], o)).Evaluations
					}
				}
			}
			t.Logf("%d of %d scores", scored, all)
			if float64(scored) > share*float64(all) {
				t.Errorf("%d of %d scores computed, more than %v of them", scored, all, share)
			}
		})
	}
}

// Objectives that are not separable are planned user by user in the same call.
func TestBatchOfAnyObjective(t *testing.T) {
	r := newRand(3, 0)
	for _, in := range instances(r, 40) {
		t.Run(in.name, func(t *testing.T) {
			a, limits := randomLimits(r, 40)
			items := must(NewItems(in.o, a))
			c, err := items.Constrain(limits)
			if err != nil {
				t.Skip(err)
			}
			users := make([]*Estimator, 5)
			for i := range users {
				users[i] = must(NewEstimator(in.o.Features(), 1))
				for range i {
					must(0, users[i].Observe(items, r.Perm(40)[:4], uniform(r, 4, 0, 1)))
				}
			}
			b := must(NewMany(items, ManyOptions{}))
			for _, o := range everyAlgorithm(Options{}) {
				compare(t, b, c, users, o)
			}
		})
	}
}

// A slate depends on its user alone: not on the other users of the call, their order,
// repetitions or goroutines.
func TestBatchMates(t *testing.T) {
	defer goleak.VerifyNone(t)
	items, c := market(t, "films", 200)
	users := readers(t, items, 130, 3)
	for i := range 20 {
		users[i] = must(NewEstimator(18, 1))
	}
	o := Options{Greedy: true, Epsilon: 0.5, Confidence: Confidence{Rule: Tuned}}
	alone := must(NewMany(items, ManyOptions{Workers: 1}))
	want := make([]Slate, len(users))
	for i, u := range users {
		want[i] = must(alone.Recommend(context.Background(), c, []*Estimator{u}, o))[0]
	}
	r := newRand(4, 0)
	together := must(NewMany(items, ManyOptions{Workers: 3}))
	for range 3 {
		order := append(r.Perm(len(users)), r.Perm(len(users))[:30]...)
		call := make([]*Estimator, len(order))
		for i, k := range order {
			call[i] = users[k]
		}
		got := must(together.Recommend(context.Background(), c, call, o))
		for i, k := range order {
			if diff := cmp.Diff(want[k], got[i]); diff != "" { // including Evaluations
				t.Fatalf("user %d: alone -, together +\n%s", k, diff)
			}
		}
		got[0].Picks[0].Item = -1
		if want[order[0]].Picks[0].Item < 0 || slices.ContainsFunc(got[1:], func(s Slate) bool { return s.Picks[0].Item < 0 }) {
			t.Fatal("slates share their picks")
		}
	}
}

// counted is a Scorer that calls a function at its n-th call.
type counted struct {
	Scorer
	calls *atomic.Int64
	at    int64
	do    func() error
}

func (s counted) Score(ctx context.Context, dst, linear, square []float32) error {
	if s.calls.Add(1) == s.at {
		if err := s.do(); err != nil {
			return err
		}
	}
	return s.Scorer.Score(ctx, dst, linear, square)
}

func TestBatchStops(t *testing.T) {
	defer goleak.VerifyNone(t)
	items, c := market(t, "news", 300)
	users := readers(t, items, 300, 1)
	broken := errors.New("the device is gone")
	for _, workers := range []int{1, 3} {
		for _, canceled := range []bool{false, true} {
			ctx, cancel := context.WithCancel(context.Background())
			want := broken
			do := func() error { return broken }
			if canceled {
				want = context.Canceled
				do = func() error { cancel(); return nil }
			}
			calls := new(atomic.Int64)
			b := must(NewMany(items, ManyOptions{Workers: workers, Scorer: func(d int, matrix []float32) Scorer {
				return counted{NewScorer(d, matrix), calls, 5, do}
			}}))
			slates, err := b.Recommend(ctx, c, users, Options{})
			if !errors.Is(err, want) || slates != nil {
				t.Errorf("%d workers: %d slates, error %v, want %v", workers, len(slates), err, want)
			}
			if n := calls.Load(); n > 5+int64(workers) {
				t.Errorf("%d workers: %d calls of the Scorer, after the fifth nothing was left to do", workers, n)
			}
			cancel()
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := must(NewMany(items, ManyOptions{}))
	for _, a := range []Algorithm{AFSM, Random} {
		if slates, err := b.Recommend(ctx, c, users, Options{Algorithm: a}); !errors.Is(err, context.Canceled) || slates != nil {
			t.Errorf("%s: %d slates, error %v", a, len(slates), err)
		}
	}
}

func TestBatchErrors(t *testing.T) {
	items, c := market(t, "news", 20)
	_, other := market(t, "news", 20)
	good, narrow := must(NewEstimator(18, 1)), must(NewEstimator(17, 1))
	b := must(NewMany(items, ManyOptions{}))
	for _, x := range []struct {
		c     *Constraint
		users []*Estimator
		o     Options
		want  string
	}{
		{nil, nil, Options{}, "no constraint"},
		{other, nil, Options{}, "other items"},
		{c, []*Estimator{good, nil}, Options{}, "user 1: no estimator"},
		{c, []*Estimator{good, good, narrow}, Options{}, "user 2: estimator of 17 features, items of 18"},
		{c, []*Estimator{good}, Options{Algorithm: "best"}, `"best"`},
		{c, []*Estimator{good}, Options{Epsilon: 1e-7}, "thresholds"},
		{c, []*Estimator{good}, Options{Confidence: Confidence{Delta: 2}}, "delta 2"},
		{c, []*Estimator{good}, Options{Algorithm: MCSGreedy, Confidence: Confidence{Delta: 2}}, "delta 2"},
	} {
		slates, err := b.Recommend(context.Background(), x.c, x.users, x.o)
		if err == nil || !strings.Contains(err.Error(), x.want) || slates != nil {
			t.Errorf("%d slates, error %v, want %q", len(slates), err, x.want)
		}
	}
	if _, err := NewMany(nil, ManyOptions{}); err == nil {
		t.Error("no items are fine")
	}
	if _, err := NewMany(items, ManyOptions{Workers: -1}); err == nil {
		t.Error("-1 workers are fine")
	}
	if slates, err := b.Recommend(context.Background(), c, nil, Options{}); err != nil || slates == nil || len(slates) != 0 {
		t.Errorf("no users: %v, %v", slates, err)
	}
}

// Allocations grow with users, not with items, thresholds or steps.
func TestBatchAllocations(t *testing.T) {
	const users = 64
	for _, n := range []int{50, 500} {
		items, c := market(t, "news", n)
		b := must(NewMany(items, ManyOptions{Workers: 1}))
		u := readers(t, items, users, 2)
		got := testing.AllocsPerRun(1, func() {
			must(b.Recommend(context.Background(), c, u, Options{Greedy: true, Epsilon: 1, Confidence: Confidence{Rule: Tuned}}))
		})
		// For each user: its picks, their growth, their copy and the grid; for the block about a
		// hundred slices.
		if most := float64(10*users + 300); got > most {
			t.Errorf("%d items: %v allocations, more than %v", n, got, most)
		}
	}
}
