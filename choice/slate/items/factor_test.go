package items

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"thresher/internal/philox"
)

// A matrix of rank 3 with biases is recovered from 45% of its entries.
func TestFactorizeLowRank(t *testing.T) {
	const users, items, rank = 60, 80, 3
	r := rand.New(philox.New(5, 0))
	p, q := make([]float64, users*rank), make([]float64, items*rank)
	for _, side := range [][]float64{p, q} {
		for i := range side {
			side[i] = r.NormFloat64()
		}
	}
	truth := func(u, i int) float64 {
		x := 3 + .5*math.Sin(float64(u)) + math.Cos(float64(i))
		for j := range rank {
			x += p[u*rank+j] * q[i*rank+j]
		}
		return x
	}
	var known []rating
	hidden := map[[2]int]bool{}
	for u := range users {
		for i := range items {
			if r.Float64() < .45 {
				known = append(known, rating{u, i, truth(u, i)})
			} else {
				hidden[[2]int{u, i}] = true
			}
		}
	}
	f, err := factorize(known, users, items, rank, 60, 1e-7, 1)
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for at := range hidden {
		e := f.at(at[0], at[1]) - truth(at[0], at[1])
		sum += e * e
	}
	if rmse := math.Sqrt(sum / float64(len(hidden))); rmse > .01 {
		t.Errorf("root mean square error of hidden entries %.3g", rmse)
	}
	again, err := factorize(known, users, items, rank, 60, 1e-7, 1)
	if err != nil || again.at(3, 4) != f.at(3, 4) {
		t.Errorf("the same arguments gave %v and %v, %v", f.at(3, 4), again.at(3, 4), err)
	}
}

// Users without ratings are average, and the ridge keeps few ratings from being overfitted.
func TestFactorizeRidge(t *testing.T) {
	known := []rating{{0, 0, 1}, {0, 1, 3}, {2, 1, 5}}
	f, err := factorize(known, 3, 3, 2, 20, .5, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.at(1, 2); got != f.mean || f.mean != 3 {
		t.Errorf("nobody's rating of nothing is %g, mean %g", got, f.mean)
	}
	if got := f.at(2, 1); got <= 3 || got >= 5 {
		t.Errorf("a rating of 5 is fitted as %g; the ridge draws it to the mean of 3", got)
	}
	if _, err := factorize(known, 3, 3, 2, 20, 0, 1); err == nil || !strings.Contains(err.Error(), "user 0: least squares with 2 entries and ridge 0 are singular") {
		t.Errorf("without ridge: %v", err)
	}
	if _, err := factorize(nil, 3, 3, 2, 20, 1, 1); err == nil {
		t.Error("no ratings were factorized")
	}
}
