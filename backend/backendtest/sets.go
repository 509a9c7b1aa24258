package backendtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

// Rand returns the generator of a test's seed.
func Rand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x7468726573686572)) }

// Gaussian returns n rows of dim independent normals: the hard case, nothing
// to learn from any prefix.
func Gaussian(r *rand.Rand, n, dim int) []float32 {
	x := make([]float32, n*dim)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// PowerLaw returns rows in 32 clusters whose coordinates decay like j^-0.7:
// like text embeddings.
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

// TFIDF returns rows with few coordinates that are not zero, drawn by Zipf's
// law and weighted by rarity: like bags of words.
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

// NearDuplicates returns rows that differ from one of few originals by a
// relative 1e-3.
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

// hot returns rows with exactly hot coordinates that are not zero.
func hot(r *rand.Rand, n, dim, hot int) []float32 {
	x := make([]float32, n*dim)
	for i := range n {
		for range hot {
			x[i*dim+r.IntN(dim)] = float32(1 + r.Float64())
		}
	}
	return x
}

// scaled multiplies every row by its own factor, 10^e with e uniform in
// [lo, hi].
func scaled(r *rand.Rand, rows []float32, dim int, lo, hi float64) []float32 {
	for i := 0; i < len(rows); i += dim {
		f := math.Pow(10, lo+(hi-lo)*r.Float64())
		for j := i; j < i+dim; j++ {
			rows[j] = float32(float64(rows[j]) * f)
		}
	}
	return rows
}

// queries returns six of the kinds that matter for rows: an atom, an atom with
// noise, its negative, noise alone, zero, and a single coordinate.
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
	q = append(q, Gaussian(r, 1, dim)...)
	q = append(q, make([]float32, 2*dim)...)
	q[len(q)-1-r.IntN(dim)] = 1
	return q
}

// sets returns the small sets the suite runs on, the same ones at each call.
// wide is the power of ten the spread of norms reaches, 30 or less.
func sets(wide float64) []Set {
	r := Rand(1)
	var sets []Set
	add := func(name string, dim int, rows []float32, q []float32) {
		if q == nil {
			q = queries(r, rows, dim)
		}
		sets = append(sets, Set{Name: name, Dim: dim, Rows: rows, Queries: q})
	}
	add("gaussian", 160, Gaussian(r, 500, 160), nil)
	add("gaussian-fast", 300, Gaussian(r, 500, 300), nil)
	add("power-law", 272, PowerLaw(r, 700, 272), nil)
	add("tf-idf", 768, TFIDF(r, 300, 768), nil)
	add("near-duplicates", 256, NearDuplicates(r, 500, 256), nil)

	equal := Gaussian(r, 1, 140)
	for range 199 {
		equal = append(equal, equal[:140]...)
	}
	add("all-equal", 140, equal, nil)

	some := Gaussian(r, 300, 130)
	for i := range 300 {
		if i%3 == 0 {
			clear(some[i*130 : (i+1)*130])
		}
	}
	add("some-zero", 130, some, nil)
	add("all-zero", 130, make([]float32, 150*130), append(Gaussian(r, 1, 130), make([]float32, 130)...))

	// queries of norm about 1, so that no score leaves float32
	q := Gaussian(r, 4, 300)
	for j := range q {
		q[j] /= 17
	}
	add("norm-spread", 300, scaled(r, Gaussian(r, 400, 300), 300, -wide-1, wide-1), append(q, make([]float32, 300)...))
	tiny := scaled(r, Gaussian(r, 200, 140), 140, -31, -29)
	add("tiny", 140, tiny, nil)

	positive := Gaussian(r, 300, 150)
	for j, v := range positive {
		positive[j] = float32(math.Abs(float64(v)))
	}
	negative := slices.Clone(positive[:3*150])
	for j := range negative {
		negative[j] = -negative[j]
	}
	add("negative-scores", 150, positive, negative)

	dominant := Gaussian(r, 400, 200)
	for i := range 400 {
		dominant[i*200+77] *= 1000
	}
	add("dominant-coordinate", 200, dominant, nil)
	add("one-hot", 128, hot(r, 300, 128, 1), nil)
	add("four-hot", 320, hot(r, 300, 320, 4), nil)

	for _, n := range []int{1, 5, 63, 64, 65, 129} {
		add(fmt.Sprintf("n=%d", n), 48, Gaussian(r, n, 48), nil)
	}
	for _, d := range []int{1, 2, 3, 15, 16, 17, 31, 33, 127, 129, 255, 257, 1001} {
		add(fmt.Sprintf("d=%d", d), d, Gaussian(r, 130, d), nil)
	}
	return sets
}
