package duel

import (
	"context"
	"math"
)

// ArXiv returns the preferences among six rankers, A to F, of arXiv's search: table 1 of
// Beat-the-Mean, estimated from interleaving experiments. D and F are even.
func ArXiv() *Preferences {
	above := [][]float64{
		{0, .05, .05, .04, .11, .11}, {0, 0, .05, .06, .08, .10}, {0, 0, 0, .04, .01, .06}, {0, 0, 0, 0, .04, 0}, {0, 0, 0, 0, 0, .01}, {},
	}
	return newPreferences(len(above), func(i, j int) float64 { return above[i][j] })
}

// ArXivRankers names the arms of ArXiv.
func ArXivRankers() []string { return []string{"A", "B", "C", "D", "E", "F"} }

// What ArXiv is played with. The epsilon is below the least gap of the best ranker, so that only it is right.
const (
	ArXivDelta   = .05
	ArXivEpsilon = .03
	ArXivGamma   = 1.5
	ArXivHorizon = 20_000 // of algorithms that take no epsilon and delta
)

// ArXivDesigns are the tournaments of ArXiv: of all algorithms, with epsilon and delta or, where they take none,
// with a horizon.
func ArXivDesigns() []Design {
	var all []Design
	for _, a := range append(Algorithms(), Rank, Copeland) {
		d := Design{Algorithm: a, Epsilon: ArXivEpsilon, Delta: ArXivDelta}
		switch a {
		case BeatTheMean, Knockout:
			d.Gamma = ArXivGamma
		case InterleavedFilter1, InterleavedFilter2, DoubleThompson:
			d = Design{Algorithm: a, Horizon: ArXivHorizon}
		}
		all = append(all, d)
	}
	return all
}

// Played sums up the tournaments of one design.
type Played struct {
	Trials int
	// Duels is the mean of their number until the winner was found, DuelsSD the standard deviation of one trial.
	Duels, DuelsSD float64
	Best           int // trials that named the best arm itself
	// Near are the trials whose winner is within the design's epsilon of the best arm; of Rank, whose later arms
	// beat earlier ones by at most epsilon.
	Near int
}

// Play runs the simulation and sums it up.
func (s *Simulation) Play(ctx context.Context) (Played, error) {
	outcomes, err := s.Run(ctx)
	if err != nil {
		return Played{}, err
	}
	p := Played{Trials: len(outcomes)}
	for _, o := range outcomes {
		p.Duels += float64(o.Duels) / float64(p.Trials)
		if o.Winner == o.Best {
			p.Best++
		}
		if o.Gap <= s.Design.Epsilon+slack {
			p.Near++
		}
	}
	for _, o := range outcomes {
		p.DuelsSD += (float64(o.Duels) - p.Duels) * (float64(o.Duels) - p.Duels)
	}
	p.DuelsSD = math.Sqrt(p.DuelsSD / max(float64(p.Trials)-1, 1))
	return p, nil
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
