package dataset

import (
	"fmt"
	"io"
	"math"
	"time"
)

// ValueColumn is a column of values that WriteValues writes.
type ValueColumn struct {
	Name string
	Kind ValueKind // of all its values that are no NullValue
}

// Fact is what a file says of all its rows, where its format has room for it: the metadata of Parquet and Arrow.
type Fact struct{ Name, Text string }

// WriteValues writes a table of values of any kinds, a row for each that each passes on, in one of
// FormatsFor(ValuesWritten). A row has a value for each column, of the column's kind or NullValue, and is valid during the
// call. Whenever each is called, it passes on the same rows.
//
//	Parquet  int64, double, float, string, boolean, timestamp in microseconds of UTC, list of string; null where there is
//	         no value
//	Arrow    the same, as a file or a stream
//	JSONL    fields without a value are left out; times are texts of RFC 3339. NaN is no value, and an infinity an error
//	CSV      an empty cell where there is no value, "" is an empty text; times are texts of RFC 3339. Lists are an error
func WriteValues(out io.Writer, format Format, columns []ValueColumn, facts []Fact, each func(do func(row []Value) error) error) error {
	if !ValuesWritten.has(codecOf(format)) {
		return fmt.Errorf("rows are not written as %s; formats that are: %s", format, formatsThat(ValuesWritten.has))
	}
	t := &table{name: "row", values: true}
	for _, c := range columns {
		of, ok := c.column()
		if !ok {
			return fmt.Errorf("column %q is %s, which is not written", c.Name, c.Kind)
		}
		t.columns = append(t.columns, of)
	}
	for _, f := range facts {
		t.facts = append(t.facts, fact{f.Name, Text, f.Text})
	}
	for i := range t.columns {
		if t.columns[i].List && codecOf(format).writes < listColumns {
			return fmt.Errorf("column %q has lists, which %s does not hold", t.columns[i].Name, format)
		}
	}
	t.each = func(do func(row []tableCell) error) error {
		row := make([]tableCell, len(columns))
		return each(func(values []Value) error {
			for i := range values {
				if err := row[i].setValue(&values[i], format); err != nil {
					return fmt.Errorf("column %q: %w", columns[i].Name, err)
				}
			}
			return do(row)
		})
	}
	return writeTable(out, format, "rows", t)
}

// column is as what the column is written.
func (c *ValueColumn) column() (of Column, ok bool) {
	types := map[ValueKind]Type{IntegerValue: Int64, FloatValue: Float64, SingleValue: Float32, TextValue: Text, BoolValue: Bool, TimeValue: Time, ListValue: Text}
	of = Column{Name: c.Name, List: c.Kind == ListValue, Optional: true, Nulls: true}
	of.Type, ok = types[c.Kind]
	return of, ok
}

// setValue makes the cell one with a value, for a format.
func (c *tableCell) setValue(v *Value, format Format) error {
	c.integer, c.float, c.text, c.texts = v.Integer, v.Float, v.Text, v.Texts
	c.missing = v.Kind == NullValue
	if x := v.Float; x-x != 0 && format == JSONL && (v.Kind == FloatValue || v.Kind == SingleValue) {
		if !math.IsNaN(x) {
			return fmt.Errorf("%g is no number of JSON", x)
		}
		c.missing = true
	}
	return nil
}

// timeOfText is a time in microseconds since 1970 as RFC 3339 has it, in UTC.
func timeOfText(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.999999Z07:00")
}
