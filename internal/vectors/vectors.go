// Package vectors makes rows to search, for tests and measurements. Every generator
// returns n rows of dim coordinates, row-major, and draws from r in an order that is part
// of its contract: measurements and calibrated tests depend on the exact bits.
package vectors

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Rand returns the generator of a seed.
func Rand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x7468726573686572)) }

// Gaussian returns independent standard normals: the hard case, because a prefix has no
// information about the other coordinates.
func Gaussian(r *rand.Rand, n, dim int) []float32 {
	x := make([]float32, n*dim)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// OwnMeans is NORMAL_CUSTOM of arXiv 2212.07551: every row has a mean of its own,
// standard normal, and coordinates of variance 1 about it.
func OwnMeans(r *rand.Rand, n, dim int) []float32 {
	x := make([]float32, n*dim)
	for row := range slices.Chunk(x, dim) {
		mean := r.NormFloat64()
		for j := range row {
			row[j] = float32(mean + r.NormFloat64())
		}
	}
	return x
}

// Embeddings returns rows like sentence embeddings: 64 directions with variances 1, 1/2,
// 1/3, .., a common offset and noise.
func Embeddings(r *rand.Rand, n, dim int) []float32 {
	const directions = 64
	basis := make([]float64, (directions+1)*dim)
	for i := range basis {
		basis[i] = r.NormFloat64() / math.Sqrt(float64(dim))
	}
	offset := basis[directions*dim:]
	sum := make([]float64, dim)
	rows := make([]float32, n*dim)
	for row := range slices.Chunk(rows, dim) {
		for j := range sum {
			sum[j] = offset[j] + .5*r.NormFloat64()/math.Sqrt(float64(dim))
		}
		for f := range directions {
			w := r.NormFloat64() / math.Sqrt(float64(f+1))
			for j, u := range basis[f*dim : (f+1)*dim] {
				sum[j] += w * u
			}
		}
		for j, x := range sum {
			row[j] = float32(x)
		}
	}
	return rows
}

// PowerLaw returns rows in 32 clusters whose coordinates decay like j^-0.7, as those of
// text embeddings do in their principal axes.
func PowerLaw(r *rand.Rand, n, dim int) []float32 {
	x := make([]float32, n*dim)
	centres := Gaussian(r, 32, dim)
	decay := make([]float32, dim)
	for j := range decay {
		decay[j] = float32(math.Pow(float64(j+1), -.7))
	}
	for i := range n {
		c := centres[r.IntN(32)*dim:][:dim]
		for j := range dim {
			x[i*dim+j] = (1.5*c[j] + float32(r.NormFloat64())) * decay[j]
		}
	}
	return x
}

// TFIDF returns rows like bags of words: 8 to 31 words, drawn by Zipf's law and weighted by
// rarity; the other coordinates are zero.
func TFIDF(r *rand.Rand, n, dim int) []float32 {
	x := make([]float32, n*dim)
	for i := range n {
		for range 8 + r.IntN(24) {
			word := int(math.Exp(r.Float64()*math.Log(float64(dim)))) - 1
			x[i*dim+word] += float32(1 + math.Log(float64(word+2)))
		}
	}
	return x
}

// Sparse returns rows with at most few nonzero coordinates, which are in [1, 2).
func Sparse(r *rand.Rand, n, dim, few int) []float32 {
	x := make([]float32, n*dim)
	for i := range n {
		for range few {
			x[i*dim+r.IntN(dim)] = float32(1 + r.Float64())
		}
	}
	return x
}

// Counts returns rows that count, as whole numbers, words of texts of words words, drawn uniformly: most products are 0,
// and the others tie.
func Counts(r *rand.Rand, n, dim, words int) []float32 {
	x := make([]float32, n*dim)
	for i := range n {
		for range words {
			x[i*dim+r.IntN(dim)]++
		}
	}
	return x
}

// NearDuplicates returns rows that differ from one of five originals by a relative 1e-3
// in each coordinate.
func NearDuplicates(r *rand.Rand, n, dim int) []float32 {
	x := make([]float32, n*dim)
	originals := Gaussian(r, 5, dim)
	for i := range n {
		o := originals[r.IntN(5)*dim:][:dim]
		for j := range dim {
			x[i*dim+j] = o[j] * (1 + 1e-3*float32(r.NormFloat64()))
		}
	}
	return x
}

// Ties returns rows of a falling spectrum, of which one in nine repeats an earlier row
// and one in seven consists of integers from -2 to 2, so that scores tie exactly.
func Ties(r *rand.Rand, n, dim int) []float32 {
	rows := make([]float32, n*dim)
	for i := range n {
		row := rows[i*dim : (i+1)*dim]
		if i > 0 && i%9 == 0 {
			from := r.IntN(i)
			copy(row, rows[from*dim:(from+1)*dim])
			continue
		}
		size := math.Exp(.3 * r.NormFloat64())
		for j := range row {
			row[j] = float32(size * r.NormFloat64() / math.Sqrt(1+float64(j)/4))
			if i%7 == 0 {
				row[j] = float32(r.IntN(5) - 2)
			}
		}
	}
	return rows
}

// Scale multiplies every row by its own factor, 10^e with e uniform in [lo, hi], and
// returns rows.
func Scale(r *rand.Rand, rows []float32, dim int, lo, hi float64) []float32 {
	for row := range slices.Chunk(rows, dim) {
		f := math.Pow(10, lo+(hi-lo)*r.Float64())
		for j := range row {
			row[j] = float32(float64(row[j]) * f)
		}
	}
	return rows
}
