package dataset

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// npzResults reads the arrays of a result npz, or an npy of ids, in parallel, a row at a time.
type npzResults struct {
	*source
	ids                      *npzColumn // nil if they are texts
	scores, pulls, exact     *npzColumn // may be nil
	complete, delta, epsilon *npzColumn // nil in older files
	found, scores64, counts  *npzColumn // of version 2; found are the row numbers; may be nil
	guarantee, queryIDs      *npzTexts  // may be nil
	names                    *npzNames  // ids that are texts or stand beside row numbers; may be nil
	own                      bool       // ids are those that users gave the vectors
	cols, rows, next         int64      // of the matrices; rows is -1 before it is known
	err                      error
}

// columns are the arrays of numbers that the file has.
func (z *npzResults) columns() []*npzColumn {
	all := []*npzColumn{z.ids, z.found, z.counts, z.scores, z.scores64, z.pulls, z.exact, z.complete, z.delta, z.epsilon}
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
	version, kind, err := statedOf(src.name, entries)
	if err != nil {
		return nil, err
	}
	z := &npzResults{source: src, rows: -1, own: version == AnswersVersion && kind != rowKind}
	stated := slices.ContainsFunc(entries, func(e npzEntry) bool { return e.name == "guarantee" })
	for _, want := range []struct {
		names []string
		dims  int
		types string
		to    **npzColumn
		of    bool // whether the file has such an array; arrays of these names may else be anything
	}{
		{npzIDNames(), 2, idTypes, &z.ids, !z.own || !hasTexts(entries)}, {[]string{rowsName}, 2, "i8", &z.found, z.own}, {[]string{countsName}, 1, "i8", &z.counts, z.own},
		{npzScoreNames(), 2, "f4 f8", &z.scores, true}, {[]string{scores64Name}, 2, "f8", &z.scores64, version == AnswersVersion},
		{[]string{"pulls"}, 1, "i8", &z.pulls, true}, {[]string{"exact"}, 1, "b1", &z.exact, true}, {[]string{"complete"}, 1, "b1", &z.complete, true},
		{[]string{"delta"}, 1, "f8", &z.delta, stated}, {[]string{"epsilon"}, 1, "f8", &z.epsilon, stated},
	} {
		e, err := chooseArray(src.name, entries, want.names)
		if err != nil {
			return nil, err
		}
		if e == nil || !want.of {
			continue
		}
		if *want.to, err = z.column(e, want.dims, want.types); err != nil {
			return nil, err
		}
	}
	if err := z.openTexts(entries, version); err != nil {
		return nil, err
	}
	for _, c := range []*npzColumn{z.ids, z.found, z.scores, z.scores64} {
		if c != nil && c.cols != z.cols {
			return nil, fail(src.name, "%s have %d columns, ids %d", strings.TrimPrefix(c.name, src.name+":"), c.cols, z.cols)
		}
	}
	return z, nil
}

// statedOf returns the version that the arrays state, 0 for none, and what their ids are.
func statedOf(file string, entries []npzEntry) (version int64, kind string, err error) {
	for i := range entries {
		e := &entries[i]
		if e.name != versionName && e.name != idKindName {
			continue
		}
		text, err := e.text()
		if err == nil && e.name == versionName {
			version, err = strconv.ParseInt(text, 10, 64)
		} else if err == nil {
			kind = text
		}
		if err != nil {
			return 0, "", fail(file+":"+e.name, "%w", err)
		}
	}
	if err := checkVersion(version); err != nil {
		return 0, "", fail(file, "%w", err)
	}
	return version, kind, nil
}

// hasTexts reports whether the array of ids holds texts.
func hasTexts(entries []npzEntry) bool {
	at := slices.IndexFunc(entries, func(e npzEntry) bool { return e.name == idsName })
	return at >= 0 && len(entries[at].header.descr) > 1 && strings.ContainsRune("US", rune(entries[at].header.descr[1]))
}

// openTexts opens the arrays of ids and names that may be texts, after those of numbers.
func (z *npzResults) openTexts(entries []npzEntry, version int64) (err error) {
	if z.guarantee, err = openTexts(z.source, entries, "guarantee", z.rows); err != nil {
		return err
	}
	switch {
	case z.ids != nil:
		if z.cols = z.ids.cols; version == AnswersVersion {
			break
		}
		if z.names, err = openNPZNames(z.source, entries, z.rows, z.cols); err != nil {
			return err
		}
	case z.own && hasTexts(entries):
		e := &entries[slices.IndexFunc(entries, func(e npzEntry) bool { return e.name == idsName })]
		h := e.header
		if len(h.shape) != 2 || h.fortran || h.shape[1] < 1 || z.rows >= 0 && h.shape[0] != z.rows {
			return fail(z.name+":"+e.name, "array has shape %v (Fortran order %v), %d rows of ids in C order are wanted", h.shape, h.fortran, z.rows)
		}
		z.rows, z.cols = h.shape[0], h.shape[1]
		if z.names, err = e.openTexts(z.source, z.cols); err != nil {
			return err
		}
	default:
		return fail(z.name, "npz holds no array ids or %s; it holds %s", strings.Join(npzIDNames()[1:], ", "), listed(entryNames(entries)))
	}
	if version == AnswersVersion {
		z.queryIDs, err = openTexts(z.source, entries, queryIDsName, z.rows)
	}
	return err
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

// double returns element j of the row, of size 8.
func (c *npzColumn) double(j int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(c.buf[8*j:]))
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
	for _, c := range z.columns() {
		if err := c.row(z.next); err != nil {
			return r, err
		}
	}
	n, err := z.readIDs(&r)
	if err != nil {
		return r, err
	}
	if z.scores != nil {
		r.Scores = make([]float32, n)
		for j := range r.Scores {
			if r.Scores[j] = z.scores.float(j); r.Scores[j] != r.Scores[j] {
				return r, failAt(z.scores.name, z.next, int64(j), "score is NaN")
			}
		}
	}
	if z.scores64 != nil {
		r.Scores64 = make([]float64, n)
		for j := range r.Scores64 {
			if r.Scores64[j] = z.scores64.double(j); r.Scores64[j] != r.Scores64[j] {
				return r, failAt(z.scores64.name, z.next, int64(j), "score is NaN")
			}
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
		r.Delta = z.delta.double(0)
	}
	if z.epsilon != nil {
		r.Epsilon = z.epsilon.double(0)
	}
	if z.guarantee != nil {
		if r.Guarantee, err = z.guarantee.next(z.next); err == nil {
			err = checkGuarantee(r.Guarantee)
		}
		if err != nil {
			return r, located(z.guarantee.texts.name, z.next, err)
		}
	}
	if z.queryIDs != nil {
		if r.QueryID, err = z.queryIDs.next(z.next); err != nil {
			return r, err
		}
	}
	return r, nil
}

// readIDs reads the row numbers and the ids of a row, and returns how many there are.
func (z *npzResults) readIDs(r *Result) (n int, err error) {
	padded := z.ids // has the padding that says how many there are
	if z.found != nil {
		padded = z.found
	}
	switch {
	case z.counts != nil:
		if n = int(z.counts.int(0)); n < 0 || n > int(z.cols) {
			return 0, failAt(z.counts.name, z.next, -1, "%d ids of the %d columns", n, z.cols)
		}
	case padded == nil:
		n = int(z.cols)
	default:
		for n < int(z.cols) && (padded.int(n) >= 0 || padded.wideAt(n)) {
			n++
		}
		if err := onlyPadding(padded.int, n, int(z.cols)); err != nil {
			return 0, failAt(padded.name, z.next, int64(n), "%w", err)
		}
	}
	switch {
	case z.ids == nil:
	case n > 0 && (z.own || z.ids.anyWide(n)):
		r.IDs = z.ids.texts(n)
	case !z.own:
		r.Rows = z.ids.integers(n)
	}
	if z.found != nil {
		r.Rows = z.found.integers(n)
	}
	if z.names == nil {
		return n, nil
	}
	if r.IDs, err = z.names.row(z.next, n); err != nil {
		return 0, err
	}
	for padded == nil && z.counts == nil && n > 0 && r.IDs[n-1] == "" {
		n--
		r.IDs = r.IDs[:n]
	}
	return n, nil
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
	for _, t := range []*npzTexts{z.guarantee, z.queryIDs} {
		if t == nil {
			continue
		}
		if err := z.finishArray(t.texts.name, t.texts.r); err != nil {
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
