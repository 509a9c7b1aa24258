package papers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"thresher/internal/philox"
)

// SubGaussianSigma returns the sigma that BanditMIPS's rewards have, the least one for which every arm's reward X at a
// uniformly drawn coordinate fulfils
//
//	E exp(l (X - mu)) <= exp(l^2 sigma^2 / 2)   for every l,
//
// and the number of pulls that it took. It reads all rewards of Dim() coordinates, pulls = n d, or those of a random sample
// without replacement if coordinates is smaller; sigma is then an estimate from the data, as section 3.2 of arXiv
// 2212.07551 allows and its theorem does not: the greatest rewards may lie outside the sample. 0 means all.
//
// The supremum over l is taken on a grid of steps of 2^(1/4) around 1/sd; between two of its points sigma is greater by at
// most a thousandth.
func SubGaussianSigma(ctx context.Context, arms Arms, coordinates int, seed uint64) (sigma float64, pulls int64, err error) {
	if err := checkArms(arms); err != nil {
		return 0, 0, err
	}
	n, d := arms.Len(), arms.Dim()
	if coordinates < 0 {
		return 0, 0, fmt.Errorf("%w: %d coordinates for it, need 0 or more", ErrSigma, coordinates)
	}
	if coordinates == 0 || coordinates > d {
		coordinates = d
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
			rewards[i*coordinates+s] = x
		}
	}
	for i := range n {
		if ctx.Err() != nil {
			return 0, 0, stopped(ctx, coordinates)
		}
		sigma = max(sigma, subGaussian(rewards[i*coordinates:(i+1)*coordinates]))
	}
	return sigma, int64(n) * int64(coordinates), nil
}

// subGaussian is the least sub-Gaussian parameter of a uniform draw from a list, 0 if its values are equal. It overwrites
// the list.
func subGaussian(list []float64) float64 {
	mean, size := 0.0, float64(len(list))
	for _, x := range list {
		mean += x / size
	}
	squares, least, most := 0.0, 0.0, 0.0
	for p, x := range list {
		x -= mean
		list[p] = x
		squares += x * x / size
		least, most = min(least, x), max(most, x)
	}
	sd := math.Sqrt(squares)
	if sd == 0 {
		return 0
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
			for _, x := range list {
				sum += math.Exp(side*l*x - l*reach)
			}
			log := l*reach + math.Log(sum/size)
			sigma = max(sigma, math.Sqrt(2*max(0, log))/l)
		}
	}
	return sigma
}
