package backendtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"thresher/internal/vectors"
)

// Set is data and queries, row-major.
type Set struct {
	Name    string
	Dim     int
	Rows    []float32
	Queries []float32
}

// N is the number of atoms.
func (s *Set) N() int { return len(s.Rows) / s.Dim }

// M is the number of queries.
func (s *Set) M() int { return len(s.Queries) / s.Dim }

// Row returns row i; the slice aliases Rows.
func (s *Set) Row(i int) []float32 { return s.Rows[i*s.Dim : (i+1)*s.Dim : (i+1)*s.Dim] }

// Query returns query j; the slice aliases Queries.
func (s *Set) Query(j int) []float32 { return s.Queries[j*s.Dim : (j+1)*s.Dim : (j+1)*s.Dim] }

// queries returns six queries: an atom, an atom with noise, its negative, noise, zero, and a
// vector with one nonzero coordinate.
func queries(r *rand.Rand, rows []float32, dim int) []float32 {
	n := len(rows) / dim
	row := func() []float32 { return rows[r.IntN(n)*dim:][:dim] }
	q := slices.Clone(row())
	near := row()
	var size float64
	for _, v := range near {
		size += float64(v) * float64(v)
	}
	size = math.Sqrt(size / float64(dim))
	for _, v := range near {
		q = append(q, v+float32(.3*size*r.NormFloat64()))
	}
	for _, v := range near {
		q = append(q, -v)
	}
	q = append(q, vectors.Gaussian(r, 1, dim)...)
	q = append(q, make([]float32, 2*dim)...)
	q[len(q)-1-r.IntN(dim)] = 1
	return q
}

// sets returns the small sets of the suite, the same at each call. Norms spread up to a
// factor of 10^wide; wide is at most 30.
func sets(wide float64) []Set {
	r := vectors.Rand(1)
	var sets []Set
	add := func(name string, dim int, rows []float32, q []float32) {
		if q == nil {
			q = queries(r, rows, dim)
		}
		sets = append(sets, Set{Name: name, Dim: dim, Rows: rows, Queries: q})
	}
	add("gaussian", 160, vectors.Gaussian(r, 500, 160), nil)
	add("gaussian-fast", 300, vectors.Gaussian(r, 500, 300), nil)
	add("power-law", 272, vectors.PowerLaw(r, 700, 272), nil)
	add("tf-idf", 768, vectors.TFIDF(r, 300, 768), nil)
	add("near-duplicates", 256, vectors.NearDuplicates(r, 500, 256), nil)

	equal := vectors.Gaussian(r, 1, 140)
	for range 199 {
		equal = append(equal, equal[:140]...)
	}
	add("all-equal", 140, equal, nil)

	some := vectors.Gaussian(r, 300, 130)
	for i := range 300 {
		if i%3 == 0 {
			clear(some[i*130 : (i+1)*130])
		}
	}
	add("some-zero", 130, some, nil)
	add("all-zero", 130, make([]float32, 150*130), append(vectors.Gaussian(r, 1, 130), make([]float32, 130)...))

	// queries of norm about 1, so that no score overflows float32
	q := vectors.Gaussian(r, 4, 300)
	for j := range q {
		q[j] /= 17
	}
	add("norm-spread", 300, vectors.Scale(r, vectors.Gaussian(r, 400, 300), 300, -wide-1, wide-1), append(q, make([]float32, 300)...))
	tiny := vectors.Scale(r, vectors.Gaussian(r, 200, 140), 140, -31, -29)
	add("tiny", 140, tiny, nil)

	positive := vectors.Gaussian(r, 300, 150)
	for j, v := range positive {
		positive[j] = float32(math.Abs(float64(v)))
	}
	negative := slices.Clone(positive[:3*150])
	for j := range negative {
		negative[j] = -negative[j]
	}
	add("negative-scores", 150, positive, negative)

	dominant := vectors.Gaussian(r, 400, 200)
	for i := range 400 {
		dominant[i*200+77] *= 1000
	}
	add("dominant-coordinate", 200, dominant, nil)
	add("one-hot", 128, vectors.Sparse(r, 300, 128, 1), nil)
	add("four-hot", 320, vectors.Sparse(r, 300, 320, 4), nil)

	for _, n := range []int{1, 5, 63, 64, 65, 129} {
		add(fmt.Sprintf("n=%d", n), 48, vectors.Gaussian(r, n, 48), nil)
	}
	for _, d := range []int{1, 2, 3, 15, 16, 17, 31, 33, 127, 129, 255, 257, 1001} {
		add(fmt.Sprintf("d=%d", d), d, vectors.Gaussian(r, 130, d), nil)
	}
	return sets
}
