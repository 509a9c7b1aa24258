package dataset

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// npzResults reads the arrays of a result npz in parallel, a row at a time.
type npzResults struct {
	*source
	ids, scores, pulls, exact *npzColumn // all but ids may be nil
	rows, next                int64
	err                       error
}

// npzColumn is a stream of the rows of one array.
type npzColumn struct {
	name string
	r    *bufio.Reader
	size int // bytes of an element
	cols int64
	big  bool
	kind byte // NumPy's: i, f or b
	buf  []byte
}

func openNPZResults(src *source) (ResultReader, error) {
	entries, err := listNPZ(src)
	if err != nil {
		return nil, err
	}
	z := &npzResults{source: src, rows: -1}
	for _, want := range []struct {
		name  string
		dims  int
		types string
		to    **npzColumn
	}{
		{"ids", 2, "i8 i4", &z.ids}, {"scores", 2, "f4 f8", &z.scores},
		{"pulls", 1, "i8", &z.pulls}, {"exact", 1, "b1", &z.exact},
	} {
		if *want.to, err = z.column(entries, want.name, want.dims, want.types); err != nil {
			return nil, err
		}
	}
	if z.ids == nil {
		return nil, fail(src.name, "npz holds no array ids")
	}
	if z.scores != nil && z.scores.cols != z.ids.cols {
		return nil, fail(src.name, "scores have %d columns, ids %d", z.scores.cols, z.ids.cols)
	}
	return z, nil
}

// column opens one array and compares its shape with the previous ones.
func (z *npzResults) column(entries []npzEntry, name string, dims int, types string) (*npzColumn, error) {
	for i := range entries {
		e := &entries[i]
		if e.name != name {
			continue
		}
		h, full := e.header, z.name+":"+name
		if len(h.shape) != dims || h.fortran && dims > 1 {
			return nil, fail(full, "array has shape %v (Fortran order %v), %d dimensions in C order are wanted", h.shape, h.fortran, dims)
		}
		if len(h.descr) != 3 || !containsWord(types, h.descr[1:]) {
			return nil, fail(full, "dtype %q is not one of %s", h.descr, types)
		}
		c := &npzColumn{name: full, size: int(h.descr[2] - '0'), big: h.big, kind: h.descr[1], cols: 1}
		if dims == 2 {
			c.cols = h.shape[1]
		}
		if z.rows >= 0 && h.shape[0] != z.rows {
			return nil, fail(full, "%d rows where ids have %d", h.shape[0], z.rows)
		}
		if _, ok := product(h.shape[0], c.cols, int64(c.size)); !ok || c.cols > maxDim || c.cols < 1 {
			return nil, fail(full, "shape %v cannot be that of results", h.shape)
		}
		z.rows = h.shape[0]
		r, err := e.file.Open()
		if err != nil {
			return nil, fail(full, "%w", err)
		}
		z.shut = append([]io.Closer{r}, z.shut...)
		c.r = bufio.NewReaderSize(r, 64<<10)
		if _, err := readNPYHeader(c.r); err != nil {
			return nil, fail(full, "%w", err)
		}
		return c, nil
	}
	return nil, nil
}

func containsWord(words, w string) bool {
	for i := 0; i+2 <= len(words); i += 3 {
		if words[i:i+2] == w {
			return true
		}
	}
	return false
}

// row reads the bytes of one row, little-endian.
func (c *npzColumn) row(i int64) (err error) {
	if c.buf, err = readGrowing(c.r, c.buf, c.cols*int64(c.size)); err != nil {
		return failAt(c.name, i, -1, "%w", cutShort(err))
	}
	if c.big {
		swapBytes(c.buf, c.size)
	}
	return nil
}

// int returns element j of the row.
func (c *npzColumn) int(j int) int64 {
	if c.size == 4 {
		return int64(int32(binary.LittleEndian.Uint32(c.buf[4*j:])))
	}
	return int64(binary.LittleEndian.Uint64(c.buf[8*j:]))
}

func (c *npzColumn) float(j int) float32 {
	if c.size == 4 {
		return math.Float32frombits(binary.LittleEndian.Uint32(c.buf[4*j:]))
	}
	return float32(math.Float64frombits(binary.LittleEndian.Uint64(c.buf[8*j:])))
}

func (z *npzResults) Len() int64 { return z.rows }

func (z *npzResults) Next() (Result, error) {
	if z.err == nil && z.next == z.rows {
		z.err = z.finish()
	}
	if z.err != nil {
		return Result{}, z.err
	}
	r, err := z.read()
	if err != nil {
		z.err = err
		return Result{}, err
	}
	z.next++
	return r, nil
}

func (z *npzResults) read() (Result, error) {
	r := Result{Query: z.next}
	for _, c := range []*npzColumn{z.ids, z.scores, z.pulls, z.exact} {
		if c == nil {
			continue
		}
		if err := c.row(z.next); err != nil {
			return r, err
		}
	}
	n := 0
	for n < int(z.ids.cols) && z.ids.int(n) >= 0 {
		n++
	}
	r.IDs = make([]int64, n)
	for j := range r.IDs {
		r.IDs[j] = z.ids.int(j)
	}
	if err := onlyPadding(z.ids.int, n, int(z.ids.cols)); err != nil {
		return r, failAt(z.ids.name, z.next, int64(n), "%w", err)
	}
	if z.scores != nil {
		r.Scores = make([]float32, n)
		for j := range r.Scores {
			if r.Scores[j] = z.scores.float(j); r.Scores[j] != r.Scores[j] {
				return r, failAt(z.scores.name, z.next, int64(j), "score is NaN")
			}
		}
	}
	if z.pulls != nil {
		r.Pulls = z.pulls.int(0)
	}
	if z.exact != nil {
		r.Exact = z.exact.buf[0] != 0
	}
	return r, nil
}

// onlyPadding rejects ids after the first negative one.
func onlyPadding(id func(int) int64, from, to int) error {
	for j := from; j < to; j++ {
		if id(j) != -1 {
			return fmt.Errorf("id %d where only the padding -1 is expected", id(j))
		}
	}
	return nil
}

// finish reads to the end of every array, where zip verifies its checksum.
func (z *npzResults) finish() error {
	for _, c := range []*npzColumn{z.ids, z.scores, z.pulls, z.exact} {
		if c == nil {
			continue
		}
		if _, err := c.r.ReadByte(); err == nil {
			return fail(c.name, "data goes on after the %d rows that the header announces", z.rows)
		} else if err != io.EOF {
			return fail(c.name, "%w", cutShort(err))
		}
	}
	return io.EOF
}
