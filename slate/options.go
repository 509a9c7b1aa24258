package slate

import (
	"fmt"
	"math"
)

// Algorithm chooses lists.
type Algorithm string

const (
	// AFSM is AFSM-UCB, Algorithm 2 of UAI 2020: the best list of GM-UCB over a
	// geometric grid of thresholds. The only one with a guarantee here.
	AFSM Algorithm = "afsm"
	// LSBGreedy takes the item with the largest UCB that fits, until none does
	// (Yue and Guestrin, NIPS 2011).
	LSBGreedy Algorithm = "lsb"
	// ModifiedGreedy takes the item with the largest UCB per cost instead (Yu,
	// Fang, Tao, AAAI 2016).
	ModifiedGreedy Algorithm = "modified"
	// BetterGreedy takes the better of the lists of LSBGreedy and ModifiedGreedy,
	// by their UCB.
	BetterGreedy Algorithm = "better"
	// MCSGreedy takes the best list, by the sum of its UCBs, of all that begin with
	// up to three items and go on like ModifiedGreedy (Yu, Fang, Tao, AAAI 2016); for up to
	// MCSLimit items.
	MCSGreedy Algorithm = "mcs"
	// Random takes any item that fits, until none does.
	Random Algorithm = "random"
)

// MCSLimit is the most items that MCSGreedy takes, since it tries n^3/6
// beginnings.
const MCSLimit = 48

// maxThresholds bounds the grid.
const maxThresholds = 1 << 20

// minEpsilon is far above the rounding of 1+Epsilon, so that thresholds grow.
const minEpsilon = 1e-9

// Options say how a list is chosen. Zero fields stand for the defaults.
type Options struct {
	Algorithm  Algorithm  `json:"algorithm,omitempty"` // AFSM
	Confidence Confidence `json:"confidence,omitzero"`
	// Epsilon is the step of the grid: each threshold is 1+Epsilon times the one
	// below, in [1e-9, 1e60]. 0.2.
	Epsilon float64 `json:"epsilon,omitempty"`
	// Lowest <= max_e f({e}) <= Highest are the nu and nu' between which the best
	// item that can be chosen is known to be worth: 0.05 and 1. The guarantee needs
	// both; where no threshold lets an item pass, Lowest is too large and AFSM shows
	// the list of LSBGreedy.
	Lowest  float64 `json:"lowest,omitempty"`
	Highest float64 `json:"highest,omitempty"`
	// Greedy lets AFSM consider the lists of LSBGreedy and ModifiedGreedy too. The
	// guarantee stays, since it needs no more than the best of its own lists.
	Greedy bool `json:"greedy,omitempty"`
	// Memory is the most bytes that the scratch of a call may take; what needs more is
	// a *ScratchError before any is taken. 0 is no bound.
	Memory int64 `json:"memory,omitempty"`
	// Seed and Round place the random numbers of Random.
	Seed  uint64 `json:"seed,omitempty"`
	Round uint64 `json:"round,omitempty"`
}

// filled puts the defaults in and checks all but Confidence.
func (o Options) filled() (Options, error) {
	if o.Algorithm == "" {
		o.Algorithm = AFSM
	}
	if o.Epsilon == 0 {
		o.Epsilon = 0.2
	}
	if o.Lowest == 0 {
		o.Lowest = 0.05
	}
	if o.Highest == 0 {
		o.Highest = 1
	}
	switch o.Algorithm {
	case AFSM, LSBGreedy, ModifiedGreedy, BetterGreedy, MCSGreedy, Random:
	default:
		return o, fmt.Errorf("slate: unknown algorithm %q", o.Algorithm)
	}
	if o.Memory < 0 {
		return o, fmt.Errorf("slate: memory of %d bytes", o.Memory)
	}
	if !(o.Epsilon >= minEpsilon && o.Epsilon <= MaxMagnitude) {
		return o, fmt.Errorf("slate: epsilon %v is not in [%g, %g]", o.Epsilon, minEpsilon, MaxMagnitude)
	}
	if !(o.Lowest >= 1/MaxMagnitude && o.Lowest <= o.Highest && o.Highest <= MaxMagnitude) {
		return o, fmt.Errorf("slate: lowest %v and highest %v are not ascending in [%g, %g]", o.Lowest, o.Highest, 1/MaxMagnitude, MaxMagnitude)
	}
	return o, nil
}

// thresholds are the rho of Algorithm 2 in descending order: r nu (1+eps)^i for
// i = -1, 0, .. up to r nu' m, with r = 2/(k+2l+1) and m the longest list
// (Remark 3).
func (o Options) thresholds(c *Constraint) ([]float64, error) {
	r := 2 / float64(c.k+2*c.Knapsacks()+1)
	last := r * o.Highest * float64(c.length)
	count := math.Log(last/(r*o.Lowest))/math.Log1p(o.Epsilon) + 2
	if !(count < maxThresholds) {
		return nil, fmt.Errorf("slate: epsilon %v between %v and %v makes more than %d thresholds", o.Epsilon, o.Lowest, o.Highest, maxThresholds)
	}
	most := int(count) + 1
	grid := make([]float64, 0, most)
	for rho := r * o.Lowest / (1 + o.Epsilon); rho <= last && len(grid) < most; rho *= 1 + o.Epsilon {
		grid = append(grid, rho)
	}
	for i, j := 0, len(grid)-1; i < j; i, j = i+1, j-1 {
		grid[i], grid[j] = grid[j], grid[i]
	}
	return grid, nil
}
