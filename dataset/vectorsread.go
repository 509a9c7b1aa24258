package dataset

import (
	"io"
	"math"
)

// vectorsReader reads vectors in memory as those of a file.
type vectorsReader struct {
	v      Vectors
	next   int     // row
	last   Vectors // of the last read
	change Change
}

// Reader returns a Reader of the vectors, without ids, that is a TypedReader, too. Its Read rounds those of
// ElemFloat64; it has methods Origin and Change, by which collections are told.
func (v Vectors) Reader() Reader { return &vectorsReader{v: v} }

func (r *vectorsReader) Dim() int      { return r.v.dim }
func (r *vectorsReader) Len() int64    { return int64(r.v.Len()) }
func (r *vectorsReader) IDs() []string { return nil }
func (r *vectorsReader) Close() error  { return nil }
func (r *vectorsReader) Elem() Elem    { return r.v.elem }

// Origin is nil: the rows are relative to no point.
func (r *vectorsReader) Origin() []float64 { return nil }

// Change is what rounding changed of the rows that Read has read.
func (r *vectorsReader) Change() Change { return r.change }

// take returns the next rows, at most n of them, and moves beyond them.
func (r *vectorsReader) take(n int) (Vectors, error) {
	left := r.v.Len() - r.next
	r.last = Vectors{}
	if left == 0 {
		return Vectors{}, io.EOF
	}
	if n = min(n, left); n == 0 {
		return Vectors{}, io.ErrShortBuffer
	}
	r.next += n
	r.last = r.v.Slice(r.next-n, r.next)
	return r.last, nil
}

func (r *vectorsReader) Read(dst []float32) (int, error) {
	rows, err := r.take(len(dst) / max(1, r.v.dim))
	if err == nil {
		rows.Read32(dst[:rows.Len()*rows.dim], 0)
		for i, x := range rows.Float64s() {
			if float64(dst[i]) != x {
				r.change.Add(Change{1, math.Abs(x - float64(dst[i]))})
			}
		}
	}
	return rows.Len(), err
}

// ReadTyped is that of TypedReader.
func (r *vectorsReader) ReadTyped(dst []byte) (int, error) {
	rows, err := r.take(len(dst) / max(1, r.v.dim*r.v.elem.Size()))
	copy(dst, rows.data)
	return rows.Len(), err
}
