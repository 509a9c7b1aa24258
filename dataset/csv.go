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
// is numbers of a row, or the JSON array in one of its columns. A first line of texts, or one
// that counts, names the columns. A first column without a name, and columns whose first value
// is a text, are ignored.
type csvRows struct {
	name    string
	shut    io.Closer
	records *csv.Reader
	columns []string // nil without a header
	vector  []int    // columns of the numbers
	list    bool     // the one column of vector holds arrays
	blank   []int    // columns without a name and without values
	id      int      // column of the ids, or -1
	dim     int
	next    int64
	first   []float64 // row 0, read by openCSV
	held    string    // its id
	ids     []string
	meter   idMeter
	budget  *Budget
	err     error
}

// newCSVRows returns a reader of the records of src.
func newCSVRows(src *source) *csvRows {
	c := &csvRows{name: src.name, shut: src, id: -1, budget: src.budget, meter: idMeter{budget: src.budget}}
	src.skipMark()
	line, _ := src.r.Peek(min(src.r.Size(), 64<<10)) // the beginning of a long line is enough
	comma := separator(line)
	c.records = csv.NewReader(&recordGuard{r: src.r, comma: []byte(string(comma)), budget: src.budget})
	c.records.Comma = comma
	c.records.FieldsPerRecord, c.records.ReuseRecord, c.records.TrimLeadingSpace = -1, true, true
	return c
}

// openCSV reads the header and the first row.
func openCSV(src *source, opt Options) (Reader, error) {
	c := newCSVRows(src)
	word := opt.words()
	record, err := c.readHeader(opt.Header, word.Header, opt.Column != "" || opt.IDs != "")
	if err != nil {
		return nil, err
	}
	if err := c.choose(record, opt); err != nil {
		return nil, err
	}
	if opt.IgnoreIDs && opt.IDs == "" {
		c.id = -1
	}
	if c.first, c.held, err = c.parse(nil, record); err != nil {
		return nil, err
	}
	if c.dim = len(c.first); c.dim == 0 {
		return nil, failAt(c.name, 0, -1, "rows have zero columns")
	}
	return opt.narrow(c, c.name), nil
}

// separator returns the most frequent of comma, semicolon and tab in the first line, but no comma
// that stands in a number between two others.
func separator(text []byte) rune {
	if at := bytes.IndexByte(text, '\n'); at >= 0 {
		text = text[:at]
	}
	best, most := ',', 0
	if bytes.IndexByte(text, '[') >= 0 {
		return best // arrays contain commas
	}
	for _, c := range []string{";", "\t"} {
		for field := range strings.SplitSeq(string(text), c) {
			if strings.Contains(string(text), c) && isDecimalComma(field) {
				return rune(c[0]) // commas stand in the numbers
			}
		}
	}
	for _, c := range []rune{',', ';', '\t'} {
		if n := bytes.Count(text, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
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
	l := Layout{Header: HeaderNo}
	if c.columns == nil {
		return l
	}
	l.Header, l.Wide, l.Vector = HeaderYes, !c.list, namesAt(c.columns, c.vector)
	used := make([]bool, len(c.columns))
	for _, i := range c.vector {
		used[i] = true
	}
	for i, name := range c.columns {
		switch {
		case i == c.id:
			l.IDs = name
		case !used[i]:
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
	c.meter.begin()
	if c.err != nil {
		return 0, c.err
	}
	if len(dst) < c.dim {
		return 0, io.ErrShortBuffer
	}
	n := 0
	for ; n < len(dst)/c.dim && !c.meter.full(); n++ {
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
		if id = strings.TrimSpace(record[c.id]); id == "" {
			return nil, "", c.place(errors.New("the id is empty"), -1)
		}
		if err := c.meter.add(len(id)); err != nil {
			return nil, "", c.place(err, -1)
		}
		id = strings.Clone(id)
	}
	if c.list {
		text := []byte(strings.TrimSpace(record[c.vector[0]]))
		v, end, err := c.budget.doubles(dst, text, 0)
		if err == nil && end != len(text) {
			err = jsonscan.Wanted(text, end, "the end of the field")
		}
		var element *jsonscan.ElementError
		if errors.As(err, &element) {
			return nil, "", c.place(err, int64(element.Index))
		}
		return v, id, c.place(err, -1)
	}
	for _, at := range c.blank {
		if !isGap(record[at]) {
			return nil, "", c.place(fmt.Errorf("column %d (0-based) has no name and no value in the first row, and holds %.40q here: give it a name", at, record[at]), -1)
		}
	}
	for i, at := range c.vector {
		x, err := coordinate(record[at])
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

// coordinate parses a field of a vector: a finite number within the range of float32.
func coordinate(field string) (float64, error) {
	switch {
	case strings.TrimSpace(field) == "":
		return 0, errors.New("the field is empty, and every coordinate has a value")
	case isDecimalComma(field):
		return 0, decimalComma(field)
	}
	return double(field)
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
