package collection

import (
	"context"
	"fmt"
	"io"
)

// Source streams rows, like a dataset.Reader.
type Source interface {
	Dim() int
	Read(dst []float32) (rows int, err error)
}

// from returns o with what src says of its rows, once they are read.
func (o *Options) from(src Source) *Options {
	var own Options
	if o != nil {
		own = *o
	}
	r := roundedOf(src)
	if origin := r.Origin(); origin != nil {
		own.Origin = origin
	}
	own.Change.Add(r.Change())
	return &own
}

// streamFloats is how many elements of a source are read at a time.
const streamFloats = 1 << 20

// readRows reads the rows of src in order and passes them to f, whole rows of at most
// streamFloats elements together unless a single row is longer. It returns their number.
func readRows(ctx context.Context, src Source, f func(rows []float32) error) (int, error) {
	dim := src.Dim()
	if dim < 1 || dim > MaxDim {
		return 0, fmt.Errorf("%d columns, at least 1 and at most %d", dim, MaxDim)
	}
	buf := make([]float32, max(1, streamFloats/dim)*dim)
	total := 0
	for {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := src.Read(buf)
		if n > 0 {
			if total += n; total > MaxAtoms {
				return total, fmt.Errorf("more than %d rows", MaxAtoms)
			}
			if err := f(buf[:n*dim]); err != nil {
				return total, err
			}
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}
