package papers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"thresher/internal/philox"
)

// BanditMIPSBeta is BanditMIPS with coordinates drawn by weight (arXiv
// 2212.07551, sections 3.1 and 4): J with replacement and probability
// proportional to weights[J], reward
//
//	X_iJ = f(i, J) / (d w_J),   w normalised to sum 1
//
// whose expectation is again mu_i = T_i/d. weights has Dim() entries >= 0; one
// of 0 promises that every arm's reward there is 0. BetaWeights and
// OptimalWeights make them.
//
// Sigma, Lo and Hi in opt refer to X, not to f: WeightedRange gives Lo and Hi
// for bounded atoms. Sampling is always with replacement, and a warm start,
// which is drawn uniformly, is refused. Otherwise as BanditMIPS; bad weights
// give ErrWeights.
func BanditMIPSBeta(ctx context.Context, arms Arms, weights []float64, opt BanditMIPSOptions) (Outcome, error) {
	out, err := banditMIPSBeta(ctx, arms, weights, opt)
	if err != nil {
		return Outcome{}, fmt.Errorf("banditmips-beta: %w", err)
	}
	return out, nil
}

func banditMIPSBeta(ctx context.Context, arms Arms, weights []float64, opt BanditMIPSOptions) (Outcome, error) {
	if opt.Sampling != WithReplacement {
		return Outcome{}, fmt.Errorf("%w: weighted draws are with replacement", ErrSampling)
	}
	if opt.Warm != nil {
		return Outcome{}, fmt.Errorf("%w: its coordinates are not drawn by these weights", ErrWarmStart)
	}
	e, err := newElimination(arms, opt)
	if err != nil {
		return Outcome{}, err
	}
	w, err := normalised(weights, arms.Dim())
	if err != nil {
		return Outcome{}, err
	}
	e.coords = newWeighted(w, rand.New(philox.New(opt.Seed, streamCoordinates)))
	out, err := e.search(ctx, opt.ExactScores)
	if err != nil {
		return Outcome{}, err
	}
	out.Method = "banditmips-beta"
	return out, nil
}

// BetaWeights returns w_j proportional to |q_j|^(2 beta), normalised; beta = 0
// is uniform over the coordinates that count, beta = 1/2 |q_j|, beta = 1 the
// paper's q_j^2. They are positive wherever q_j is not 0: a beta at which one
// underflows is refused with ErrWeights (its limit is BanditMIPSAlpha). A query
// of zeros gets uniform weights.
func BetaWeights(query []float32, beta float64) ([]float64, error) {
	if !(beta >= 0) || math.IsInf(beta, 1) {
		return nil, fmt.Errorf("%w: beta = %v, need a finite beta >= 0", ErrWeights, beta)
	}
	largest := 0.0
	for j, q := range query {
		if !finite(float64(q)) {
			return nil, fmt.Errorf("%w: query coordinate %d is %v", ErrReward, j, q)
		}
		largest = max(largest, math.Abs(float64(q)))
	}
	w := make([]float64, len(query))
	for j, q := range query {
		if q == 0 && largest > 0 {
			continue
		}
		if largest == 0 {
			w[j] = 1
			continue
		}
		w[j] = math.Pow(math.Abs(float64(q))/largest, 2*beta)
		if w[j] < smallestWeight {
			return nil, fmt.Errorf("%w: beta = %v leaves coordinate %d (q = %v) no weight", ErrWeights, beta, j, q)
		}
	}
	return normalised(w, len(query))
}

// smallestWeight relative to the largest: below it 1/(d w) nears overflow, and a
// coordinate would be drawn once in a lifetime but decide the mean when it is.
const smallestWeight = 1e-200

// OptimalWeights are those of Theorem 2 (equation 4), which minimise the
// variances' sum: w_j proportional to sqrt(sum_i f(i,j)^2), that is
// sqrt(q_j^2 sum_i v_ij^2) for products. They read everything once, pulls = n d,
// and pay only where queries share them or the sums are known beforehand. Arms
// without any reward get uniform weights.
func OptimalWeights(ctx context.Context, arms Arms) (weights []float64, pulls int64, err error) {
	if err := checkArms(arms); err != nil {
		return nil, 0, err
	}
	n, d := arms.Len(), arms.Dim()
	all, column := allArms(n), make([]float64, n)
	w := make([]float64, d)
	for j := range w {
		if j%4096 == 0 && ctx.Err() != nil {
			return nil, 0, stopped(ctx, j)
		}
		arms.Pull(j, all, column)
		for _, x := range column {
			w[j] += x * x
		}
	}
	for j := range w {
		w[j] = math.Sqrt(w[j])
	}
	if slices.Max(w) == 0 {
		w = slices.Repeat([]float64{1}, d)
	}
	weights, err = normalised(w, d)
	return weights, int64(n) * int64(d), err
}

// WeightedRange returns an interval that holds q_j v / (d w_j) for every
// coordinate of positive weight and every v in [vlo, vhi]; half its length is
// the sigma of BanditMIPSBeta. weights as passed to BanditMIPSBeta.
func WeightedRange(query []float32, weights []float64, vlo, vhi float32) (lo, hi float64, err error) {
	w, err := normalised(weights, len(query))
	if err != nil {
		return 0, 0, err
	}
	lo, hi = math.Inf(1), math.Inf(-1)
	for j, q := range query {
		if w[j] == 0 {
			continue
		}
		factor := weightFactor(w[j], len(w))
		a, b := float64(vlo)*float64(q)*factor, float64(vhi)*float64(q)*factor
		lo, hi = min(lo, a, b), max(hi, a, b)
	}
	return lo, hi, nil
}

// normalised returns weights divided by their sum, in a slice of its own. Weights
// that sum to 1 within rounding stay as they are, so that its own results come
// back to the last bit and ranges agree with the rewards they bound.
func normalised(weights []float64, d int) ([]float64, error) {
	if len(weights) != d || d == 0 {
		return nil, fmt.Errorf("%w: %d weights for %d coordinates", ErrDim, len(weights), d)
	}
	sum := 0.0
	for j, w := range weights {
		if !finite(w) || w < 0 {
			return nil, fmt.Errorf("%w: coordinate %d has %v, need a finite weight >= 0", ErrWeights, j, w)
		}
		sum += w
	}
	if !(sum > 0) || !finite(sum) {
		return nil, fmt.Errorf("%w: they sum to %v", ErrWeights, sum)
	}
	w := slices.Clone(weights)
	if math.Abs(sum-1) <= float64(d)*0x1p-51 {
		return w, nil
	}
	for j := range w {
		w[j] /= sum
	}
	return w, nil
}
