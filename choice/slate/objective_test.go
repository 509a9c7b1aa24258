package slate

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// instance is an objective and, independently, its definition on sets.
type instance struct {
	name string
	o    Objective
	f    func(set uint, i int) float64
}

func in(set uint, e int) bool { return set>>e&1 == 1 }

// instances are small random objectives of all kinds, with n items.
func instances(r *rand.Rand, n int) []instance {
	return []instance{coverageOf(r, n), weightedOf(r, n), facilityOf(r, n), logDetOf(r, n)}
}

func coverageOf(r *rand.Rand, n int) instance {
	d := 1 + r.IntN(5)
	x := uniform(r, n*d, 0, 1)
	for i := range x {
		if r.IntN(3) == 0 {
			x[i] = float64(r.IntN(2)) // topics that no item changes and that one item settles
		}
	}
	if r.IntN(2) == 0 { // many equal items
		for i := range x {
			x[i] = math.Round(x[i])
		}
	}
	return instance{"coverage", must(NewCoverage(n, d, x)), func(set uint, g int) float64 {
		miss := 1.0
		for e := range n {
			if in(set, e) {
				miss *= 1 - x[e*d+g]
			}
		}
		return 1 - miss
	}}
}

func weightedOf(r *rand.Rand, n int) instance {
	d := 1 + r.IntN(4)
	elements := make([]Element, 1+r.IntN(12))
	for u := range elements {
		elements[u] = Element{Topic: r.IntN(d), Weight: r.Float64()}
	}
	sets := make([][]int, n)
	for e := range sets {
		sets[e] = r.Perm(len(elements))[:r.IntN(len(elements)+1)]
	}
	return instance{"weighted coverage", must(NewWeightedCoverage(d, elements, sets)), func(set uint, i int) float64 {
		covered := map[int]bool{}
		for e, s := range sets {
			if in(set, e) {
				for _, u := range s {
					covered[u] = true
				}
			}
		}
		var sum float64
		for u := range covered {
			if elements[u].Topic == i {
				sum += elements[u].Weight
			}
		}
		return sum
	}}
}

func facilityOf(r *rand.Rand, n int) instance {
	d := 1 + r.IntN(5)
	suits := uniform(r, n*d, 0, 2)
	return instance{"facility location", must(NewFacilityLocation(n, d, suits)), func(set uint, i int) float64 {
		best := 0.0
		for e := range n {
			if in(set, e) {
				best = max(best, suits[e*d+i])
			}
		}
		return best
	}}
}

func logDetOf(r *rand.Rand, n int) instance {
	d, p := 1+r.IntN(3), 1+r.IntN(4)
	z, relevance := uniform(r, n*p, -1, 1), uniform(r, n*d, 0, 3)
	return instance{"log-determinant", must(NewLogDet(n, d, p, z, relevance)), func(set uint, i int) float64 {
		a := mat.NewSymDense(p, nil)
		for j := range p {
			a.SetSym(j, j, 1)
		}
		for e := range n {
			if in(set, e) {
				a.SymRankOne(a, relevance[e*d+i], mat.NewVecDense(p, z[e*p:(e+1)*p]))
			}
		}
		ln, _ := mat.LogDet(a)
		return ln
	}}
}

// Gains are differences of the definition for any order of the list; they are monotone,
// submodular and within the bound. Lists can be reset and reused.
func TestGainsAreDifferences(t *testing.T) {
	const n = 6
	r := newRand(2, 0)
	for range 30 {
		for _, c := range instances(r, n) {
			t.Run(c.name, func(t *testing.T) { checkGains(t, r, c, n) })
		}
	}
}

func checkGains(t *testing.T, r *rand.Rand, c instance, n int) {
	d := c.o.Features()
	x, alone := make([]float64, d), make([]float64, d)
	l := c.o.NewList()
	for range 3 {
		l.Reset()
		var set uint
		for _, e := range r.Perm(n) {
			c.o.NewList().Gains(alone, e)
			l.Gains(x, e)
			for i := range d {
				want := c.f(set|1<<e, i) - c.f(set, i)
				if math.Abs(x[i]-want) > 1e-9 {
					t.Fatalf("feature %d of item %d after %b: %v, want %v", i, e, set, x[i], want)
				}
				if x[i] < 0 || x[i] > alone[i]+1e-9 {
					t.Fatalf("feature %d of item %d: gain %v after %b, %v alone", i, e, x[i], set, alone[i])
				}
			}
			if norm := math.Sqrt(dot(x, x)); norm > c.o.Bound()*(1+1e-9) {
				t.Fatalf("item %d: gain of norm %v, bound %v", e, norm, c.o.Bound())
			}
			l.Append(e)
			set |= 1 << e
		}
	}
}

func TestCoverageIsSeparable(t *testing.T) {
	r := newRand(3, 0)
	for range 50 {
		o := coverageOf(r, 6).o.(*Coverage)
		d := o.Features()
		l := o.NewList()
		x, residual := make([]float64, d), make([]float64, d)
		for g := range residual {
			residual[g] = 1
		}
		for _, e := range r.Perm(6) {
			l.Gains(x, e)
			for g := range d {
				if want := o.Vectors()[e*d+g] * residual[g]; x[g] != want {
					t.Fatalf("item %d, feature %d: gain %v, product %v", e, g, x[g], want)
				}
			}
			l.Append(e)
			o.Shrink(residual, e)
		}
	}
}

func TestObjectivesRefuse(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	unit := []Element{{0, 1}}
	cases := []struct {
		err  func() error
		want string
	}{
		{func() error { _, err := NewCoverage(2, 2, []float64{0, 0, 0, -0.1}); return err }, "item 1, feature 1: -0.1 is not in [0, 1]"},
		{func() error { _, err := NewCoverage(1, 2, []float64{0, 1.5}); return err }, "item 0, feature 1: 1.5"},
		{func() error { _, err := NewCoverage(1, 1, []float64{nan}); return err }, "NaN"},
		{func() error { _, err := NewCoverage(2, 2, make([]float64, 3)); return err }, "3 numbers for 2 items of 2 features"},
		{func() error { _, err := NewCoverage(0, 2, nil); return err }, "0 items"},
		{func() error { _, err := NewCoverage(math.MaxInt, 2, nil); return err }, "items of 2 features"},
		{func() error { _, err := NewFacilityLocation(1, 2, []float64{1, inf}); return err }, "item 0, feature 1: +Inf"},
		{func() error { _, err := NewFacilityLocation(1, 1, []float64{-1}); return err }, "-1 is not in"},
		{func() error { _, err := NewWeightedCoverage(1, []Element{{1, 1}}, [][]int{{0}}); return err }, "element 0: topic 1 of 1"},
		{func() error { _, err := NewWeightedCoverage(1, []Element{{0, nan}}, [][]int{{0}}); return err }, "element 0: weight NaN"},
		{func() error { _, err := NewWeightedCoverage(1, unit, [][]int{{}, {1}}); return err }, "item 1: element 1 of 1"},
		{func() error { _, err := NewWeightedCoverage(1, unit, [][]int{{0, 0}}); return err }, "item 0: element 0 twice"},
		{func() error { _, err := NewWeightedCoverage(1, unit, nil); return err }, "0 items"},
		{func() error { _, err := NewLogDet(1, 1, 2, []float64{0, nan}, []float64{1}); return err }, "item 0, place 1 of the embedding: NaN"},
		{func() error { _, err := NewLogDet(1, 1, 2, []float64{0}, []float64{1}); return err }, "1 numbers"},
		{func() error { _, err := NewLogDet(1, 1, 1, []float64{0}, []float64{-1}); return err }, "relevance: item 0, feature 0: -1"},
	}
	for i, c := range cases {
		if err := c.err(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "slate: ") {
			t.Errorf("case %d: %v, want one with %q", i, err, c.want)
		}
	}
}

// optimum returns the largest w.f among the allowed sets.
func optimum(c instance, n int, w []float64, allowed func(set uint) bool) float64 {
	best := 0.0
	for set := range uint(1) << n {
		if !allowed(set) {
			continue
		}
		var v float64
		for i, x := range w {
			v += x * c.f(set, i)
		}
		best = max(best, v)
	}
	return best
}

// allowed is the definition of a constraint on sets. No sum of a random instance comes
// near a budget, so rounding does not matter.
func allowed(a Attributes, limits Limits) func(set uint) bool {
	return func(set uint) bool {
		if limits.Length > 0 && bits.OnesCount(set) > limits.Length {
			return false
		}
		spent, taken := make([]float64, a.Knapsacks), map[int]int{}
		for e := range bits.Len(set) {
			if !in(set, e) {
				continue
			}
			for j := range spent {
				spent[j] += a.Costs[e*a.Knapsacks+j]
			}
			if a.Groups != nil {
				for _, g := range a.Groups[e] {
					taken[g]++
				}
			}
		}
		for j, x := range spent {
			if x > limits.Budgets[j] {
				return false
			}
		}
		for g, most := range limits.Groups {
			if taken[g] > most {
				return false
			}
		}
		return true
	}
}

// setOf returns a list's items as a bit set.
func setOf(list []int) (set uint) {
	for _, e := range list {
		set |= 1 << e
	}
	return set
}
