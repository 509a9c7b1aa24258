package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// Value is the value of a row in a column of any type: its Kind says which of its fields holds it.
type Value struct {
	Kind ValueKind
	// Finer says that a time is finer than microseconds, to which Integer is cut.
	Finer bool
	// Integer is an integer, 0 or 1 of a bool, the microseconds of a time since 1970 in UTC.
	Integer int64
	Float   float64
	Text    string
	// Texts are those of a list. A null in a list is left out.
	Texts []string
}

// ValueKind is what a Value is.
type ValueKind uint8

// The kinds of values.
const (
	NullValue ValueKind = iota
	IntegerValue
	FloatValue
	SingleValue // a float32, as Float
	TextValue
	BoolValue
	TimeValue
	ListValue
)

// String names the kind for messages.
func (k ValueKind) String() string {
	return [...]string{"null", "an integer", "a number", "a number of float32", "a text", "true or false", "a time", "a list of texts"}[k]
}

// ValueReader streams columns of any types, row by row. It is not safe for concurrent use.
type ValueReader interface {
	// Next returns the values of the next row, one for each column as named, in a slice that is valid until the
	// following call, as are the lists in it; io.EOF after the last row. Other errors are of type *Error, and final.
	Next() ([]Value, error)
	// Untyped reports whether every value is the text that stands in the file, whatever it means, as those of
	// comma-separated values are. An empty field is null then.
	Untyped() bool
	// Sparse reports whether rows tell their columns, so that a column may be one that no row has.
	Sparse() bool
	// Locate returns an *Error about the row that Next returned last.
	Locate(err error) error
	// Close releases the file.
	Close() error
}

// OpenValues opens columns of a file of vectors that describe its rows: Parquet, Arrow, CSV with a header, or JSONL
// with objects. They are integers that fit int64, floats, texts, bools, times (timestamps and dates; without a zone
// they are of UTC, and what is finer than microseconds is cut off), or lists of texts. Columns of other types, and
// names that the file lacks, are errors; of JSONL, whose rows tell their columns, a field that a row lacks is null. A
// value that is none of these, such as an integer beyond int64 or a text that is not UTF-8, is a *ValueError.
// Without columns the rows have no values. header is Options.Header. The budget limits the memory that reading takes; nil
// is the default.
func OpenValues(path, header string, b *Budget, columns ...string) (ValueReader, error) {
	ext, gzipped := FormatOf(path)
	src, err := openSource(path, gzipped)
	if err != nil {
		return nil, err
	}
	src.limit(b)
	r, err := openValuesAs(src, ext, header, columns)
	if err != nil {
		src.Close()
		return nil, located(src.name, -1, err)
	}
	return r, nil
}

func openValuesAs(src *source, ext Format, header string, columns []string) (ValueReader, error) {
	format, err := src.format(ext)
	if err != nil {
		return nil, err
	}
	c := codecOf(format)
	if !c.hasValues() && len(columns) == 0 {
		return nil, fail(src.name, "%w", &valuelessError{format})
	}
	if !c.hasValues() {
		return nil, fail(src.name, "column %s: files of format %s have no columns beside the vectors; formats that have: %s", quoted(columns), format, formatsThat((*codec).hasValues))
	}
	t, err := c.table(src, header)
	if err != nil {
		return nil, err
	}
	v := &values{tableReader: t, untyped: format == CSV, sparse: format == JSONL, row: make([]readCell, len(columns)), list: make([]Value, len(columns))}
	for _, name := range columns {
		v.wants = append(v.wants, want{name: name, as: asValue, optional: format == JSONL})
	}
	return v, t.choose(v.wants)
}

// ErrNoValues is the error of files of a format that has no columns beside those of the vectors.
var ErrNoValues = errors.New("no columns beside the vectors")

// valuelessError is an ErrNoValues.
type valuelessError struct{ format Format }

func (e *valuelessError) Error() string {
	return fmt.Sprintf("files of format %s have %v; formats that have: %s", e.format, ErrNoValues, formatsThat((*codec).hasValues))
}

func (e *valuelessError) Unwrap() error { return ErrNoValues }

// hasValues reports whether files of a format may have columns beside those of the vectors.
func (c *codec) hasValues() bool { return c.table != nil && c.names == namedColumns }

// values are columns of a table.
type values struct {
	tableReader
	untyped bool
	sparse  bool
	wants   []want
	row     []readCell
	list    []Value
	bare    int64 // rows read of a file of which no column is wanted and whose number of rows is known
	err     error
}

func (v *values) Untyped() bool { return v.untyped }
func (v *values) Sparse() bool  { return v.sparse }

func (v *values) Next() ([]Value, error) {
	switch {
	case v.err != nil:
	case len(v.row) > 0 || v.Len() < 0:
		v.err = v.next(v.row)
	case v.bare == v.Len():
		v.err = io.EOF
	default:
		v.bare++
	}
	if v.err == nil {
		v.err = v.checkTexts()
	}
	var bad *unheldError
	var cell *cellError
	switch {
	case v.err == nil:
	case errors.As(v.err, &bad) && errors.As(v.err, &cell):
		v.err = v.locate(-1, &ValueError{v.wants[cell.column].name, cell.err})
		return nil, v.err
	default:
		v.err = placed(v, v.wants, "column %q: %w", false, v.err)
		return nil, v.err
	}
	for i := range v.row {
		if v.list[i] = v.row[i].any; v.row[i].missing {
			v.list[i] = Value{}
		}
	}
	return v.list, nil
}

// ValueError is the error of a value that no column can hold, of a type that columns have.
type ValueError struct {
	Column string
	Err    error
}

// Error names the column.
func (e *ValueError) Error() string { return fmt.Sprintf("column %q: %v", e.Column, e.Err) }

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.Err }

// unheldError says why a Value cannot be what stands in a file.
type unheldError struct{ error }

// unheld returns an *unheldError.
func unheld(format string, args ...any) error { return &unheldError{fmt.Errorf(format, args...)} }

// checkTexts returns a *cellError if a text of the row is not UTF-8.
func (v *values) checkTexts() error {
	for i := range v.row {
		cell := &v.row[i]
		if cell.missing {
			continue
		}
		if text := cell.any.Text; !utf8.ValidString(text) {
			return &cellError{i, unheld("%.40q is bytes that are not UTF-8", text)}
		}
		for _, text := range cell.any.Texts {
			if !utf8.ValidString(text) {
				return &cellError{i, unheld("%.40q is bytes that are not UTF-8", text)}
			}
		}
	}
	return nil
}

func (v *values) Locate(err error) error { return v.locate(-1, err) }

// timeUnits are the units of times in files, as numbers a second.
const (
	seconds = 1
	millis  = 1_000
	micros  = 1_000_000
	nanos   = 1_000_000_000
)

// timeOf returns a time of a unit that has so many a second.
func timeOf(v, perSecond int64) (Value, error) {
	if perSecond == nanos {
		of := v / 1000
		if v%1000 < 0 {
			of--
		}
		return Value{Kind: TimeValue, Integer: of, Finer: v%1000 != 0}, nil
	}
	scale := micros / perSecond
	if v > math.MaxInt64/scale || v < math.MinInt64/scale {
		return Value{}, unheld("time %d is beyond the range of microseconds", v)
	}
	return Value{Kind: TimeValue, Integer: v * scale}, nil
}

// secondsOfDay are those of a day of UTC.
const secondsOfDay = 24 * 60 * 60

// dayOf returns the first instant of a day, counted from 1970.
func dayOf(day int64) (Value, error) {
	if day > math.MaxInt32 || day < math.MinInt32 {
		return Value{}, unheld("day %d is beyond the range of int32", day)
	}
	return timeOf(day*secondsOfDay, seconds)
}

// unsignedValue returns an integer that must fit int64.
func unsignedValue(v uint64) (Value, error) {
	if v > math.MaxInt64 {
		return Value{}, unheld("%s does not fit int64", strconv.FormatUint(v, 10))
	}
	return Value{Kind: IntegerValue, Integer: int64(v)}, nil
}

// ParseTime reads a time of RFC 3339: a day, which begins at midnight, or a day and a time; without a zone, which only
// loose takes, it is of UTC. exact is false for what is finer than microseconds, which is cut off.
func ParseTime(text string, loose bool) (sinceEpoch int64, exact, ok bool) {
	layouts := []string{time.RFC3339Nano, time.DateOnly}
	if loose {
		layouts = append(layouts, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04", "2006-01-02 15:04")
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UnixMicro(), at.Nanosecond()%1000 == 0, true
		}
	}
	return 0, false, false
}
