package papers

import (
	"fmt"
	"math"
	"math/rand/v2"

	"thresher/internal/philox"
)

// EstimateSigma estimates the sub-Gaussian parameter of rewards from the data, which section 3.2 of
// arXiv 2212.07551 offers without saying how: the standard deviation of so many rewards, each of a
// uniformly drawn arm at a coordinate drawn as the search draws it, around their mean. weights are
// those of BanditMIPSBeta, whose rewards f(i, J)/(d w_J) are then meant; nil draws coordinates
// uniformly. samples is at least 2; pulls is samples.
//
// It is the spread of the rewards of all arms together. An arm whose rewards spread more, rewards with
// heavier tails than a Gaussian's, or an unlucky sample make it too small, and a search with it has no
// guarantee. Rewards that are all equal in the sample give 0, which no search accepts.
//
// Errors wrap ErrNoArms, ErrSigma, ErrWeights, ErrDim or ErrReward.
func EstimateSigma(arms Arms, weights []float64, samples int, seed uint64) (sigma float64, pulls int64, err error) {
	if err := checkArms(arms); err != nil {
		return 0, 0, err
	}
	if samples < 2 {
		return 0, 0, fmt.Errorf("%w: estimated from %d samples, need 2 or more", ErrSigma, samples)
	}
	rng := rand.New(philox.New(seed, streamSigma))
	coords := newCoordinates(arms.Dim(), WithReplacement, rng)
	if weights != nil {
		w, err := normalised(weights, arms.Dim())
		if err != nil {
			return 0, 0, err
		}
		coords = newWeighted(w, rng)
	}
	arm, reward := make([]int, 1), make([]float64, 1)
	mean, squares := 0.0, 0.0
	for s := range samples {
		j, factor := coords.next()
		arm[0] = rng.IntN(arms.Len())
		arms.Pull(j, arm, reward)
		x := reward[0] * factor
		if !finite(x) {
			return 0, 0, fmt.Errorf("%w: arm %d, coordinate %d is %v", ErrReward, arm[0], j, x)
		}
		before := x - mean
		mean += before / float64(s+1)
		squares += before * (x - mean)
	}
	return math.Sqrt(max(0, squares) / float64(samples-1)), int64(samples), nil
}
