package duel

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Preferences are the chances of all duels. They are safe for concurrent use.
type Preferences struct {
	k int
	p []float64 // [i*k+j]: i wins against j
}

// slack is what chances may be off by rounding.
const slack = 1e-9

// NewPreferences takes a square matrix of P(i > j), which it copies: in [0, 1],
// P(i > j) + P(j > i) = 1 and P(i > i) = 1/2, all to 1e-9.
func NewPreferences(matrix [][]float64) (*Preferences, error) {
	k := len(matrix)
	if k < 2 || k > MaxArms {
		return nil, fmt.Errorf("duel: preferences of %d arms; 2 to %d", k, MaxArms)
	}
	f := &Preferences{k: k, p: make([]float64, 0, k*k)}
	for i, row := range matrix {
		if len(row) != k {
			return nil, fmt.Errorf("duel: preferences: row %d has %d entries, not %d", i, len(row), k)
		}
		for j, p := range row {
			if !(p >= 0 && p <= 1) {
				return nil, fmt.Errorf("duel: preferences: P(%d > %d) = %g is not in [0, 1]", i, j, p)
			}
		}
		f.p = append(f.p, row...)
	}
	for i := range k {
		for j := range i + 1 {
			if sum := f.At(i, j) + f.At(j, i); math.Abs(sum-1) > slack {
				return nil, fmt.Errorf("duel: preferences: P(%d > %d) + P(%d > %d) = %g, not 1", i, j, j, i, sum)
			}
		}
	}
	return f, nil
}

// newPreferences makes a matrix of eps(i, j) for i < j.
func newPreferences(k int, eps func(i, j int) float64) *Preferences {
	f := &Preferences{k: k, p: make([]float64, k*k)}
	for i := range k {
		f.p[i*k+i] = .5
		for j := i + 1; j < k; j++ {
			e := eps(i, j)
			f.p[i*k+j], f.p[j*k+i] = .5+e, .5-e
		}
	}
	return f
}

// Constant prefers every arm to all that follow by the same gap in [0, 1/2]:
// figure 1, top.
func Constant(k int, gap float64) *Preferences {
	return newPreferences(k, func(i, j int) float64 { return gap })
}

// Chain is Constant but for neighbours, the first two aside, where the gap is
// gamma times as large (at most 1/2): figure 2. It is relaxed by exactly gamma.
func Chain(k int, gap, gamma float64) *Preferences {
	return newPreferences(k, func(i, j int) float64 {
		if i >= 1 && j == i+1 {
			return min(gap*gamma, .5)
		}
		return gap
	})
}

// Logistic prefers by utility, P(i > j) = 1/(1 + exp(u_j - u_i)): figure 1,
// bottom.
func Logistic(utilities []float64) *Preferences {
	return newPreferences(len(utilities), func(i, j int) float64 {
		return 1/(1+math.Exp(utilities[j]-utilities[i])) - .5
	})
}

// Arms is K.
func (f *Preferences) Arms() int { return f.k }

// At is the chance that i wins against j.
func (f *Preferences) At(i, j int) float64 { return f.p[i*f.k+j] }

// Best is the arm that beats or ties with every other, -1 if there is none; of
// several, the first.
func (f *Preferences) Best() int {
arms:
	for i := range f.k {
		for _, p := range f.p[i*f.k : (i+1)*f.k] {
			if p < .5 {
				continue arms
			}
		}
		return i
	}
	return -1
}

// losses are eps(best, b) of every arm b, for a best arm that exists.
func (f *Preferences) losses() []float64 {
	best := f.Best()
	r := make([]float64, f.k)
	for b := range r {
		r[b] = f.At(best, b) - .5
	}
	return r
}

// Model draws the preferences of one trial.
type Model func(*rand.Rand) *Preferences

// Always is the model of preferences that are known.
func Always(f *Preferences) Model {
	return func(*rand.Rand) *Preferences { return f }
}

// RandomLogistic draws the utilities of k arms from N(0, 1): figure 1, bottom.
func RandomLogistic(k int) Model {
	return func(r *rand.Rand) *Preferences {
		utilities := make([]float64, k)
		for i := range utilities {
			utilities[i] = r.NormFloat64()
		}
		return Logistic(utilities)
	}
}
