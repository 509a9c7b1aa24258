package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// NumberReader streams columns of numbers, row by row. It is not safe for concurrent use.
type NumberReader interface {
	// Next returns the numbers of the next row, one for each column as named, in a slice that is
	// valid until the following call: finite numbers, or NaN for null and, in CSV, for an empty
	// field. io.EOF after the last row. Other errors are of type *Error, and final.
	Next() ([]float64, error)
	// Close releases the file.
	Close() error
}

// OpenNumbers opens columns of numbers of a file of vectors, such as limits of its queries:
// Parquet, Arrow, CSV with a header, JSONL with objects, or npz with an array [m] for each.
// Integers that float64 cannot hold, beyond 2^53, are errors. The budget limits the memory that
// reading takes; nil is the default.
func OpenNumbers(path string, b *Budget, columns ...string) (NumberReader, error) {
	format, gzipped := FormatOf(path)
	src, err := openSource(path, gzipped)
	if err != nil {
		return nil, err
	}
	src.limit(b)
	r, err := openNumbersAs(src, format, columns)
	if err != nil {
		src.Close()
		return nil, located(src.name, -1, err)
	}
	return r, nil
}

func openNumbersAs(src *source, ext Format, columns []string) (NumberReader, error) {
	format, err := src.format(ext)
	if err != nil {
		return nil, err
	}
	c := codecOf(format)
	if !c.hasColumns() {
		return nil, fail(src.name, "column %s: format %s has no columns; formats that have: %s", quoted(columns), format, formatsThat((*codec).hasColumns))
	}
	t, err := c.table(src, "")
	if err != nil {
		return nil, err
	}
	wants := make([]want, len(columns))
	for i, name := range columns {
		wants[i] = want{name: name, as: asNumber}
	}
	return &numbers{tableReader: t, wants: wants, row: make([]readCell, len(wants)), list: make([]float64, len(wants))}, t.choose(wants)
}

// hasColumns reports whether files of a format are tables whose columns have names.
func (c *codec) hasColumns() bool {
	return c.table != nil && c.names >= namedArrays && !c.answersOnly
}

// numbers are columns of numbers of a table.
type numbers struct {
	tableReader
	wants []want
	row   []readCell
	list  []float64
	err   error
}

func (n *numbers) Next() ([]float64, error) {
	if n.err == nil {
		n.err = n.next(n.row)
	}
	if n.err != nil {
		n.err = placed(n, n.wants, "column %q: %w", false, n.err)
		return nil, n.err
	}
	for i := range n.row {
		n.list[i] = n.row[i].float
	}
	return n.list, nil
}

// quoted joins names in quotes.
func quoted(names []string) string {
	q := slices.Clone(names)
	for i := range q {
		q[i] = fmt.Sprintf("%q", q[i])
	}
	return strings.Join(q, ", ")
}

// wholeNumber returns an integer as float64, of which that must be the value.
func wholeNumber(size uint64, negative bool) (float64, error) {
	sign := ""
	v := float64(size)
	if v >= 1<<64 || uint64(v) != size {
		if negative {
			sign = "-"
		}
		return 0, fmt.Errorf("integer %s%d is beyond 2^53 and no float64; store floats", sign, size)
	}
	if negative {
		return -v, nil
	}
	return v, nil
}

// signedNumber is wholeNumber of an int64.
func signedNumber(x int64) (float64, error) {
	if x < 0 {
		return wholeNumber(-uint64(x), true)
	}
	return wholeNumber(uint64(x), false)
}

// writtenNumber refuses the digits of an integer that v, which they were parsed as, rounds.
func writtenNumber(text string, v float64) (float64, error) {
	if math.Abs(v) < 1<<53 {
		return v, nil
	}
	digits := strings.TrimLeft(text, "+-")
	if x, err := strconv.ParseUint(digits, 10, 64); err == nil {
		return wholeNumber(x, strings.HasPrefix(text, "-"))
	}
	return v, nil
}

// finiteNumber refuses NaN and infinities, because NaN stands for null.
func finiteNumber(v float64) (float64, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, refuseFloat(v)
	}
	return v, nil
}
