package collection

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"thresher/bandit"
	"thresher/internal/philox"
)

// Streams of the seeded generator, one for each random choice.
const (
	streamRotation = 1 + iota
	streamHead
	streamSample
	streamOrder
	streamPermutation
	streamPilot
	streamMatrix
)

func generator(seed uint64, stream uint64) *rand.Rand { return rand.New(philox.New(seed, stream)) }

// sampledRows returns m of n numbers in random order.
func sampledRows(seed, stream uint64, n, m int) []uint32 {
	sample := make([]uint32, m)
	for k, i := range generator(seed, stream).Perm(n)[:m] {
		sample[k] = uint32(i)
	}
	return sample
}

// transform splits a vector into its head, U^T v, and its rotated rest, R (v - U U^T v), in D
// dimensions.
type transform struct {
	dim, D, r, rounds int
	haar              []float32   // [D][D] if D <= bandit.HaarMaxDim, until packed
	sign              [][]float32 // [rounds][D], +1 or -1
	perm              [][]uint32  // [rounds][D]
	u                 []float32   // head directions as rows, [r][dim], until packed
	defect            float64     // Frobenius norm of U U^T - I (as rows)

	ontoHead  packed // U^T: dim rows, r columns
	minusHead packed // -U: r rows, dim columns
	rotation  packed // R^T: dim rows, D columns, if D <= bandit.HaarMaxDim
}

// largestBlock is the size of a transform block, unless fewer coordinates remain.
const largestBlock = 256

// rotatedDim returns D for rows of dim coordinates: for a Haar matrix the next multiple of 4,
// else the next multiple of 32, which blocks of 32 to largestBlock coordinates divide.
func rotatedDim(dim int) int {
	if dim <= bandit.HaarMaxDim {
		return (dim + 3) &^ 3
	}
	return (dim + 31) &^ 31
}

// rotationRounds returns the number of rounds in D dimensions. The first round spreads a
// vector within one block over its b coordinates, the second over as many blocks, largestBlock
// times b coordinates. If that is less than D, the next round would mix two vectors of one block
// alike and not at random (docs/guarantee.md, "The law alone"); so every round but the last
// must reach all of D.
func rotationRounds(D int) int {
	if D <= bandit.HaarMaxDim {
		return 0
	}
	least := min(D&-D, largestBlock) // the last block is the smallest
	rounds := 3
	for filled := largestBlock * least; filled < D; filled *= largestBlock {
		rounds++
	}
	return rounds
}

// newTransform draws the rotation of a seed. It depends on seed and dimension alone, except
// for the last bits of a Haar matrix, which collection files therefore store.
func newTransform(dim int, seed uint64) *transform {
	t := &transform{dim: dim, D: rotatedDim(dim)}
	t.rounds = rotationRounds(t.D)
	r := generator(seed, streamRotation)
	if t.rounds == 0 {
		t.haar = haarMatrix(t.D, r)
		return t
	}
	for range t.rounds {
		s, p := make([]float32, t.D), indexes(t.D)
		signs(s, r)
		r.Shuffle(t.D, func(i, j int) { p[i], p[j] = p[j], p[i] })
		t.sign, t.perm = append(t.sign, s), append(t.perm, p)
	}
	return t
}

// signs fills dst with random signs, +1 or -1.
func signs(dst []float32, r *rand.Rand) {
	var bits uint64
	for i := range dst {
		if i%64 == 0 {
			bits = r.Uint64()
		}
		dst[i] = 1 - 2*float32(bits>>(i%64)&1)
	}
}

// haarMatrix draws an orthogonal matrix from Haar measure: QR of a Gaussian matrix with the
// signs of R's diagonal moved to Q (Mezzadri, arXiv math-ph/0609050).
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

// OrthogonalMatrix returns an orthogonal matrix of n x n, row by row, rounded to float32. It depends on n alone.
func OrthogonalMatrix(n int) []float32 { return haarMatrix(n, generator(uint64(n), streamMatrix)) }

// rotate writes R x to dst by rounds and overwrites x and tmp. All have length D and none
// overlaps another. It is not for Haar matrices.
func (t *transform) rotate(dst, x, tmp []float32) {
	for k, sign := range t.sign {
		for o := 0; o < t.D; {
			block := blockAt(t.D - o)
			// As many blocks of this size as follow each other.
			n := (t.D - o) / block * block
			kernels.FWHTScale(x[o:o+n], sign[o:o+n], block, float32(1/math.Sqrt(float64(block))))
			o += n
		}
		to := tmp
		if k == t.rounds-1 {
			to = dst
		}
		kernels.Permute(to, x, t.perm[k])
		x, tmp = tmp, x
	}
}

// blockAt returns the size of the transform block when left coordinates remain, at least one: largestBlock,
// then smaller powers of two.
func blockAt(left int) int {
	b := largestBlock
	for b > max(left, 1) {
		b /= 2
	}
	return b
}

// pack converts the final matrices to Gemm's layout and drops the originals.
func (t *transform) pack() {
	if t.rounds == 0 {
		t.rotation = newPacked(t.dim, t.D)
		t.rotation.fillColumns(t.haar, t.D, t.D)
		t.haar = nil
	}
	if t.r == 0 {
		return
	}
	t.ontoHead = newPacked(t.dim, t.r)
	t.ontoHead.fillColumns(t.u, t.dim, t.r)
	t.minusHead = newPacked(t.r, t.dim)
	t.minusHead.fillRows(t.u, t.dim, t.dim)
	for i, v := range t.minusHead.data {
		t.minusHead.data[i] = -v
	}
	t.u = nil
}

// bytes returns the memory of the rotation and of the packed head.
func (t *transform) bytes() int64 {
	n := int64(t.r) * int64(t.dim+padded(t.dim))
	if t.rounds == 0 {
		n += int64(t.dim) * int64(padded(t.D))
	} else {
		n += int64(2*t.rounds) * int64(t.D) // sign and perm
	}
	return 4 * n
}
