package columns

import (
	"fmt"
	"time"

	"thresher/dataset"
)

// Values are what a column is made of: integers, floats, texts, bools, times (what is finer than microseconds is cut
// off), or lists of texts.
type Values interface {
	int | int64 | float32 | float64 | string | bool | time.Time | []string
}

// Of returns the column of a name, with a value for each row. NaN is a float that no comparison matches; FromJSON reads
// rows without a value, too.
func Of[T Values](name string, values []T) *Column {
	b := newBuilder(name)
	for i := range values {
		v := valueOf(any(values[i]))
		_ = b.add(&v) // values of one type fit together
	}
	if len(values) == 0 { // of a type nevertheless
		var none T
		v := valueOf(any(none))
		b.kind = v.Kind
	}
	return b.column(false)
}

func valueOf(v any) dataset.Value {
	switch v := v.(type) {
	case int:
		return dataset.Value{Kind: dataset.IntegerValue, Integer: int64(v)}
	case int64:
		return dataset.Value{Kind: dataset.IntegerValue, Integer: v}
	case float32:
		return dataset.Value{Kind: dataset.SingleValue, Float: float64(v)}
	case float64:
		return dataset.Value{Kind: dataset.FloatValue, Float: v}
	case string:
		return dataset.Value{Kind: dataset.TextValue, Text: v}
	case bool:
		if v {
			return dataset.Value{Kind: dataset.BoolValue, Integer: 1}
		}
		return dataset.Value{Kind: dataset.BoolValue}
	case time.Time:
		return dataset.Value{Kind: dataset.TimeValue, Integer: v.UnixMicro()}
	}
	return dataset.Value{Kind: dataset.ListValue, Texts: v.([]string)}
}

// New returns columns of different names that have a value for each of the same rows.
func New(of ...*Column) (*Columns, error) {
	c := &Columns{of: of}
	for i, column := range of {
		if c.rows = of[0].rows; column.rows != c.rows {
			return nil, fmt.Errorf("column %q has %d rows, %q has %d", column.Name, column.rows, of[0].Name, c.rows)
		}
		for _, other := range of[:i] {
			if other.Name == column.Name {
				return nil, fmt.Errorf("two columns are called %q", column.Name)
			}
		}
	}
	return c, nil
}

// None returns the columns of n rows that have none: filters select by ids alone, which RowsOf finds.
func None(n int) *Columns { return &Columns{rows: n} }

// RowsFor returns the rows for which an expression is true, ascending, and none as an empty slice.
func (c *Columns) RowsFor(e *Expr) ([]int64, error) {
	found, err := c.Select(e)
	if err != nil {
		return nil, err
	}
	list := found.ToArray()
	rows := make([]int64, len(list))
	for i, row := range list {
		rows[i] = int64(row)
	}
	return rows, nil
}
