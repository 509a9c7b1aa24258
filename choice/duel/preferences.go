package duel

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Preferences are the probabilities of all duels. They are safe for concurrent use.
type Preferences struct {
	k int
	p []float64 // [i*k+j]: i wins against j
}

// slack is the tolerance for rounding of probabilities.
const slack = 1e-9

// NewPreferences copies a square matrix of P(i > j). It requires probabilities in
// [0, 1], P(i > j) + P(j > i) = 1 and P(i > i) = 1/2, all to 1e-9.
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

// newPreferences builds the matrix from eps(i, j) for i < j.
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

// Constant prefers every arm to all later ones by the same gap in [0, 1/2] (figure 1,
// top).
func Constant(k int, gap float64) *Preferences {
	return newPreferences(k, func(i, j int) float64 { return gap })
}

// Chain is Constant, but with gamma times the gap (at most 1/2) between neighbours
// other than the first two (figure 2). Its transitivity is relaxed by exactly gamma.
func Chain(k int, gap, gamma float64) *Preferences {
	return newPreferences(k, func(i, j int) float64 {
		if i >= 1 && j == i+1 {
			return min(gap*gamma, .5)
		}
		return gap
	})
}

// Logistic prefers by utility: P(i > j) = 1/(1 + exp(u_j - u_i)) (figure 1, bottom).
func Logistic(utilities []float64) *Preferences {
	return newPreferences(len(utilities), func(i, j int) float64 {
		return 1/(1+math.Exp(utilities[j]-utilities[i])) - .5
	})
}

// Arms returns K.
func (f *Preferences) Arms() int { return f.k }

// At returns the probability that i wins against j.
func (f *Preferences) At(i, j int) float64 { return f.p[i*f.k+j] }

// Best returns the first arm that wins against every other with probability at least
// 1/2, -1 if there is none.
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

// losses returns eps(best, b) for every arm b. A best arm must exist.
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

// Always returns the model that is always f.
func Always(f *Preferences) Model {
	return func(*rand.Rand) *Preferences { return f }
}

// RandomLogistic draws the utilities of k arms from N(0, 1) (figure 1, bottom).
func RandomLogistic(k int) Model {
	return func(r *rand.Rand) *Preferences {
		utilities := make([]float64, k)
		for i := range utilities {
			utilities[i] = r.NormFloat64()
		}
		return Logistic(utilities)
	}
}
