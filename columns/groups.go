package columns

import (
	"fmt"
	"slices"

	"thresher/dataset"
)

// NoGroup is the group of a row that has no key.
const NoGroup = -1

// Groups numbers the keys of the rows of two tables, the values of the columns called by: rows of the left and the right
// table have the same number, from 0 on and below n, if the values of all these columns are equal. A row that lacks one has
// none, NoGroup: no value equals null. Integers, texts, bools and times can be keys, if both tables have the same type of
// them. A time that was cut to microseconds is an error, as what it equaled is lost.
func Groups(left, right *Columns, by []string) (l, r []int32, n int, err error) {
	l, r = make([]int32, left.rows), make([]int32, right.rows)
	n = 1
	for i, name := range by {
		if slices.Contains(by[:i], name) {
			return nil, nil, 0, fmt.Errorf("column %q is named twice", name)
		}
	}
	for _, name := range by {
		a, b := left.named(name), right.named(name)
		switch {
		case a == nil:
			return nil, nil, 0, fmt.Errorf("the left table has no column %q; its columns are %s", name, left.names())
		case b == nil:
			return nil, nil, 0, fmt.Errorf("the right table has no column %q; its columns are %s", name, right.names())
		}
		if err := comparableKeys(a, b); err != nil {
			return nil, nil, 0, err
		}
		x, y := keysOf(a, b)
		numbers := map[[2]int32]int32{}
		number := func(groups, keys []int32) {
			for row, key := range keys {
				if groups[row] == NoGroup || key == NoGroup {
					groups[row] = NoGroup
					continue
				}
				pair := [2]int32{groups[row], key}
				g, ok := numbers[pair]
				if !ok {
					g = int32(len(numbers))
					numbers[pair] = g
				}
				groups[row] = g
			}
		}
		number(r, y)
		number(l, x)
		n = len(numbers)
	}
	return l, r, n, nil
}

// FinerError is the error of a key that is a time finer than microseconds, to which columns cut it.
type FinerError struct {
	Column *Column
	Row    int // of the column, 0-based
}

// Error names the column and its row.
func (e *FinerError) Error() string {
	return fmt.Sprintf("column %q: row %d (0-based) has a time finer than microseconds, by which times are compared", e.Column.Name, e.Row)
}

// comparableKeys refuses columns whose values are no keys of each other.
func comparableKeys(a, b *Column) error {
	for _, c := range []*Column{a, b} {
		switch c.Type {
		case Integer, Text, Bool, Time:
		default:
			return fmt.Errorf("column %q is %s; keys are integers, texts, bools or timestamps", c.Name, c.Type)
		}
		if rows, first := c.Finer(); rows > 0 {
			return &FinerError{Column: c, Row: first}
		}
	}
	if a.Type != b.Type && !a.filled.IsEmpty() && !b.filled.IsEmpty() { // all of what has no value is null, of whichever type
		return fmt.Errorf("column %q is %s in the left table and %s in the right: which values are equal? Give both the same type", a.Name, a.Type, b.Type)
	}
	return nil
}

// keysOf numbers the values of two columns of one type, NoGroup for null.
func keysOf(a, b *Column) (x, y []int32) {
	x, y = make([]int32, a.rows), make([]int32, b.rows)
	for row := range x {
		x[row] = NoGroup
	}
	for row := range y {
		y[row] = NoGroup
	}
	if a.Type != b.Type {
		return x, y
	}
	if a.Type == Text {
		numbers := make(map[string]int32, len(b.dictionary))
		textKeys(y, b, numbers)
		textKeys(x, a, numbers)
		return x, y
	}
	numbers := map[int64]int32{}
	for _, side := range []struct {
		of   *Column
		keys []int32
	}{{b, y}, {a, x}} {
		for rows := side.of.filled.Iterator(); rows.HasNext(); {
			row := rows.Next()
			value := side.of.integers.keys[row]
			key, ok := numbers[value]
			if !ok {
				key = int32(len(numbers))
				numbers[value] = key
			}
			side.keys[row] = key
		}
	}
	return x, y
}

// textKeys numbers the texts of a column.
func textKeys(keys []int32, c *Column, numbers map[string]int32) {
	place := make([]int32, len(c.dictionary))
	for i, text := range c.dictionary {
		key, ok := numbers[text]
		if !ok {
			key = int32(len(numbers))
			numbers[text] = key
		}
		place[i] = key
	}
	for rows := c.filled.Iterator(); rows.HasNext(); {
		row := rows.Next()
		keys[row] = place[c.codes.keys[row]]
	}
}

// Kind is that of the column's values.
func (t Type) Kind() dataset.ValueKind {
	return [...]dataset.ValueKind{dataset.NullValue, dataset.IntegerValue, dataset.FloatValue, dataset.SingleValue, dataset.TextValue, dataset.BoolValue, dataset.TimeValue, dataset.ListValue}[t]
}
