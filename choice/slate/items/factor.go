package items

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"thresher/internal/philox"
)

// rating is a known entry of a matrix of users by items.
type rating struct {
	user, item int
	value      float64
}

// factors are a completed matrix: entry (u, i) is
//
//	mean + userBias + itemBias + <p_u, q_i>
//
// (Koren, Bell and Volinsky, "Matrix factorization techniques for recommender systems",
// IEEE Computer 2009, equation (4)). A row of users or items is a vector and its bias.
type factors struct {
	mean         float64
	rank         int
	users, items []float64 // rows of rank+1
}

// factorize fits the known entries by alternating least squares with the ridge
// lambda n_u |p_u|^2, where user u has n_u entries; likewise for items. It is a function
// of its arguments alone.
func factorize(known []rating, users, items, rank, sweeps int, lambda float64, seed uint64) (*factors, error) {
	if len(known) == 0 {
		return nil, errors.New("no ratings")
	}
	f := &factors{rank: rank, users: make([]float64, users*(rank+1)), items: make([]float64, items*(rank+1))}
	for _, r := range known {
		f.mean += r.value / float64(len(known))
	}
	byUser, byItem := make([][]entry, users), make([][]entry, items)
	for _, r := range known {
		byUser[r.user] = append(byUser[r.user], entry{r.item, r.value - f.mean})
		byItem[r.item] = append(byItem[r.item], entry{r.user, r.value - f.mean})
	}
	r := rand.New(philox.New(seed, 0))
	for i := range f.items {
		if (i+1)%(rank+1) != 0 { // biases start at 0
			f.items[i] = r.NormFloat64() / math.Sqrt(float64(rank))
		}
	}
	for range sweeps {
		if err := fit(f.users, byUser, f.items, rank, lambda); err != nil {
			return nil, fmt.Errorf("user %w", err)
		}
		if err := fit(f.items, byItem, f.users, rank, lambda); err != nil {
			return nil, fmt.Errorf("item %w", err)
		}
	}
	return f, nil
}

// entry is a known value of a row, in column other.
type entry struct {
	other int
	value float64
}

// fit solves for all rows of one side, with the other fixed. Rows without entries become
// 0.
func fit(rows []float64, known [][]entry, others []float64, rank int, lambda float64) error {
	width := rank + 1
	var chol mat.Cholesky
	design := make([]float64, width)
	design[rank] = 1 // the row's own bias
	for i, entries := range known {
		if len(entries) == 0 {
			continue
		}
		left, right := mat.NewSymDense(width, nil), mat.NewVecDense(width, nil)
		for j := range width {
			left.SetSym(j, j, lambda*float64(len(entries)))
		}
		a, stride, b := left.RawSymmetric().Data, left.RawSymmetric().Stride, right.RawVector().Data
		for _, e := range entries {
			other := others[e.other*width : (e.other+1)*width]
			copy(design, other[:rank])
			rest := e.value - other[rank]
			for j, x := range design { // a few entries: calls would take most of the time
				b[j] += rest * x
				upper := a[j*stride : (j+1)*stride]
				for l := j; l < width; l++ {
					upper[l] += x * design[l]
				}
			}
		}
		if !chol.Factorize(left) {
			return fmt.Errorf("%d: least squares with %d entries and ridge %g are singular", i, len(entries), lambda)
		}
		if err := chol.SolveVecTo(mat.NewVecDense(width, rows[i*width:(i+1)*width]), right); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	return nil
}

// at returns entry (u, i).
func (f *factors) at(u, i int) float64 {
	p, q := f.users[u*(f.rank+1):(u+1)*(f.rank+1)], f.items[i*(f.rank+1):(i+1)*(f.rank+1)]
	x := f.mean + p[f.rank] + q[f.rank]
	for j := range f.rank {
		x += p[j] * q[j]
	}
	return x
}
