package collection

import (
	"context"
	"fmt"
	"io"
)

// Source streams rows; a dataset.Reader is one.
type Source interface {
	Dim() int
	Len() int64 // rows, or -1 when only reading tells
	Read(dst []float32) (rows int, err error)
}

// streamFloats is how much of a source is read at a time.
const streamFloats = 1 << 20

// stream reads the rows of src in order into what room gives, whole rows of it,
// and hands them to f. It returns their number.
func stream(ctx context.Context, src Source, room func() []float32, f func(rows []float32) error) (int, error) {
	dim := src.Dim()
	total := 0
	for {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		dst := room()
		n, err := src.Read(dst[:len(dst)/dim*dim])
		if n > 0 {
			if total += n; total > MaxAtoms {
				return total, fmt.Errorf("more than %d rows", MaxAtoms)
			}
			if err := f(dst[:n*dim]); err != nil {
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

// columns checks the dimension of a source.
func columns(src Source) error {
	if dim := src.Dim(); dim < 1 || dim > MaxDim {
		return fmt.Errorf("%d columns, at least 1 and at most %d", dim, MaxDim)
	}
	return nil
}

// BuildFrom reads all rows of src into memory, in place where it says how many
// they are, and builds.
func BuildFrom(ctx context.Context, src Source, o *Options) (*Collection, error) {
	if err := columns(src); err != nil {
		return nil, err
	}
	dim := src.Dim()
	var rows, spare []float32
	if n := src.Len(); n > 0 && n <= MaxAtoms {
		rows = make([]float32, 0, min(n*int64(dim), 1<<28))
	}
	room := func() []float32 {
		free := rows[len(rows):cap(rows)]
		if len(free) >= dim {
			return free[:min(len(free), max(dim, streamFloats))]
		}
		if spare == nil {
			spare = make([]float32, max(dim, streamFloats))
		}
		return spare
	}
	keep := func(r []float32) error {
		if spare != nil {
			rows = append(rows, r...)
		} else { // they are where they belong
			rows = rows[:len(rows)+len(r)]
		}
		return nil
	}
	if _, err := stream(ctx, src, room, keep); err != nil {
		return nil, err
	}
	return Build(ctx, rows, dim, o)
}
