package slate

import (
	"fmt"
	"math"
)

// Algorithm names a way to choose lists.
type Algorithm string

const (
	// AFSM is AFSM-UCB, Algorithm 2 of UAI 2020: the best list of GM-UCB over a geometric grid
	// of thresholds. It is the only algorithm here with a guarantee.
	AFSM Algorithm = "afsm"
	// LSBGreedy takes the item of largest UCB that fits, until none does (Yue and Guestrin,
	// NIPS 2011).
	LSBGreedy Algorithm = "lsb"
	// ModifiedGreedy takes the item of largest UCB per cost (Yu, Fang, Tao, AAAI 2016).
	ModifiedGreedy Algorithm = "modified"
	// BetterGreedy takes the list of larger UCB of LSBGreedy and ModifiedGreedy.
	BetterGreedy Algorithm = "better"
	// MCSGreedy takes the list with the largest sum of UCBs among those that begin with up to
	// three items and continue like ModifiedGreedy (Yu, Fang, Tao, AAAI 2016). It accepts at
	// most MCSLimit items.
	MCSGreedy Algorithm = "mcs"
	// Random takes uniformly random items that fit, until none does.
	Random Algorithm = "random"
)

// MCSLimit is the most items MCSGreedy accepts: it tries n^3/6 beginnings.
const MCSLimit = 48

// maxThresholds bounds the length of the grid.
const maxThresholds = 1 << 20

// minEpsilon is far above the rounding error of 1+Epsilon, so that thresholds increase.
const minEpsilon = 1e-9

// Options configure the choice of a list. Zero fields stand for the defaults.
type Options struct {
	Algorithm  Algorithm  `json:"algorithm,omitempty"` // AFSM
	Confidence Confidence `json:"confidence,omitzero"`
	// Epsilon is the step of the grid: each threshold is 1+Epsilon times the one below. In
	// [1e-9, 1e60]; default: 0.2.
	Epsilon float64 `json:"epsilon,omitempty"`
	// Lowest <= max_e f({e}) <= Highest are nu and nu', known bounds of the value of the best
	// usable item. Default: 0.05 and 1. The guarantee needs both. If no item passes any
	// threshold, Lowest is too large and AFSM returns the list of LSBGreedy.
	Lowest  float64 `json:"lowest,omitempty"`
	Highest float64 `json:"highest,omitempty"`
	// Greedy lets AFSM also consider the lists of LSBGreedy and ModifiedGreedy. The guarantee
	// stays, since it only needs the best of AFSM's own lists.
	Greedy bool `json:"greedy,omitempty"`
	// Memory limits the bytes of a call's scratch; if it needs more the call fails with a
	// *ScratchError before allocating any. 0 is no limit.
	Memory int64 `json:"memory,omitempty"`
	// Seed and Round determine the random numbers of Random.
	Seed  uint64 `json:"seed,omitempty"`
	Round uint64 `json:"round,omitempty"`
}

// filled fills in the defaults and validates everything but Confidence.
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

// thresholds returns the rho of Algorithm 2 in descending order: r nu (1+eps)^i for
// i = -1, 0, .. up to r nu' m, with r = 2/(k+2l+1) and m the longest list (Remark 3).
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
