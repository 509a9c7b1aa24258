package collection

import (
	"math"

	"thresher/simd"
)

// Score returns the search score of row i for a query: q.v, the cosine or
// -|q-v|^2/2, of canonical sums (package simd). Every backend's scores are these, bit
// for bit. Rows of Float64 have their scores for queries as given: Sums and ScoreOf.
func (c *Collection) Score(q []float32, i int) float64 {
	wide := make([]float64, len(q))
	for j, v := range q {
		wide[j] = float64(v)
	}
	var sum [1]float64
	c.Sums(kernels, sum[:], []uint32{uint32(i)}, wide, false)
	return c.ScoreOf(i, sum[0], kernels.SumSquares(q))
}

// Scores sets out[k] to the Score of rows[k] for the query q.
func (c *Collection) Scores(out []float64, q []float32, rows []uint32) {
	wide := make([]float64, len(q))
	for j, v := range q {
		wide[j] = float64(v)
	}
	c.scores(out, wide, kernels.SumSquares(q), rows)
}

// Scores64 is Scores for a query of float64, relative to what Vectors are.
func (c *Collection) Scores64(out, q []float64, rows []uint32) {
	c.scores(out, q, simd.SumSquares64(q), rows)
}

// ScoresOfRow sets out[k] to the search score of rows[k] for row i as the query, in the type in which rows are kept.
func (c *Collection) ScoresOfRow(out []float64, i int, rows []uint32) {
	if c.Float64() {
		c.Scores64(out, c.row64(i), rows)
		return
	}
	c.Scores(out, c.Row(i), rows)
}

// scores is Scores for a query of squared norm qq.
func (c *Collection) scores(out, q []float64, qq float64, rows []uint32) {
	c.Sums(kernels, out[:len(rows)], rows, q, false)
	for k, row := range rows {
		out[k] = c.ScoreOf(int(row), out[k], qq)
	}
}

// ScoreOf returns the search score of row i from the canonical sum of its products with a
// query, or of squared differences (Metric.Differences), and the query's squared norm.
func (c *Collection) ScoreOf(i int, sum, qq float64) float64 {
	var vv float64
	if c.RowSquares != nil {
		vv = c.RowSquares[i]
	}
	return c.Metric.score(sum, vv, qq)
}

// ScoresOf replaces sums, each as ScoreOf takes it for row rows[k], by factor times the search scores.
func (c *Collection) ScoresOf(sums []float64, rows []uint32, qq, factor float64) {
	c.Metric.scores(sums, rows, c.RowSquares, qq, factor)
}

// minNorm is the norm below which the error of float32 products of a row with a query of
// norm 1 may be too large to divide by it.
const minNorm = 0x1p-100

// ProductFactor returns the factor that turns float32 products with row i as given into
// products with its working vector. If they may have underflowed, bounded is false and the
// factor 0: they say nothing about the score.
func (c *Collection) ProductFactor(i int) (factor float32, bounded bool) {
	if !c.Metric.Normalises() {
		return 1, true
	}
	switch n := c.RowNorm(i); {
	case n >= minNorm:
		return float32(1 / n), true
	case n > 0:
		return 0, false
	}
	return 0, true
}

// CosineOf returns the cosine of vectors with product dot and squared norms vv and qq; 0 if
// dot is 0. It only uses operations that IEEE 754 rounds in one way, so equal sums give
// equal cosines on every processor. If dot and vv are exact, atoms that are multiples of
// each other have equal cosines: dot^2/vv is computed to twice the precision and rounded
// once. The relative error is below 2^-52 while no square leaves float64's range: for dot
// of magnitude 2^-450 to 2^450 and squared norms of 2^-300 to 2^300.
func CosineOf(dot, vv, qq float64) float64 {
	if dot == 0 {
		return 0
	}
	square := float64(dot * dot)
	beyond := math.FMA(dot, dot, -square) // square + beyond is dot^2
	ratio := square / vv
	ratio += (math.FMA(-ratio, vv, square) + beyond) / vv
	root := math.Sqrt(ratio / qq)
	if dot < 0 { // sooner than Copysign, since the scores that count have one sign
		return -root
	}
	return root
}
