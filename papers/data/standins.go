package data

import (
	"math"
	"math/rand/v2"

	"thresher/internal/philox"
)

// Prices is a stand-in for CryptoPairs: n atoms and m queries, each the price of a coin at d minutes, a geometric Brownian
// motion. Opening prices are log-uniform over nine decades, 1e-4 to 1e5, and the daily volatility is 4%, so that the largest
// few prices decide every inner product.
func Prices(n, d, m int, seed uint64) *Set {
	const decades, least, daily = 9, 1e-4, .04
	step := daily / math.Sqrt(24*60)
	walk := func(coin int, put func(j int, price float32)) {
		noise := philox.New(seed, streamQueries+uint64(coin))
		log := math.Log(least) + decades*math.Ln10*uniform(philox.New(seed, streamPrices), uint64(coin))
		for j := range d {
			put(j, float32(math.Exp(log)))
			log += step*normal(noise, uint64(j)) - step*step/2
		}
	}
	atoms := &matrix{n: n, d: d, rows: make([]float32, n*d)}
	for i := range n {
		walk(i, func(j int, price float32) { atoms.rows[i*d+j] = price })
	}
	s := &Set{Name: "prices", Atoms: atoms}
	for q := range m {
		x := make([]float32, d)
		walk(n+q, func(j int, price float32) { x[j] = price })
		s.Queries = append(s.Queries, x)
	}
	return s
}

// Descriptors is a stand-in for the transpose of SIFT-1M: atom i is component i of d image descriptors, n + m of which are
// drawn, the last m as queries. A descriptor has a common size, gamma-like; a component has its own mean, exponential
// values around it, and is cut to whole numbers of 0 to 255, as in SIFT. Components of real descriptors are correlated by
// neighbourhood, which these are not.
func Descriptors(n, d, m int, seed uint64) *Set {
	means := make([]float64, n+m)
	model := philox.New(seed, streamModel)
	for i := range means {
		means[i] = 10 + 30*uniform(model, uint64(i))
	}
	sizes, noise := philox.New(seed, streamWeights), philox.New(seed, streamNoise)
	value := func(i, j int) float64 {
		size := .5 + uniform(sizes, uint64(j))
		u := 1 - uniform(noise, uint64(i)<<32|uint64(j))
		return min(255, math.Floor(-means[i]*size*math.Log(u)))
	}
	s := &Set{Name: "descriptors", Atoms: &computed{n, d, value}}
	for q := range m {
		x := make([]float32, d)
		for j := range x {
			x[j] = float32(value(n+q, j))
		}
		s.Queries = append(s.Queries, x)
	}
	return s
}

// Spectrum is NORMAL_CUSTOM's atoms under m queries whose coordinates fall by a power law: |q_j| = j^-power times d^power/2,
// in a random order and with random signs, so that a few coordinates carry most of the query. Atoms are N(theta_i, 1) times
// the query's sign, theta_i from N(0, 1).
func Spectrum(n, d, m int, power float64, seed uint64) *Set {
	r := rand.New(philox.New(seed, streamModel))
	shift := make([]float64, n)
	for i := range shift {
		shift[i] = r.NormFloat64()
	}
	order := r.Perm(d)
	signs := make([]float32, d)
	for j := range signs {
		signs[j] = float32(2*r.IntN(2) - 1)
	}
	noise := philox.New(seed, streamNoise)
	s := &Set{Name: "power-law spectrum", Atoms: &computed{n, d, func(i, j int) float64 {
		return float64(signs[j]) * (shift[i] + normal(noise, uint64(i)<<32|uint64(j)))
	}}}
	for q := range m {
		if q > 0 {
			order = r.Perm(d)
		}
		x, sum := make([]float32, d), 0.0
		for rank, j := range order {
			x[j] = signs[j] * float32(math.Pow(float64(rank+1)/float64(d), -power)/2)
			sum += math.Abs(float64(x[j]))
		}
		means := make([]float64, n)
		for i := range means {
			means[i] = shift[i] * sum / float64(d)
		}
		s.Queries, s.Means = append(s.Queries, x), append(s.Means, means)
	}
	return s
}
