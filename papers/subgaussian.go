package papers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"thresher/internal/philox"
)

// SubGaussianSigma returns the sigma that BanditMIPS's rewards have, the least one for which every arm's reward X at a drawn
// coordinate fulfils
//
//	E exp(l (X - mu)) <= exp(l^2 sigma^2 / 2)   for every l,
//
// and the number of pulls that it took. Without weights a coordinate is drawn uniformly; with them X is that of
// BanditMIPSBeta, f(i, J)/(d w_J). All rewards are read, pulls = n d, or without weights those of a random sample of
// coordinates; sigma is then an estimate from the data, as section 3.2 of arXiv 2212.07551 allows and its theorem does not:
// the greatest rewards may lie outside the sample. coordinates = 0, or Dim() and more, means all.
//
// The supremum over l is taken on a grid of steps of 2^(1/4) around 1/sd; between two of its points sigma is greater by at
// most a thousandth. Errors wrap ErrNoArms, ErrSigma, ErrWeights, ErrDim, ErrReward or the context's error.
func SubGaussianSigma(ctx context.Context, arms Arms, weights []float64, coordinates int, seed uint64) (sigma float64, pulls int64, err error) {
	if err := checkArms(arms); err != nil {
		return 0, 0, err
	}
	n, d := arms.Len(), arms.Dim()
	if coordinates < 0 || weights != nil && coordinates > 0 && coordinates < d {
		return 0, 0, fmt.Errorf("%w: %d coordinates for it, need 0 or more, and all %d for weights", ErrSigma, coordinates, d)
	}
	if coordinates == 0 || coordinates > d {
		coordinates = d
	}
	if weights != nil {
		if weights, err = normalised(weights, d); err != nil {
			return 0, 0, err
		}
	}
	coords := newShuffled(d, rand.New(philox.New(seed, streamSigma)))
	all, column, rewards := allArms(n), make([]float64, n), make([]float64, n*coordinates)
	for s := range coordinates {
		if s%1024 == 0 && ctx.Err() != nil {
			return 0, 0, stopped(ctx, s)
		}
		j := s
		if coordinates < d {
			j, _ = coords.next()
		}
		arms.Pull(j, all, column)
		for i, x := range column {
			if !finite(x) {
				return 0, 0, fmt.Errorf("%w: arm %d, coordinate %d is %v", ErrReward, i, j, x)
			}
			if weights != nil {
				if weights[j] == 0 {
					x = 0 // never drawn
				} else {
					x *= weightFactor(weights[j], d)
				}
			}
			rewards[i*coordinates+s] = x
		}
	}
	if weights == nil {
		weights = slices.Repeat([]float64{1 / float64(coordinates)}, coordinates)
	}
	for i := range n {
		if ctx.Err() != nil {
			return 0, 0, stopped(ctx, coordinates)
		}
		sigma = max(sigma, subGaussian(rewards[i*coordinates:(i+1)*coordinates], weights))
	}
	return sigma, int64(n) * int64(coordinates), nil
}

// subGaussian is the least sub-Gaussian parameter of a draw from a list by probabilities, 0 if its values are equal. It
// overwrites the list.
func subGaussian(list, probabilities []float64) float64 {
	mean := 0.0
	for p, x := range list {
		mean += probabilities[p] * x
	}
	squares, least, most := 0.0, 0.0, 0.0
	for p, x := range list {
		x -= mean
		if probabilities[p] == 0 {
			x = 0
		}
		list[p] = x
		squares += probabilities[p] * x * x
		least, most = min(least, x), max(most, x)
	}
	sd := math.Sqrt(squares)
	if sd <= 1e-12*math.Abs(mean) { // equal but for rounding
		return sd
	}
	// log E exp(l X) is at most l most, so that its root is at most sqrt(2 most/l): beyond 2 most/sd^2 no l raises sigma.
	sigma := sd
	for _, side := range []float64{1, -1} {
		reach := most
		if side < 0 {
			reach = -least
		}
		for l := .1 / sd; l <= 2*reach/squares; l *= math.Sqrt(math.Sqrt2) {
			// The greatest exponent is taken out, so that nothing overflows.
			sum := 0.0
			for p, x := range list {
				sum += probabilities[p] * math.Exp(side*l*x-l*reach)
			}
			log := l*reach + math.Log(sum)
			sigma = max(sigma, math.Sqrt(2*max(0, log))/l)
		}
	}
	return sigma
}
