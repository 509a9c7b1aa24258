package dataset

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// npzResults reads the arrays of a result npz, or an npy of ids, in parallel, a row at a time.
type npzResults struct {
	*source
	ids, scores, pulls, exact *npzColumn     // all but ids may be nil
	complete, delta, epsilon  *npzColumn     // nil in older files
	guarantee                 *npzGuarantees // nil in older files
	names                     *npzNames      // nil without
	rows, next                int64
	err                       error
}

// columns are the arrays of numbers that the file has.
func (z *npzResults) columns() []*npzColumn {
	all := []*npzColumn{z.ids, z.scores, z.pulls, z.exact, z.complete, z.delta, z.epsilon}
	return slices.DeleteFunc(all, func(c *npzColumn) bool { return c == nil })
}

// npzColumn is a stream of the rows of one array.
type npzColumn struct {
	name   string
	r      *bufio.Reader
	size   int // bytes of an element
	cols   int64
	big    bool
	kind   byte // NumPy's: i, u, f or b
	buf    []byte
	ints   []int64 // of elements
	budget *Budget
}

func openNPZResults(src *source) (ResultReader, error) {
	entries, err := listNPZ(src)
	if err != nil {
		return nil, err
	}
	z := &npzResults{source: src, rows: -1}
	stated := slices.ContainsFunc(entries, func(e npzEntry) bool { return e.name == "guarantee" })
	for _, want := range []struct {
		names []string
		dims  int
		types string
		to    **npzColumn
	}{
		{npzIDNames(), 2, idTypes, &z.ids}, {npzScoreNames(), 2, "f4 f8", &z.scores},
		{[]string{"pulls"}, 1, "i8", &z.pulls}, {[]string{"exact"}, 1, "b1", &z.exact}, {[]string{"complete"}, 1, "b1", &z.complete},
		{[]string{"delta"}, 1, "f8", &z.delta}, {[]string{"epsilon"}, 1, "f8", &z.epsilon},
	} {
		e, err := chooseArray(src.name, entries, want.names)
		if err != nil {
			return nil, err
		}
		if e == nil || want.types == "f8" && !stated { // arrays of these names may be anything
			continue
		}
		if *want.to, err = z.column(e, want.dims, want.types); err != nil {
			return nil, err
		}
	}
	if z.guarantee, err = openGuarantees(src, entries, z.rows); err != nil {
		return nil, err
	}
	if z.ids == nil {
		return nil, fail(src.name, "npz holds no array ids or %s; it holds %s", strings.Join(npzIDNames()[1:], ", "), listed(entryNames(entries)))
	}
	if z.scores != nil && z.scores.cols != z.ids.cols {
		return nil, fail(src.name, "scores have %d columns, ids %d", z.scores.cols, z.ids.cols)
	}
	if z.names, err = openNPZNames(src, entries, z.rows, z.ids.cols); err != nil {
		return nil, err
	}
	return z, nil
}

// npzIDNames are the accepted names of the ids: thresher's own, and what users of FAISS,
// hnswlib, cuVS and scikit-learn save.
func npzIDNames() []string { return []string{"ids", "I", "labels", "neighbors", "indices"} }

func npzScoreNames() []string { return []string{"scores", "D", "distances"} }

// chooseArray returns the array with the first name, or else the only one with another of the
// names, or nil.
func chooseArray(file string, entries []npzEntry, names []string) (*npzEntry, error) {
	var found []*npzEntry
	var called []string
	for i := range entries {
		e := &entries[i]
		if e.name == names[0] {
			return e, nil
		}
		if slices.Contains(names, e.name) {
			found, called = append(found, e), append(called, e.name)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, fail(file, "several arrays could be the %s: %s; call one of them %s", names[0], listed(called), names[0])
}

func entryNames(entries []npzEntry) (names []string) {
	for i := range entries {
		names = append(names, entries[i].name)
	}
	return names
}

// column opens one array and compares its rows with those of the previous ones.
func (z *npzResults) column(e *npzEntry, dims int, types string) (*npzColumn, error) {
	c, err := openNPZColumn(z.source, e, dims, types)
	if err != nil {
		return nil, err
	}
	if z.rows >= 0 && e.header.shape[0] != z.rows {
		return nil, fail(c.name, "%d rows where ids have %d", e.header.shape[0], z.rows)
	}
	z.rows = e.header.shape[0]
	return c, nil
}

// openNPZColumn opens one array, which src closes.
func openNPZColumn(src *source, e *npzEntry, dims int, types string) (*npzColumn, error) {
	full := src.name + ":" + e.name
	c, err := newNPZColumn(full, e.header, dims, types, src.budget)
	if err != nil {
		return nil, err
	}
	r, err := e.file.Open()
	if err != nil {
		return nil, fail(full, "%w", err)
	}
	src.shut = append([]io.Closer{r}, src.shut...)
	c.r = bufio.NewReaderSize(r, 64<<10)
	if _, err := readNPYHeader(c.r); err != nil {
		return nil, fail(full, "%w", err)
	}
	return c, nil
}

// newNPZColumn checks shape and dtype of an array, whose elements the caller lets the column
// read.
func newNPZColumn(name string, h *npyHeader, dims int, types string, b *Budget) (*npzColumn, error) {
	if len(h.shape) != dims || h.fortran && dims > 1 {
		return nil, fail(name, "array has shape %v (Fortran order %v), %d dimensions in C order are wanted", h.shape, h.fortran, dims)
	}
	if len(h.descr) != 3 || !containsWord(types, h.descr[1:]) {
		return nil, fail(name, "dtype %q is not one of %s", h.descr, types)
	}
	c := &npzColumn{name: name, size: int(h.descr[2] - '0'), big: h.big, kind: h.descr[1], cols: 1, budget: b}
	if dims == 2 {
		c.cols = h.shape[1]
	}
	if _, ok := product(h.shape[0], c.cols, int64(c.size)); !ok || c.cols < 1 {
		return nil, fail(name, "shape %v cannot be that of results", h.shape)
	}
	if err := b.checkRow("a row", c.cols*int64(c.size)); err != nil {
		return nil, fail(name, "%w", err)
	}
	return c, nil
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

// idTypes are the dtypes of ids.
const idTypes = "i8 i4 u4 u8"

// int returns element j of the row. The greatest unsigned integer is -1, the padding, as NumPy
// converts it.
func (c *npzColumn) int(j int) int64 {
	if c.size == 8 {
		return int64(binary.LittleEndian.Uint64(c.buf[8*j:]))
	}
	v := binary.LittleEndian.Uint32(c.buf[4*j:])
	if c.kind == 'u' && v != math.MaxUint32 {
		return int64(v)
	}
	return int64(int32(v))
}

func (c *npzColumn) float(j int) float32 {
	if c.size == 4 {
		return math.Float32frombits(binary.LittleEndian.Uint32(c.buf[4*j:]))
	}
	return float32(math.Float64frombits(binary.LittleEndian.Uint64(c.buf[8*j:])))
}

// double returns the first element, of size 8.
func (c *npzColumn) double() float64 { return math.Float64frombits(binary.LittleEndian.Uint64(c.buf)) }

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
	for _, c := range z.columns() {
		if err := c.row(z.next); err != nil {
			return r, err
		}
	}
	n, wide := 0, false
	for n < int(z.ids.cols) && (z.ids.int(n) >= 0 || z.ids.wideAt(n)) {
		wide = wide || z.ids.wideAt(n)
		n++
	}
	if wide {
		r.IDs = z.ids.texts(n)
	} else {
		r.Rows = make([]int64, n)
		for j := range r.Rows {
			r.Rows[j] = z.ids.int(j)
		}
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
	if z.names != nil {
		var err error
		if r.IDs, err = z.names.row(z.next, n); err != nil {
			return r, err
		}
	}
	if z.pulls != nil {
		r.Pulls = z.pulls.int(0)
	}
	if z.exact != nil {
		r.Exact = z.exact.buf[0] != 0
	}
	if z.complete != nil {
		r.Partial = z.complete.buf[0] == 0
	}
	if z.delta != nil {
		r.Delta = z.delta.double()
	}
	if z.epsilon != nil {
		r.Epsilon = z.epsilon.double()
	}
	if z.guarantee != nil {
		var err error
		if r.Guarantee, err = z.guarantee.next(z.next); err != nil {
			return r, err
		}
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
	for _, c := range z.columns() {
		if err := z.finishArray(c.name, c.r); err != nil {
			return err
		}
	}
	if z.guarantee != nil {
		if err := z.finishArray(z.guarantee.texts.name, z.guarantee.texts.r); err != nil {
			return err
		}
	}
	if z.names != nil {
		if err := z.finishArray(z.names.from.name, z.names.from.r); err != nil {
			return err
		}
	}
	return io.EOF
}

func (z *npzResults) finishArray(name string, r *bufio.Reader) error {
	switch _, err := r.ReadByte(); err {
	case nil:
		return fail(name, "data goes on after the %d rows that the header announces", z.rows)
	case io.EOF:
		return nil
	default:
		return fail(name, "%w", cutShort(err))
	}
}
