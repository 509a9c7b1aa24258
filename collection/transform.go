package collection

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/mat"

	"thresher/bandit/philox"
	"thresher/cpu/simd"
)

// haarLimit is the greatest dimension that is rotated by a true Haar matrix.
const haarLimit = 256

// Streams of the seeded generator, one for each use of chance.
const (
	streamRotation = 1 + iota
	streamHead
	streamSample
	streamOrder
	streamPermutation
	streamPilot
)

func generator(seed uint64, stream uint64) *rand.Rand { return rand.New(philox.New(seed, stream)) }

// transform splits a vector into its head, U^T v, and its rotated rest,
// R (v - U U^T v) in D dimensions.
type transform struct {
	dim, D, r, rounds int
	haar              []float32   // [D][D] when D <= haarLimit
	sign              [][]float32 // [rounds][D], +1 or -1
	perm              [][]uint32  // [rounds][D]
	u                 []float32   // head directions as rows, [r][dim]
	defect            float64     // Frobenius norm of U U^T - I (as rows)
}

// rotatedDim is D for rows of dim coordinates: dim itself for a Haar matrix,
// else the next multiple of 32, so that blocks of 32 to 256 tile it.
func rotatedDim(dim int) int {
	if dim <= haarLimit {
		return (dim + 3) &^ 3
	}
	return (dim + 31) &^ 31
}

// rotationRounds: two rounds mix 256^2 coordinates; a dimension that is no
// multiple of 256 has smaller blocks at its end, which a third round makes up
// for.
func rotationRounds(D int) int {
	switch {
	case D <= haarLimit:
		return 0
	case D > 16384 || D%256 != 0:
		return 3
	}
	return 2
}

// newTransform draws the rotation of a seed. The same seed and dimension give
// the same rotation everywhere, but for the last bits of a Haar matrix, which
// collection files therefore carry.
func newTransform(dim int, seed uint64) *transform {
	t := &transform{dim: dim, D: rotatedDim(dim)}
	t.rounds = rotationRounds(t.D)
	r := generator(seed, streamRotation)
	if t.rounds == 0 {
		t.haar = haarMatrix(t.D, r)
		return t
	}
	for range t.rounds {
		s, p := make([]float32, t.D), make([]uint32, t.D)
		var bits uint64
		for i := range s {
			if i%64 == 0 {
				bits = r.Uint64()
			}
			s[i] = 1 - 2*float32(bits>>(i%64)&1)
			p[i] = uint32(i)
		}
		r.Shuffle(t.D, func(i, j int) { p[i], p[j] = p[j], p[i] })
		t.sign, t.perm = append(t.sign, s), append(t.perm, p)
	}
	return t
}

// haarMatrix draws an orthogonal matrix from Haar measure: QR of a Gaussian
// matrix with the signs of R's diagonal moved into Q (Mezzadri,
// arXiv math-ph/0609050).
func haarMatrix(n int, r *rand.Rand) []float32 {
	g := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			g.Set(i, j, r.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(g)
	var q, rr mat.Dense
	qr.QTo(&q)
	qr.RTo(&rr)
	out := make([]float32, n*n)
	for j := range n {
		s := 1.0
		if rr.At(j, j) < 0 {
			s = -1
		}
		for i := range n {
			out[i*n+j] = float32(s * q.At(i, j))
		}
	}
	return out
}

// rotate writes R src to dst. len(src) = dim, len(dst) = len(tmp) = D; the
// three do not overlap.
func (t *transform) rotate(dst, src, tmp []float32) {
	if t.haar != nil {
		for i := range dst {
			row := t.haar[i*t.D:][:len(src)]
			var s float32
			for j, v := range src {
				s += row[j] * v
			}
			dst[i] = s
		}
		return
	}
	copy(tmp, src)
	clear(tmp[len(src):])
	for k := range t.rounds {
		sign := t.sign[k][:len(tmp)]
		for i, s := range sign {
			tmp[i] *= s
		}
		for o := 0; o < len(tmp); {
			b := blockAt(len(tmp) - o)
			x := tmp[o : o+b]
			simd.FWHT(x)
			f := float32(1 / math.Sqrt(float64(b)))
			for i := range x {
				x[i] *= f
			}
			o += b
		}
		for i, p := range t.perm[k] {
			dst[i] = tmp[p]
		}
		if k+1 < t.rounds {
			copy(tmp, dst)
		}
	}
}

// blockAt is the transform block when left coordinates remain: 256, then
// powers of two.
func blockAt(left int) int {
	for b := haarLimit; ; b /= 2 {
		if b <= left {
			return b
		}
	}
}

func (t *transform) bytes() int64 {
	return int64(len(t.haar)+len(t.u))*4 + int64(t.rounds)*int64(t.D)*8
}

// Query is a query made ready: its head and its rotated rest. The query was
// multiplied by 2^-Exp first, which keeps its norm near 1 (Metric.Exponent) and is
// exact but for entries that vanish beside the greatest.
type Query struct {
	Exp      int
	Norm     float64   // |q| after scaling, rounded upward
	Head     []float32 // [R]
	HeadNorm float64   // |Head|, rounded upward
	Rest     []float32 // [D], rotated
	RestNorm float64   // |Rest|, rounded upward
}

// up is what a sum or norm of rounded float64 terms is multiplied by so that
// it is not below the true value.
const up = 1 + 1e-9

// leastExpEuclidean keeps |v|^2/2, below maxNormEuclidean^2/2 and scaled like the
// query, within float32: a shorter query stays short.
const leastExpEuclidean = -16

// Exponent is the power of two e for which a query of this norm, times 2^-e, has
// a norm in [1/2, 1), so that products of terms neither overflow nor vanish in
// float32. For Euclidean distance a query of norm below 2^-16 stays shorter.
func (m Metric) Exponent(norm float64) int {
	if norm == 0 {
		return 0
	}
	_, e := math.Frexp(norm)
	if m == Euclidean {
		e = max(e, leastExpEuclidean)
	}
	return e
}

// project writes U x to head and leaves x - U^T head in x, summed like the
// atoms' heads: float32 over headBlock coordinates, float64 beyond.
func (t *transform) project(head, x []float32) {
	impl := gonum.Implementation{}
	part := make([]float32, t.r)
	sum := make([]float64, t.r)
	for from := 0; from < t.dim; from += headBlock {
		w := min(headBlock, t.dim-from)
		impl.Sgemv(blas.NoTrans, t.r, w, 1, t.u[from:], t.dim, x[from:], 1, 0, part, 1)
		for j, v := range part {
			sum[j] += float64(v)
		}
	}
	for j, v := range sum {
		head[j] = float32(v)
	}
	impl.Sgemv(blas.Trans, t.r, t.dim, -1, t.u, t.dim, head, 1, 1, x, 1)
}

// Prepare splits query q into dst, whose slices are allocated when nil. scale
// multiplies the query first (1/|q| for cosine, else 1). The collection is
// coded. tmp holds Dim + D floats or is nil.
func (c *Collection) Prepare(dst *Query, q []float32, scale float64, tmp []float32) {
	t := c.transform
	if dst.Rest == nil {
		dst.Head, dst.Rest = make([]float32, t.r), make([]float32, t.D)
	}
	if tmp == nil {
		tmp = make([]float32, t.dim+t.D)
	}
	x, w := tmp[:t.dim], tmp[t.dim:t.dim+t.D]
	dst.Exp = c.Metric.Exponent(math.Sqrt(simd.SumSquares(q)) * scale)
	f := math.Ldexp(scale, -dst.Exp)
	for i, v := range q {
		x[i] = float32(float64(v) * f)
	}
	dst.Norm = math.Sqrt(simd.SumSquares(x)) * up
	if t.r > 0 {
		t.project(dst.Head, x)
	}
	t.rotate(dst.Rest, x, w)
	dst.HeadNorm = math.Sqrt(simd.SumSquares(dst.Head)) * up
	dst.RestNorm = math.Sqrt(simd.SumSquares(dst.Rest)) * up
}
