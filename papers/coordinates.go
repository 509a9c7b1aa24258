package papers

import (
	"fmt"
	"math/rand/v2"
	"sort"
)

// Sampling says how coordinates are drawn.
type Sampling int

const (
	// WithReplacement draws every coordinate independently, as the theorem of
	// BanditMIPS does.
	WithReplacement Sampling = iota
	// WithoutReplacement draws a uniform random order of the coordinates. After
	// Dim() draws every score is complete.
	WithoutReplacement
)

func (s Sampling) String() string {
	switch s {
	case WithReplacement:
		return "with replacement"
	case WithoutReplacement:
		return "without replacement"
	}
	return fmt.Sprintf("sampling(%d)", int(s))
}

func (s Sampling) check() error {
	if s != WithReplacement && s != WithoutReplacement {
		return fmt.Errorf("%w: unknown sampling %d", ErrSampling, int(s))
	}
	return nil
}

// Streams of a seed, one a purpose, so that no two choices share numbers.
const (
	streamCoordinates = iota
	streamWarmStart
	streamNorms
	streamFinal
	streamCoefficients
	streamBins // bin b draws from streamBins + b

	streamSigma = 1 << 62
)

// coordinateStream yields coordinates in the order in which they are pulled and
// the factor that a reward at that coordinate gets, 1 unless draws are weighted.
type coordinateStream interface {
	next() (j int, factor float64)
}

func newCoordinates(d int, sampling Sampling, rng *rand.Rand) coordinateStream {
	if sampling == WithoutReplacement {
		return newShuffled(d, rng)
	}
	return &independentCoordinates{d: d, rng: rng}
}

type independentCoordinates struct {
	d   int
	rng *rand.Rand
}

func (c *independentCoordinates) next() (int, float64) { return c.rng.IntN(c.d), 1 }

// shuffledCoordinates is a Fisher-Yates shuffle that stores only the positions that
// changed: drawing s of d coordinates costs O(s) time and memory.
type shuffledCoordinates struct {
	d, taken int
	rng      *rand.Rand
	moved    map[int]int
}

func newShuffled(d int, rng *rand.Rand) *shuffledCoordinates {
	return &shuffledCoordinates{d: d, rng: rng, moved: map[int]int{}}
}

func (c *shuffledCoordinates) next() (int, float64) {
	return c.takeAt(c.taken + c.rng.IntN(c.d-c.taken)), 1
}

// takeAt swaps the coordinate at a position that was not drawn yet to the front and
// returns it.
func (c *shuffledCoordinates) takeAt(position int) int {
	j, front := c.at(position), c.at(c.taken)
	if position != c.taken {
		c.moved[position] = front
	}
	delete(c.moved, c.taken)
	c.taken++
	return j
}

func (c *shuffledCoordinates) at(position int) int {
	if j, ok := c.moved[position]; ok {
		return j
	}
	return position
}

// orderedCoordinates is a fixed order.
type orderedCoordinates struct {
	order []int
	at    int
}

func (c *orderedCoordinates) next() (int, float64) {
	j := c.order[c.at]
	c.at++
	return j, 1
}

// weightedCoordinates draws j with probability weights[j] and scales its reward
// by 1/(d w_j), which makes the mean of a reward mu_i = T_i/d again.
type weightedCoordinates struct {
	weights []float64
	total   []float64 // running sums of weights
	last    int       // largest coordinate of positive weight
	rng     *rand.Rand
}

func newWeighted(weights []float64, rng *rand.Rand) *weightedCoordinates {
	c := &weightedCoordinates{weights: weights, total: make([]float64, len(weights)), rng: rng}
	sum := 0.0
	for j, w := range weights {
		sum += w
		c.total[j] = sum
		if w > 0 {
			c.last = j
		}
	}
	return c
}

func (c *weightedCoordinates) next() (int, float64) {
	u := c.rng.Float64() * c.total[len(c.total)-1]
	// The strict inequality skips coordinates of weight 0; rounding of u up to
	// the total would leave none.
	j := sort.Search(len(c.total), func(j int) bool { return c.total[j] > u })
	j = min(j, c.last)
	return j, weightFactor(c.weights[j], len(c.weights))
}

// weightFactor is 1/(d w), in one position so that ranges and rewards round alike.
func weightFactor(w float64, d int) float64 { return 1 / (float64(d) * w) }
