package collection

import (
	"errors"
	"fmt"
	"slices"

	"thresher/dataset"
	"thresher/simd"
)

// Rows of float64 are kept as they were given. All that bounds their scores, codes and float32 products, is made of what
// Row returns: the row less Origin, each coordinate rounded to float32. So it bounds the score of that row for a query
// that was treated alike, which differs from the score of the row given by at most what looks.Conversion adds
// (docs/guarantee.md, rows of float64). Scores are of the rows given.

// ErrFloat64 is the error, wrapped with what it is of, of what cannot be done with rows of float64.
var ErrFloat64 = errors.New("vectors are kept as float64, which is not supported here: prepare them as float32")

// minFloat64Norm is the least norm but 0 of a Float64 row for cosine: below it rounding to float32 may take too much of
// a row.
const minFloat64Norm = minNorm

// Float64 reports whether rows are kept as float64, so that queries are needed in float64, too.
func (c *Collection) Float64() bool { return c.Elem() == dataset.ElemFloat64 }

// QueryOrigin is what queries are to be taken relative to before they are rounded: Origin, and nil of Float64, whose
// queries are scored as they are given.
func (c *Collection) QueryOrigin() []float64 {
	if c.Float64() {
		return nil
	}
	return c.Origin
}

// originOf returns the Origin of vectors whose values float32 does not hold, nil for others.
func originOf(v dataset.Vectors) []float64 {
	if v.Elem() != dataset.ElemFloat64 {
		return nil
	}
	return dataset.ChooseOrigin(v.Float64s(), v.Dim())
}

// narrow is Read of Float64 rows.
func (c *Collection) narrow(dst []float32, at int) {
	given := c.Vectors.Float64s()[at:][:len(dst)]
	if c.Origin == nil {
		kernels.Narrow(dst, given, 1)
		return
	}
	for from := at % c.Dim; len(given) > 0; from = 0 {
		n := min(c.Dim-from, len(given))
		for j, shift := range c.Origin[from:][:n] {
			dst[j] = float32(given[j] - shift)
		}
		dst, given = dst[n:], given[n:]
	}
}

// row64 is row i as given, of Float64.
func (c *Collection) row64(i int) []float64 { return c.Vectors.Float64s()[i*c.Dim:][:c.Dim] }

// CheckGiven returns an error for a vector of float64 whose norm is too small for cosine.
func (m Metric) CheckGiven(v []float64) error {
	if !m.Normalises() || simd.SumSquares64(v) >= minFloat64Norm*minFloat64Norm || !slices.ContainsFunc(v, func(x float64) bool { return x != 0 }) {
		return nil
	}
	return fmt.Errorf("norm is not 0 and below %g: cosines need more", minFloat64Norm)
}

// refused64 returns the error of Float64 row i whose norm in float32 is not below limit: its first value that float32
// cannot hold, or the norm.
func (c *Collection) refused64(row []float32, i int, norm, limit float64) error {
	for j, v := range row {
		if v-v != 0 {
			return &RowError{Row: i, Column: j, Err: fmt.Errorf("value %g is not finite as float32", c.Vectors.Float64s()[i*c.Dim+j])}
		}
	}
	return rowError(row, i, norm, limit)
}
