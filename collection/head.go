package collection

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/mat"
)

const (
	headSample     = 2048    // atoms whose second moments give the head, at most; an eighth of few
	headSampleMax  = 1 << 24 // floats of the sample, at most
	headIterations = 2
	headSpare      = 16 // extra directions of the range finder
)

// headSize is the number of head directions for n atoms of dim coordinates. A
// head must leave 16 dimensions and half the space, be seen by enough atoms,
// and its directions must stay a small part of the data's memory.
func headSize(n, dim int) int {
	r := 32
	if dim >= 768 {
		r = 64
	}
	for ; r >= 32; r /= 2 {
		small := r*dim <= max(n*dim/50, 1<<16)
		if r <= dim/2 && dim-r >= MinRotated && n >= 4*r && small {
			return r
		}
	}
	return 0
}

// fitHead finds the r leading principal directions of sample ([rows][dim],
// second moments, not centred) by a randomised range finder with power
// iterations (Halko, Martinsson, Tropp, arXiv 0909.4061, algorithm 4.4), then
// mixes them by a random rotation so that no direction eats the int8 range.
// It returns the directions as rows, [r][dim], and the Frobenius norm of
// U U^T - I.
func fitHead(sample []float32, rows, dim, r int, seed uint64) ([]float32, float64) {
	g := generator(seed, streamHead)
	impl := gonum.Implementation{}
	w := min(r+headSpare, dim, rows)
	y := make([]float32, w*dim)
	z := make([]float32, rows*w)
	for i := range y {
		y[i] = float32(g.NormFloat64())
	}
	orthonormalize(y, w, dim)
	for it := 0; ; it++ {
		impl.Sgemm(blas.NoTrans, blas.Trans, rows, w, dim, 1, sample, dim, y, dim, 0, z, w)
		if it == headIterations {
			break
		}
		impl.Sgemm(blas.Trans, blas.NoTrans, w, dim, rows, 1, z, w, sample, dim, 0, y, dim)
		orthonormalize(y, w, dim)
	}
	gram := mat.NewSymDense(w, nil)
	for i := range w {
		for j := i; j < w; j++ {
			var s float64
			for k := 0; k < len(z); k += w {
				s += float64(z[k+i]) * float64(z[k+j])
			}
			gram.SetSym(i, j, s)
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(gram, true) {
		// cannot happen for a finite symmetric matrix; the plain range serves
		u := y[:r*dim]
		return u, defect(u, r, dim)
	}
	values := eig.Values(nil)
	order := make([]int, w)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return values[order[a]] > values[order[b]] })
	var vec mat.Dense
	eig.VectorsTo(&vec)
	mix := haarMatrix(r, g)
	coef := make([]float32, r*w) // rows: new direction in terms of y's rows
	for i := range r {
		for l := range w {
			var s float64
			for j := range r {
				s += float64(mix[i*r+j]) * vec.At(l, order[j])
			}
			coef[i*w+l] = float32(s)
		}
	}
	u := make([]float32, r*dim)
	impl.Sgemm(blas.NoTrans, blas.NoTrans, r, dim, w, 1, coef, w, y, dim, 0, u, dim)
	orthonormalize(u, r, dim)
	return u, defect(u, r, dim)
}

// orthonormalize makes the rows of y, [k][dim], orthonormal by Gram-Schmidt in
// float64, twice. A row that vanishes becomes zero.
func orthonormalize(y []float32, k, dim int) {
	row := make([]float64, dim)
	for i := range k {
		a := y[i*dim : (i+1)*dim]
		for c, v := range a {
			row[c] = float64(v)
		}
		before := norm64(row)
		for range 2 {
			for j := range i {
				b := y[j*dim : (j+1)*dim]
				var s float64
				for c, v := range b {
					s += row[c] * float64(v)
				}
				for c, v := range b {
					row[c] -= s * float64(v)
				}
			}
		}
		s := norm64(row)
		if s <= 1e-6*before || s == 0 {
			clear(a)
			continue
		}
		for c := range a {
			a[c] = float32(row[c] / s)
		}
	}
}

func norm64(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

// defect is the Frobenius norm of U U^T - I over the rows that are not zero,
// rounded upward.
func defect(u []float32, r, dim int) float64 {
	var sum float64
	for i := range r {
		for j := i; j < r; j++ {
			var s float64
			for c := range dim {
				s += float64(u[i*dim+c]) * float64(u[j*dim+c])
			}
			if i == j {
				if s > 0.5 {
					s--
				}
				sum += s * s
			} else {
				sum += 2 * s * s
			}
		}
	}
	return math.Sqrt(sum) * (1 + 1e-6)
}
