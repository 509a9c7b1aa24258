package dataset

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"thresher/dataset/jsonscan"
)

// csvRows reads comma-separated values (RFC 4180; also with semicolons or tabs). A vector
// is the numbers of a row, or the JSON array in one of its columns. A first line that is
// not all numbers names the columns. Columns without a name, and those whose first value
// is not a number, are ignored.
type csvRows struct {
	name    string
	shut    io.Closer
	records *csv.Reader
	guard   *lineGuard
	columns []string // nil without a header
	vector  []int    // columns of the numbers
	list    bool     // the one column of vector holds arrays
	id      int      // column of the ids, or -1
	dim     int
	next    int64
	first   []float64 // row 0, read by openCSV
	held    string    // its id
	ids     []string
	err     error
}

// newCSVRows returns a reader of the records of src.
func newCSVRows(src *source) *csvRows {
	c := &csvRows{name: src.name, shut: src, id: -1}
	src.skipMark()
	line, _ := src.r.Peek(min(src.r.Size(), 64<<10)) // the beginning of a long line is enough
	c.guard = &lineGuard{r: src.r}
	c.records = csv.NewReader(c.guard)
	c.records.Comma = separator(line)
	c.records.FieldsPerRecord, c.records.ReuseRecord, c.records.TrimLeadingSpace = -1, true, true
	return c
}

// openCSV reads the header and the first row.
func openCSV(src *source, opt Options) (Reader, error) {
	c := newCSVRows(src)
	record, err := c.readHeader()
	if err != nil {
		return nil, err
	}
	if err := c.choose(record, opt); err != nil {
		return nil, err
	}
	if c.first, c.held, err = c.parse(nil, record); err != nil {
		return nil, err
	}
	if c.dim = len(c.first); c.dim == 0 {
		return nil, failAt(c.name, 0, -1, "rows have zero columns")
	}
	return opt.narrow(c, c.name), nil
}

// readHeader reads the names of the columns, if there is a header, and returns row 0, valid
// until the following call of record.
func (c *csvRows) readHeader() ([]string, error) {
	record, err := c.record()
	if err == io.EOF {
		return nil, fail(c.name, "%w: the file holds only blank lines", ErrNoRows)
	}
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(record, func(field string) bool { return !isNumber(field) && !isArray(field) }) {
		return record, nil
	}
	if !isHeader(record) {
		return nil, c.place(errors.New("texts and numbers stand in the first line: a header that names the columns is needed before it"), -1)
	}
	c.columns = slices.Clone(record)
	for i := range c.columns {
		c.columns[i] = strings.TrimSpace(c.columns[i])
	}
	if record, err = c.record(); err == io.EOF {
		return nil, fail(c.name, "%w: there is a header, and nothing below it", ErrNoRows)
	}
	return record, err
}

// separator returns the most frequent of comma, semicolon and tab in the first line.
func separator(text []byte) rune {
	if at := bytes.IndexByte(text, '\n'); at >= 0 {
		text = text[:at]
	}
	best, most := ',', 0
	if bytes.IndexByte(text, '[') >= 0 {
		return best // arrays contain commas
	}
	for _, c := range []rune{',', ';', '\t'} {
		if n := bytes.Count(text, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

func isNumber(field string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// isHeader reports whether a line with text names the columns: numbers in a header must
// count columns, otherwise the line is a row.
func isHeader(record []string) bool {
	last := math.MinInt
	for _, field := range record {
		if isArray(field) {
			return false
		}
		if !isNumber(field) {
			continue
		}
		at, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || last != math.MinInt && at != last+1 {
			return false
		}
		last = at
	}
	return last == math.MinInt || last < len(record)+1
}

func isArray(field string) bool { return strings.HasPrefix(strings.TrimSpace(field), "[") }

// choose finds the columns of the vector and of the ids from the first row.
func (c *csvRows) choose(record []string, opt Options) error {
	if c.columns == nil && (opt.IDs != "" || opt.Column != "") {
		return fail(c.name, "column %q: the file has no header that names columns", cmp.Or(opt.Column, opt.IDs))
	}
	if c.columns != nil && len(record) != len(c.columns) {
		return c.place(fmt.Errorf("row has %d fields, the header %d", len(record), len(c.columns)), -1)
	}
	switch {
	case opt.IDs != "":
		if c.id = slices.Index(c.columns, opt.IDs); c.id < 0 {
			return fail(c.name, "no column %q for the ids; the file has %s", opt.IDs, listed(slices.Clone(c.columns)))
		}
	case opt.FindIDs:
		c.id = slices.Index(c.columns, idName)
	}
	if opt.Column != "" {
		at := slices.Index(c.columns, opt.Column)
		if at < 0 {
			return fail(c.name, "no column %q; the file has %s", opt.Column, listed(slices.Clone(c.columns)))
		}
		c.vector, c.list = []int{at}, isArray(record[at])
		return nil
	}
	var lists []string
	for i, field := range record {
		switch {
		case i == c.id || slices.Contains(opt.Except, c.called(i)):
		case c.columns != nil && c.columns[i] == "" && len(record) > 1: // row numbers, as some programs write them
		case isArray(field):
			if lists = append(lists, c.called(i)); !c.list {
				c.vector, c.list = []int{i}, true
			}
		case isNumber(field) && !c.list:
			c.vector = append(c.vector, i)
		}
	}
	if len(lists) > 1 {
		return fail(c.name, "several columns could be the vectors, name one: %s", listed(lists))
	}
	if len(c.vector) == 0 {
		return c.place(errors.New("no column of the first row is a number, or an array of numbers"), -1)
	}
	return nil
}

// called returns the name of a column, or its number.
func (c *csvRows) called(i int) string {
	if c.columns != nil {
		return c.columns[i]
	}
	return strconv.Itoa(i)
}

func (c *csvRows) Dim() int     { return c.dim }
func (c *csvRows) Len() int64   { return -1 }
func (c *csvRows) Close() error { return c.shut.Close() }

func (c *csvRows) IDs() []string {
	if c.id < 0 {
		return nil
	}
	return c.ids
}

func (c *csvRows) layout() Layout {
	var l Layout
	for i, name := range c.columns {
		switch {
		case i == c.id:
			l.IDs = name
		case !slices.Contains(c.vector, i):
			l.Dropped = append(l.Dropped, cmp.Or(name, "the one without a name"))
		}
	}
	return l
}

// Read is not used: texts are read as float64 first.
func (c *csvRows) Read([]float32) (int, error) { return 0, errWide }

func (c *csvRows) isWide() bool { return true }

func (c *csvRows) readWide(dst []float64) (int, error) {
	c.ids = c.ids[:0]
	if c.err != nil {
		return 0, c.err
	}
	if len(dst) < c.dim {
		return 0, io.ErrShortBuffer
	}
	n := 0
	for ; n < len(dst)/c.dim; n++ {
		if c.err = c.row(dst[n*c.dim : (n+1)*c.dim]); c.err != nil {
			break
		}
		c.next++
	}
	if c.err == io.EOF && n > 0 {
		return n, nil
	}
	return n, c.err
}

// row fills dst with the next row.
func (c *csvRows) row(dst []float64) error {
	if c.next == 0 {
		copy(dst, c.first)
		c.first = nil
		c.ids = append(c.ids, c.held)
		return nil
	}
	record, err := c.record()
	if err != nil {
		return err
	}
	v, id, err := c.parse(dst[:0:len(dst)], record)
	if err != nil {
		return err
	}
	if len(v) != len(dst) {
		return c.place(fmt.Errorf("row has %d columns, the first has %d", len(v), len(dst)), -1)
	}
	c.ids = append(c.ids, id)
	return nil
}

// record returns the next record, valid until the following call.
func (c *csvRows) record() ([]string, error) {
	c.guard.left = maxLine
	record, err := c.records.Read()
	var wrong *csv.ParseError
	switch {
	case err == io.EOF:
		return nil, io.EOF
	case errors.As(err, &wrong):
		return nil, failAt(c.name, c.next, -1, "line %d: %w", wrong.Line, wrong.Err)
	case err != nil:
		return nil, failAt(c.name, c.next, -1, "%w", cutShort(err))
	}
	return record, nil
}

// parse appends the vector of a record to dst.
func (c *csvRows) parse(dst []float64, record []string) (v []float64, id string, err error) {
	last := max(slices.Max(c.vector), c.id)
	if c.columns != nil {
		last = max(last, len(c.columns)-1)
	}
	if len(record) <= last {
		return nil, "", c.place(fmt.Errorf("row has %d fields, %d are wanted", len(record), last+1), -1)
	}
	if c.columns == nil && !c.list && len(record) != len(c.vector) || c.columns != nil && len(record) != len(c.columns) {
		return nil, "", c.place(fmt.Errorf("row has %d fields, the first has %d", len(record), max(len(c.vector), len(c.columns))), -1)
	}
	if c.id >= 0 {
		if id = strings.Clone(strings.TrimSpace(record[c.id])); id == "" {
			return nil, "", c.place(errors.New("the id is empty"), -1)
		}
	}
	if c.list {
		text := []byte(strings.TrimSpace(record[c.vector[0]]))
		v, end, err := jsonscan.Doubles(dst, text, 0)
		if err == nil && end != len(text) {
			err = jsonscan.Wanted(text, end, "the end of the field")
		}
		var element *jsonscan.ElementError
		if errors.As(err, &element) {
			return nil, "", c.place(err, int64(element.Index))
		}
		return v, id, c.place(err, -1)
	}
	for i, at := range c.vector {
		x, err := double(record[at])
		if err != nil {
			if c.columns != nil {
				err = fmt.Errorf("%s: %w", c.columns[at], err)
			}
			return nil, "", c.place(err, int64(i))
		}
		dst = append(dst, x)
	}
	return dst, id, nil
}

// double parses a field as a finite number within the range of float32.
func double(field string) (float64, error) {
	text := strings.TrimSpace(field)
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%.40q is no number", text)
	}
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		return 0, refuseFloat(x)
	}
	if err != nil || math.IsInf(float64(float32(x)), 0) {
		return 0, fmt.Errorf("value %.40s is beyond the range of float32", text)
	}
	return x, nil
}

// number is double, rounded to float32.
func number(field string) (float32, error) {
	x, err := double(field)
	return float32(x), err
}

// place adds row, line and, if known, column to an error.
func (c *csvRows) place(err error, column int64) error {
	if err == nil {
		return nil
	}
	line, _ := c.records.FieldPos(0)
	return failAt(c.name, c.next, column, "line %d: %w", line, err)
}

// lineGuard limits the bytes of a record, and with it a reader's memory: an unclosed quote
// would otherwise take the rest of the file.
type lineGuard struct {
	r    io.Reader
	left int64
}

func (g *lineGuard) Read(p []byte) (int, error) {
	if g.left <= 0 {
		return 0, fmt.Errorf("a row is longer than %d bytes", maxLine)
	}
	n, err := g.r.Read(p[:min(int64(len(p)), g.left)])
	g.left -= int64(n)
	return n, err
}
