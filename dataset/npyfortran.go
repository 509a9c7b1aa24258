package dataset

import (
	"io"
)

// fortran reads a column-major npy one block of rows at a time, from a file with random
// access. Its memory is one block, whatever the size of the file.
type fortran struct {
	*dense
	at    io.ReaderAt
	base  int64 // offset of the first element
	whole bool  // r is read, too, as its end verifies a checksum
	block []float64
	first int64 // first row in block
	held  int   // rows in block
	raw   []byte
}

const (
	fortranBlock = 4 << 20 // most elements of the block, unless one row is longer
	fortranSpan  = 1 << 20 // bytes of one read
)

// openFortran takes a dense reader whose shape was compared with the file.
func openFortran(a *npyArray, d *dense, base int64) (Reader, error) {
	if a.at == nil {
		return nil, fail(a.name, "array is in Fortran order, which cannot be read from a stream or a compressed file; "+
			"save numpy.ascontiguousarray(array), or store it uncompressed in a plain file")
	}
	f := &fortran{dense: d, at: a.at, base: base, whole: a.summed}
	n := max(1, min(int64(fortranBlock/d.dim), d.rows))
	f.block = make([]float64, n*int64(d.dim))
	column := int(n) * d.kind.size()
	f.raw = make([]byte, max(column, int(min(fortranSpan, d.rows*int64(d.dim*d.kind.size())))))
	return a.opt.narrow(f, f.name), nil
}

func (f *fortran) Read(dst []float32) (int, error)     { return readFortran(f, dst) }
func (f *fortran) readWide(dst []float64) (int, error) { return readFortran(f, dst) }

// readFortran is Read in either precision.
func readFortran[T precision](f *fortran, dst []T) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	if len(dst) < f.dim {
		return 0, io.ErrShortBuffer
	}
	n := 0
	for ; n < len(dst)/f.dim && f.next < f.rows; n++ {
		if f.next == f.first+int64(f.held) {
			if f.err = f.fill(); f.err != nil {
				return n, f.err
			}
		}
		at := int(f.next-f.first) * f.dim
		for j, x := range f.block[at : at+f.dim] {
			dst[n*f.dim+j] = T(x)
		}
		f.next++
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// fill loads and transposes the block of rows that starts with the next row.
func (f *fortran) fill() error {
	size := int64(f.kind.size())
	rows := min(int64(len(f.block)/f.dim), f.rows-f.next)
	stride := f.rows * size
	// Several short columns are read at once, including rows outside the block: a call for
	// each would cost more than the bytes.
	perRead := int64(1)
	if stride <= fortranSpan/16 {
		perRead = fortranSpan / stride
	}
	for col := int64(0); col < int64(f.dim); col += perRead {
		cols := min(perRead, int64(f.dim)-col)
		b := f.raw[:(cols-1)*stride+rows*size]
		if _, err := f.at.ReadAt(b, f.base+col*stride+f.next*size); err != nil {
			return failAt(f.name, f.next, col, "%w", cutShort(err))
		}
		for c := range cols {
			if err := f.scatter(b[c*stride:c*stride+rows*size], col+c); err != nil {
				return err
			}
		}
	}
	f.first, f.held = f.next, int(rows)
	if !f.whole {
		return nil
	}
	if _, err := io.CopyN(io.Discard, f.r, rows*int64(f.dim)*size); err != nil {
		return fail(f.name, "%w", cutShort(err))
	}
	if f.next+rows == f.rows {
		return f.finish()
	}
	return nil
}

// scatter writes the elements b of one column to the block.
func (f *fortran) scatter(b []byte, col int64) error {
	size := f.kind.size()
	if f.big {
		swapBytes(b, size)
	}
	for i := 0; i*size < len(b); i++ {
		e := b[i*size : (i+1)*size]
		x, ok := f.kind.one(e)
		if !ok {
			return failAt(f.name, f.next+int64(i), col, "%w", f.kind.refusal(e))
		}
		f.block[i*f.dim+int(col)] = x
	}
	return nil
}
