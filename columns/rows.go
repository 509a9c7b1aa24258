package columns

import (
	"fmt"

	"thresher/dataset"
)

// Gather returns the columns of some rows, in their order. RowsOf is not kept.
func (c *Columns) Gather(rows []int64) *Columns {
	all := &Columns{rows: len(rows)}
	for _, of := range c.of {
		b := newBuilder(of.Name)
		for _, row := range rows {
			v := of.Value(int(row))
			_ = b.add(&v) // of one type
		}
		all.of = append(all.of, b.columnAs(of))
	}
	return all
}

// Named returns the columns of these names, in their order.
func (c *Columns) Named(names ...string) (*Columns, error) {
	chosen := &Columns{rows: c.rows, RowsOf: c.RowsOf}
	for _, name := range names {
		of := c.named(name)
		if of == nil {
			return nil, fmt.Errorf("there is no column %q; the columns are %s", name, c.names())
		}
		chosen.of = append(chosen.of, of)
	}
	return chosen, nil
}

// single rounds a number to float32.
func single(v dataset.Value) dataset.Value {
	x := v.Float
	if v.Kind == dataset.IntegerValue {
		x = float64(v.Integer)
	}
	return dataset.Value{Kind: dataset.SingleValue, Float: float64(float32(x))}
}

// Append returns the columns of these rows and of n that follow them, whose values more has; what it lacks, all if it is
// nil, is null. Numbers are rounded to float32 where those before are float32. A column of other values than those before it, or that these do not have, is an error that names it.
func (c *Columns) Append(more *Columns, n int) (*Columns, error) {
	if more == nil {
		more = &Columns{rows: n}
	}
	switch {
	case more.rows != n:
		return nil, fmt.Errorf("columns: %d rows for %d vectors", more.rows, n)
	case c.rows > MaxRows-n:
		return nil, fmt.Errorf("columns have at most %d rows", MaxRows)
	}
	for _, of := range more.of {
		if c.named(of.Name) == nil {
			return nil, fmt.Errorf("there is no column %q; the columns are %s", of.Name, c.names())
		}
	}
	all := &Columns{rows: c.rows + n}
	for _, of := range c.of {
		b, next := newBuilder(of.Name), more.named(of.Name)
		for row := range c.rows {
			v := of.Value(row)
			_ = b.add(&v) // of one type
		}
		for row := range n {
			v := null
			if next != nil {
				v = next.Value(row)
			}
			if of.Type == Single && (v.Kind == dataset.FloatValue || v.Kind == dataset.IntegerValue) {
				v = single(v)
			}
			if err := b.add(&v); err != nil {
				return nil, fmt.Errorf("row %d (0-based): %w", row, err)
			}
		}
		all.of = append(all.of, b.columnAs(of))
	}
	return all, nil
}
