package duel

import "math"

// ArXiv returns the preferences among six rankers, A to F, of arXiv's search: table 1 of
// Beat-the-Mean, estimated from interleaving experiments. D and F are even.
func ArXiv() *Preferences {
	above := [][]float64{
		{0, .05, .05, .04, .11, .11}, {0, 0, .05, .06, .08, .10}, {0, 0, 0, .04, .01, .06}, {0, 0, 0, 0, .04, 0}, {0, 0, 0, 0, 0, .01}, {},
	}
	return newPreferences(len(above), func(i, j int) float64 { return above[i][j] })
}

// Transitivity says how far preferences whose arms are in order, the best first, keep the
// assumptions of Beat-the-Mean.
type Transitivity struct {
	// Gamma is the least that relaxes strong stochastic transitivity far enough,
	// gamma eps(1,k) >= max(eps(1,j), eps(j,k)) for all 1 < j < k; infinite if there is none.
	// GammaBy holds a j and a k, from 0, that need it.
	Gamma   float64 `json:"gamma"`
	GammaBy [2]int  `json:"gamma_by"`
	// Excess is the greatest eps(1,k) - eps(1,j) - eps(j,k), by ExcessBy. The stochastic
	// triangle inequality holds if it is not above 0.
	Excess   float64 `json:"excess"`
	ExcessBy [2]int  `json:"excess_by"`
}

// Transitivity checks all triples of the first arm with two later ones, of which there must
// be at least two.
func (f *Preferences) Transitivity() Transitivity {
	t := Transitivity{Gamma: 1, Excess: math.Inf(-1)}
	for j := 1; j < f.k; j++ {
		for k := j + 1; k < f.k; k++ {
			first, second, whole := f.At(0, j)-.5, f.At(j, k)-.5, f.At(0, k)-.5
			if most := max(first, second); most > t.Gamma*whole+slack {
				t.Gamma, t.GammaBy = math.Inf(1), [2]int{j, k}
				if whole > 0 {
					t.Gamma = most / whole
				}
			}
			if x := whole - first - second; x > t.Excess {
				t.Excess, t.ExcessBy = x, [2]int{j, k}
			}
		}
	}
	return t
}
