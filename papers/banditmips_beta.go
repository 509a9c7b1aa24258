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
// 2212.07551, sections 3.1 and 4): coordinate J is drawn with replacement, with
// probability proportional to weights[J], and gives the reward
//
//	X_iJ = f(i, J) / (d w_J),   w = weights divided by their sum
//
// whose expectation is again mu_i = T_i/d, the arm's score over the dimension.
// weights has Dim() entries >= 0, from BetaWeights, OptimalWeights or elsewhere. The
// caller may set weights[J] to 0 only if f(i, J) is 0 for every arm i.
//
// Sigma, Lo and Hi in opt refer to X, not to f: WeightedRange gives Lo and Hi
// for bounded atoms. Sampling without replacement is refused with ErrSampling; a warm
// start with ErrWarmStart, because its coordinates are drawn uniformly; invalid weights
// with ErrWeights. All else is as for BanditMIPS.
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

// BetaWeights returns weights w_j proportional to |q_j|^(2 beta), with sum 1. beta = 0
// makes them equal wherever q_j is not 0, beta = 1/2 proportional to |q_j|, and
// beta = 1 to q_j^2, as in the paper. They are positive wherever q_j is not 0: a beta
// for which one would underflow is refused with ErrWeights (for beta to infinity, use
// BanditMIPSAlpha). A query of zeros gets equal weights.
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

// smallestWeight is the least weight that is not 0, relative to the largest. Below it
// 1/(d w) could overflow, and a coordinate would practically never be drawn, but determine
// the mean if it were.
const smallestWeight = 1e-200

// OptimalWeights returns the weights of Theorem 2 (equation 4), which minimise the sum of
// the variances: w_j proportional to sqrt(sum_i f(i,j)^2), that is
// sqrt(q_j^2 sum_i v_ij^2) for products. It reads every reward once, pulls = n d, so it
// saves work only if many searches use the same weights. If all rewards are 0 the weights
// are equal.
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

// WeightedRange returns an interval that contains q_j v / (d w_j) for every
// coordinate of positive weight and every v in [vlo, vhi]; half its length is a
// Sigma for BanditMIPSBeta. weights are those to be passed to BanditMIPSBeta.
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

// normalised returns weights divided by their sum, in a new slice. Weights that sum to 1
// within rounding are returned unchanged: normalising twice gives the same bits as
// normalising once, so WeightedRange and BanditMIPSBeta compute with equal weights.
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
