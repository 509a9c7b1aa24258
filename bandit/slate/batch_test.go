package slate_test

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

	"thresher/bandit/slate"
)

// fewer leaves out the one figure by which a Batch differs.
var fewer = cmpopts.IgnoreFields(slate.Slate{}, "Evaluations")

// oneByOne is what a Batch must return.
func oneByOne(t interface {
	Helper()
	Fatal(...any)
}, c *slate.Constraint, users []*slate.Estimator, o slate.Options) []slate.Slate {
	t.Helper()
	p := slate.NewPlanner(c)
	out := make([]slate.Slate, len(users))
	for i, u := range users {
		var err error
		if out[i], err = p.Recommend(u, o); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// drawVectors is n*d numbers in [0,1], with ties as often as not.
func drawVectors(t *rapid.T, n, d int) []float64 {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "vectors"), 0))
	kind := rapid.SampledFrom([]string{"sets", "coarse", "topics", "dense", "magnitudes"}).Draw(t, "kind")
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
		}
	}
	return x
}

// drawItems has costs, groups and their constraint.
func drawItems(t *rapid.T, objective slate.Objective) (*slate.Items, *slate.Constraint) {
	n := objective.Size()
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "costs"), 0))
	a := slate.Attributes{Knapsacks: rapid.IntRange(0, 3).Draw(t, "knapsacks")}
	coarse := rapid.Bool().Draw(t, "coarse costs")
	for range n * a.Knapsacks {
		x := r.Float64()
		if coarse {
			x = float64(r.IntN(4)) / 4 // with zeros
		}
		a.Costs = append(a.Costs, x)
	}
	limits := slate.Limits{Length: rapid.IntRange(1, 6).Draw(t, "length")}
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
	items, err := slate.NewItems(objective, a)
	if err != nil {
		t.Fatal(err)
	}
	c, err := items.Constrain(limits)
	if errors.Is(err, slate.ErrEmpty) {
		t.Skip("no item is allowed")
	}
	if err != nil {
		t.Fatal(err)
	}
	return items, c
}

// drawUsers are cold, warm, and so sure of some features that M is next to
// singular.
func drawUsers(t *rapid.T, items *slate.Items, most int) []*slate.Estimator {
	users := make([]*slate.Estimator, rapid.IntRange(1, most).Draw(t, "users"))
	for i := range users {
		lambda := rapid.SampledFrom([]float64{1, 1, 0.1, 30, 1e-9}).Draw(t, "lambda")
		u, err := slate.NewEstimator(items.Objective().Features(), lambda)
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
		users[i] = u
	}
	return users
}

func drawOptions(t *rapid.T) slate.Options {
	return slate.Options{
		Algorithm: rapid.SampledFrom([]slate.Algorithm{
			slate.AFSM, slate.AFSM, slate.AFSM, slate.LSBGreedy, slate.ModifiedGreedy, slate.BetterGreedy, slate.Random,
		}).Draw(t, "algorithm"),
		Greedy:  rapid.Bool().Draw(t, "greedy"),
		Epsilon: rapid.SampledFrom([]float64{0.05, 0.2, 1}).Draw(t, "epsilon"),
		Lowest:  rapid.SampledFrom([]float64{0.001, 0.05, 1}).Draw(t, "lowest"),
		Confidence: slate.Confidence{
			Rule: rapid.SampledFrom([]slate.Rule{slate.Determinant, slate.Tuned, slate.Fixed}).Draw(t, "rule"),
			Base: rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "base"),
		},
	}
}

// TestBatchIsOneByOne compares a Batch with the planning of one user after the
// other: the same slates, bit by bit.
func TestBatchIsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 120).Draw(t, "n"), rapid.IntRange(1, 6).Draw(t, "d")
		objective, err := slate.NewCoverage(n, d, drawVectors(t, n, d))
		if err != nil {
			t.Fatal(err)
		}
		items, c := drawItems(t, objective)
		users, o := drawUsers(t, items, 6), drawOptions(t)
		b, err := slate.NewBatch(items, slate.BatchOptions{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Recommend(context.Background(), c, users, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(oneByOne(t, c, users, o), got, fewer); diff != "" {
			t.Fatalf("one by one, batch:\n%s", diff)
		}
		for _, s := range got {
			if err := c.Check(s.Items()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

var _ = slices.Clone[[]int]
var _ = fmt.Sprint
