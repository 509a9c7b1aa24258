package papers

import (
	"math"
	"testing"
	"thresher/bandit"
	"thresher/internal/draws"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// One look against its definition: {i : mean + C >= k-th largest (mean - C)},
// with the means and variances of two passes over the rewards.
func TestDropIsItsDefinition(t *testing.T) {
	dropped := 0
	rapid.Check(t, func(t *rapid.T) {
		n, s := rapid.IntRange(2, 12).Draw(t, "n"), rapid.IntRange(2, 40).Draw(t, "s")
		k := rapid.IntRange(1, n-1).Draw(t, "k")
		spread := rapid.SampledFrom([]Spread{SigmaGiven, EmpiricalBernstein}).Draw(t, "spread")
		level := rapid.SliceOfN(rapid.Float64Range(0, 1), n, n).Draw(t, "level")
		wobble := rapid.SliceOfN(rapid.Float64Range(0, .02), n, n).Draw(t, "wobble")
		arms, err := NewComputed(n, s, func(i, j int) float64 {
			return math.Max(0, level[i]-wobble[i]*math.Abs(math.Sin(float64(i+7*j))))
		})
		if err != nil {
			t.Fatal(err)
		}
		// The width is understated so that few rewards already separate arms; the
		// loop is told of it without the check that would refuse it.
		opt := BanditMIPSOptions{K: k, Delta: .5, Spread: spread, Sigma: .05, Lo: 0, Hi: 1}
		e, err := newElimination(arms, opt)
		if err != nil {
			t.Fatal(err)
		}
		e.coords = &orderedCoordinates{order: allArms(s)}
		for range s {
			if err := e.pull(); err != nil {
				t.Fatal(err)
			}
		}
		e.rule.hi = .01
		means, radii, lower := make([]float64, n), make([]float64, n), make([]float64, n)
		squares := make([]float64, n)
		for i := range n {
			for j := range s {
				means[i] += arms.reward(i, j) / float64(s)
			}
			for j := range s {
				squares[i] += math.Pow(arms.reward(i, j)-means[i], 2)
			}
			radii[i] = e.rule.radius(s, squares[i]/float64(s-1))
			lower[i] = means[i] - radii[i]
		}
		_, best := ranked(allArms(n), lower, k)
		want := []int{}
		for i := range n {
			gap := means[i] + radii[i] - best[k-1]
			if math.Abs(gap) < 1e-9 {
				t.Skip("on the border, where rounding decides")
			}
			if gap > 0 {
				want = append(want, i)
			}
		}
		e.drop()
		if !cmp.Equal(e.alive, want) {
			t.Fatalf("survivors %v, want %v", e.alive, want)
		}
		if e.dropped != (len(want) < n) {
			t.Fatalf("dropped = %v with %d of %d left", e.dropped, len(want), n)
		}
		for p, i := range e.alive {
			if math.Abs(e.mean(p)-means[i]) > 1e-12 {
				t.Fatalf("arm %d has the mean %v, want %v", i, e.mean(p), means[i])
			}
			if spread == EmpiricalBernstein && math.Abs(e.squares[p]-squares[i]) > 1e-12 {
				t.Fatalf("arm %d has the squares %v, want %v", i, e.squares[p], squares[i])
			}
		}
		dropped += n - len(want)
	})
	if draws.Usual() && dropped < 10 {
		t.Errorf("only %d arms dropped in all cases: the test sees nothing", dropped)
	}
}

// A run that stops early has dropped arms, exactly k are left, and scores are d
// times the means.
func TestEarlyStopLeavesK(t *testing.T) {
	const n, d, k = 20, 100000, 4
	arms, err := NewComputed(n, d, func(i, j int) float64 { return float64(i) + float64(j%3-1) })
	if err != nil {
		t.Fatal(err)
	}
	out := mustBanditMIPS(t, arms, BanditMIPSOptions{K: k, Delta: .01, Spread: SigmaGiven, Sigma: 1, Seed: 3})
	if !cmp.Equal(out.IDs, []int{19, 18, 17, 16}) {
		t.Errorf("answer %v", out.IDs)
	}
	last := out.Rounds[len(out.Rounds)-1]
	if out.ScoresExact || out.Exact || last.Survivors != k || last.Coordinates >= d/10 {
		t.Errorf("outcome %+v", out)
	}
	for p, i := range out.IDs {
		radius := bandit.MeanRadius(1, n, last.Coordinates, .01)
		if math.Abs(out.Scores[p]/d-float64(i)) > radius {
			t.Errorf("arm %d has the mean %v, radius %v", i, out.Scores[p]/d, radius)
		}
	}
}

// Arms whose rewards are all the same have no variance, whatever their means round
// to: none may drop out for a radius that is not a number.
func TestEqualRewardsHaveARadius(t *testing.T) {
	const arms, dim = 64, 40
	same, err := NewComputed(arms, dim, func(i, j int) float64 { return float64(i%7) / 7 })
	if err != nil {
		t.Fatal(err)
	}
	e, err := newElimination(same, BanditMIPSOptions{K: 1, Delta: .5, Spread: EmpiricalBernstein, Sigma: .05, Lo: 0, Hi: 1})
	if err != nil {
		t.Fatal(err)
	}
	e.coords = &orderedCoordinates{order: allArms(dim)}
	for range dim {
		if err := e.pull(); err != nil {
			t.Fatal(err)
		}
		for p := range e.alive {
			if r := e.radius(p, 0); !(r >= 0) {
				t.Fatalf("arm %d has the radius %v after %d rewards, its squares are %v", p, r, e.s, e.squares[p])
			}
		}
	}
}
