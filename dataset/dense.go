package dataset

import (
	"bytes"
	"io"
)

// dense reads rows that are stored without gaps.
type dense struct {
	name string
	r    io.Reader // at the next element
	shut io.Closer
	kind kind
	big  bool // big-endian
	dim  int
	rows int64
	next int64 // row that Read returns next
	// backed says that the file is known to be large enough for rows x dim elements; otherwise they are a claim.
	backed bool
	buf    []byte
	err    error
}

// newDense returns a reader of rows and columns that checkShape has accepted. If their size is only claimed, it
// checks that the first row exists before a caller allocates memory for it.
func newDense(d *dense, opt Options) (Reader, error) {
	row, ok := product(d.rows, int64(d.dim), int64(d.kind.size()))
	if !ok {
		return nil, fail(d.name, "%d rows of %d columns do not fit an address space", d.rows, d.dim)
	}
	row /= d.rows
	if !d.backed && row > trustedRow {
		first, err := readGrowing(d.r, nil, row)
		if err != nil {
			return nil, failAt(d.name, 0, int64(len(first)/d.kind.size()), "%w", cutShort(err))
		}
		d.r = io.MultiReader(bytes.NewReader(first), d.r)
	}
	d.buf = make([]byte, min(int64(streamBuffer), d.rows*row))
	return opt.narrow(d, d.name), nil
}

// checkShape rejects empty matrices and more columns than there may be.
func (b *Budget) checkShape(name string, rows, dim int64) error {
	switch {
	case rows < 0 || dim < 0:
		return fail(name, "negative shape (%d, %d)", rows, dim)
	case dim == 0:
		return fail(name, "rows have zero columns")
	case rows == 0:
		return fail(name, "%w: the matrix is empty", ErrNoRows)
	}
	if err := b.checkColumns(dim); err != nil {
		return fail(name, "%w", err)
	}
	return nil
}

func (d *dense) Dim() int        { return d.dim }
func (d *dense) Len() int64      { return d.rows }
func (d *dense) IDs() []string   { return nil }
func (d *dense) Close() error    { return d.shut.Close() }
func (d *dense) justified() bool { return d.backed }

func (d *dense) element() kind                       { return d.kind }
func (d *dense) isWide() bool                        { return d.kind.wide() }
func (d *dense) isWhole() bool                       { return d.kind.whole() }
func (d *dense) Read(dst []float32) (int, error)     { return readDense(d, dst) }
func (d *dense) readWide(dst []float64) (int, error) { return readDense(d, dst) }

// readDense is Read in either precision.
func readDense[T precision](d *dense, dst []T) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.next == d.rows {
		return 0, io.EOF
	}
	if len(dst) < d.dim {
		return 0, io.ErrShortBuffer
	}
	n := int(min(int64(len(dst)/d.dim), d.rows-d.next))
	read, err := readElements(d, dst[:n*d.dim])
	if err != nil {
		d.err = d.place(read, err)
		n = read / d.dim
	}
	d.next += int64(n)
	if d.err == nil && d.next == d.rows {
		d.err = d.finish()
	}
	return n, d.err
}

// readElements fills dst and returns how many elements are valid.
func readElements[T precision](d *dense, dst []T) (int, error) {
	size := d.kind.size()
	for done := 0; done < len(dst); {
		want := min(len(dst)-done, len(d.buf)/size)
		b := d.buf[:want*size]
		got, err := io.ReadFull(d.r, b)
		if d.big {
			swapBytes(b[:got], size)
		}
		have := got / size
		if bad := decodeAs(d.kind, dst[done:done+have], b); bad >= 0 {
			return done + bad, d.kind.refusal(b[bad*size:])
		}
		done += have
		if err != nil {
			return done, cutShort(err)
		}
	}
	return len(dst), nil
}

// place adds the position of an element, counted from the start of the current Read, to an error.
func (d *dense) place(element int, err error) error {
	row := d.next + int64(element/d.dim)
	return failAt(d.name, row, int64(element%d.dim), "%w", err)
}

// finish checks that nothing follows the last row. Reaching the end also makes gzip and
// zip verify their checksums.
func (d *dense) finish() error {
	switch n, err := io.ReadFull(d.r, make([]byte, 1)); {
	case n == 1:
		return fail(d.name, "data goes on after the %d rows that the header announces", d.rows)
	case err != io.EOF:
		return fail(d.name, "%w", cutShort(err))
	}
	return nil
}

// checkSize compares the size that a header implies with the size of the file, both from
// the first element on. It accepts streams (-1).
func checkSize(name string, rows, dim int64, elem int, have int64) error {
	need, ok := product(rows, dim, int64(elem))
	if !ok {
		return fail(name, "%d rows of %d columns do not fit an address space", rows, dim)
	}
	if have < 0 || need == have {
		return nil
	}
	if have > need {
		return fail(name, "%d bytes follow the %d rows of %d columns that the header announces", have-need, rows, dim)
	}
	row, col := int64(0), int64(0)
	if rowSize := dim * int64(elem); rowSize > 0 {
		row, col = have/rowSize, have%rowSize/int64(elem)
	}
	return failAt(name, row, col, "the header announces %d rows of %d columns, %d bytes, but %d are there: %w",
		rows, dim, need, have, cutShort(io.EOF))
}
