package collection

import (
	"context"
	"fmt"
	"io"
	"unsafe"

	"thresher/dataset"
)

// Source streams rows, like a dataset.Reader. One that is a dataset.TypedReader, too, has its rows kept in their
// type; but those of float64, which Read rounds, only if Options.Elem is ElemFloat64.
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

// elemOf returns the type in which the rows of src are kept; o may be nil.
func (o *Options) elemOf(src Source) dataset.Elem {
	if typed, ok := src.(dataset.TypedReader); ok && (typed.Elem().Narrow() || o != nil && o.Elem == dataset.ElemFloat64) {
		return typed.Elem()
	}
	return dataset.ElemFloat32
}

// writeRows writes the rows of src to f, in their own type if src is a dataset.TypedReader that o does not have
// rounded, and returns the type and their number.
func writeRows(ctx context.Context, f io.Writer, src Source, o *Options) (dataset.Elem, int, error) {
	elem := o.elemOf(src)
	typed, _ := src.(dataset.TypedReader)
	read := func(dst []byte) (int, error) {
		if elem != dataset.ElemFloat32 {
			return typed.ReadTyped(dst)
		}
		return src.Read(unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)/4))
	}
	n, err := readRows(ctx, src.Dim(), elem.Size(), read, func(rows []byte) error {
		_, err := f.Write(rows)
		return err
	})
	return elem, n, err
}

// readRows reads rows of dim elements of so many bytes in order and passes them to f, whole rows of at most
// streamFloats elements together unless a single row is longer. It returns their number.
func readRows(ctx context.Context, dim, size int, read func(dst []byte) (rows int, err error), f func(rows []byte) error) (int, error) {
	if dim < 1 || dim > MaxDim {
		return 0, fmt.Errorf("%d columns, at least 1 and at most %d", dim, MaxDim)
	}
	buf, err := heap{}.bytes("", int64(max(1, streamFloats/dim)*dim*size))
	if err != nil {
		return 0, err
	}
	total := 0
	for {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := read(buf)
		if n > 0 {
			if total += n; total > MaxAtoms {
				return total, fmt.Errorf("more than %d rows", MaxAtoms)
			}
			if err := f(buf[:n*dim*size]); err != nil {
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
