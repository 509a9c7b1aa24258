package slate

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// Scorer scores the rows of one matrix for many queries at once. A Many uses it on a
// device to exclude items; its figures never choose one. It must be safe for concurrent
// use.
type Scorer interface {
	// Score writes, for query q and row r of R rows,
	//
	//	dst[q*R+r] = sum_g x_r(g) linear[q*d+g] + sqrt(sum_g x_r(g)^2 square[q*d+g])
	//
	// with a relative error of at most (d+8) 2^-23, plus 2^-55: products and sums in float32,
	// in any order. All entries of x, linear and square are in [0,1], and len(linear) =
	// len(square) is a multiple of d. It retains no slice.
	Score(ctx context.Context, dst, linear, square []float32) error
}

// blasScorer is the Scorer of the CPU: two matrix products.
type blasScorer struct {
	rows, d int
	x       []float32 // d*rows, coordinate after coordinate
	squared []float32
}

// NewScorer returns a Scorer on the CPU for a matrix of rows of d numbers in [0,1],
// row-major. It copies the matrix twice, 8 bytes an entry.
func NewScorer(d int, matrix []float32) Scorer {
	rows := len(matrix) / d
	s := &blasScorer{rows: rows, d: d, x: make([]float32, rows*d), squared: make([]float32, rows*d)}
	for r := range rows {
		for g, x := range matrix[r*d : (r+1)*d] {
			s.x[g*rows+r] = x
			s.squared[g*rows+r] = x * x
		}
	}
	return s
}

// Products are cut into tiles that gonum multiplies in the calling goroutine: from four
// blocks of 64 by 64 on it would start goroutines, while a Many keeps every core busy
// already.
const (
	tileQueries = 64
	tileRows    = 192
)

func (s *blasScorer) Score(ctx context.Context, dst, linear, square []float32) error {
	var widths [tileQueries * tileRows]float32
	queries := len(linear) / s.d
	for q := 0; q < queries; q += tileQueries {
		if err := ctx.Err(); err != nil {
			return err
		}
		nq := min(tileQueries, queries-q)
		of := func(v []float32) blas32.General {
			return blas32.General{Rows: nq, Cols: s.d, Stride: s.d, Data: v[q*s.d : (q+nq)*s.d]}
		}
		for r := 0; r < s.rows; r += tileRows {
			nr := min(tileRows, s.rows-r)
			tile := func(v []float32) blas32.General {
				return blas32.General{Rows: s.d, Cols: nr, Stride: s.rows, Data: v[r : (s.d-1)*s.rows+r+nr]}
			}
			sums := blas32.General{Rows: nq, Cols: nr, Stride: s.rows, Data: dst[q*s.rows+r : (q+nq-1)*s.rows+r+nr]}
			blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, of(linear), tile(s.x), 0, sums)
			w := blas32.General{Rows: nq, Cols: nr, Stride: tileRows, Data: widths[:]}
			blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, of(square), tile(s.squared), 0, w)
			for i := range nq {
				line := sums.Data[i*s.rows:][:nr]
				for k, v := range widths[i*tileRows:][:nr] {
					line[k] += float32(math.Sqrt(float64(v)))
				}
			}
		}
	}
	return nil
}
