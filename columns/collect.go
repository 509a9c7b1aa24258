package columns

import (
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"thresher/dataset"
)

// Place is a row of one of several Columns.
type Place struct{ Of, Row uint32 }

// newTyped returns a builder of a column of a type, which takes values of that type alone.
func newTyped(f Field) *builder {
	b := newBuilder(f.Name)
	b.kind = f.Type.Kind()
	return b
}

// typed returns the column of a builder whose values are of a type.
func (b *builder) typed(t Type) *Column {
	c := &Column{Name: b.name, Type: t, rows: b.rows, filled: b.filled, comparable: b.filled}
	switch t {
	case Float, Single:
		c.setFloats(b.floats)
	case Text:
		b.keepTexts(c)
	case TextList:
		c.counts = b.counts
		if b.owner == nil {
			b.owner = []uint32{} // also of lists that are all empty
		}
		c.codes = &ordered[uint32]{keys: b.codes, owner: b.owner, rows: b.rows, valid: b.filled}
		b.sortTexts(c)
	default:
		c.setIntegers(b.integers)
	}
	return c
}

// CheckFields refuses names that columns cannot have, or that two have.
func CheckFields(fields []Field) error {
	for i, f := range fields {
		switch {
		case f.Name == "":
			return fmt.Errorf("the name of column %d (0-based) is empty", i)
		case f.Type < Integer || f.Type > TextList:
			return fmt.Errorf("column %q has no type", f.Name)
		case slices.ContainsFunc(fields[:i], func(other Field) bool { return other.Name == f.Name }):
			return fmt.Errorf("two columns are called %q", f.Name)
		}
	}
	return nil
}

// Collect returns the columns of fields for rows of several Columns, each of which As has made of these fields, or is nil:
// then its rows have no values. The rows are in the order of places.
func Collect(fields []Field, of []*Columns, places []Place) *Columns {
	all := &Columns{rows: len(places), of: make([]*Column, len(fields))}
	for i, f := range fields {
		b := newTyped(f)
		for _, p := range places {
			v := null
			if from := of[p.Of]; from != nil {
				v = from.of[i].Value(int(p.Row))
			}
			_ = b.add(&v) // of one type
		}
		all.of[i] = b.typed(f.Type)
	}
	return all
}

// Slice returns the rows from first to end, without end, of the columns. RowsOf is not kept.
func (c *Columns) Slice(first, end int) *Columns {
	places := make([]Place, end-first)
	for i := range places {
		places[i].Row = uint32(first + i)
	}
	return Collect(c.Fields(), []*Columns{c}, places)
}

// TypeError says that a column has another type than the one of its name before it, or that there is none.
type TypeError struct {
	Column    string
	Type      Type   // of the column
	Wanted    Type   // of the one before it; 0 if there is none
	Available string // the names of those there are
	Err       error  // a value that cannot be converted; nil if no value of the type can be
}

func (e *TypeError) Error() string {
	switch {
	case e.Wanted == 0:
		return fmt.Sprintf("there is no column %q; the columns are %s", e.Column, e.Available)
	case e.Err != nil:
		return fmt.Sprintf("column %q is %s, where the rows before have %s: %v", e.Column, e.Type, e.Wanted, e.Err)
	}
	return fmt.Sprintf("column %q is %s, where the rows before have %s", e.Column, e.Type, e.Wanted)
}

func (e *TypeError) Unwrap() error { return e.Err }

// As returns the columns of fields, in their order; those that c lacks are null. A column without values is of any type,
// integers become the floats that they are, and numbers are rounded to float32 where a field is. What else differs, and a
// column that fields lack, is a *TypeError.
func (c *Columns) As(fields []Field) (*Columns, error) {
	all := &Columns{rows: c.rows, of: make([]*Column, len(fields))}
	found := 0
	for i, f := range fields {
		of := c.named(f.Name)
		if of == nil {
			of = &Column{Name: f.Name, Type: f.Type, rows: c.rows, filled: roaring.New()}
		} else {
			found++
		}
		var err error
		if all.of[i], err = of.as(f.Type); err != nil {
			return nil, err
		}
	}
	if found == len(c.of) {
		return all, nil
	}
	known := &Columns{}
	for _, f := range fields {
		known.of = append(known.of, &Column{Name: f.Name})
	}
	for _, of := range c.of {
		if known.named(of.Name) == nil {
			return nil, &TypeError{Column: of.Name, Type: of.Type, Available: known.names()}
		}
	}
	return all, nil
}

// as returns the column with values of a type.
func (c *Column) as(t Type) (*Column, error) {
	if c.Type == t && c.comparable != nil {
		return c, nil
	}
	b := newTyped(Field{c.Name, t})
	numbers := c.Type == Integer && (t == Float || t == Single) || c.Type == Float && t == Single
	if !numbers && !c.filled.IsEmpty() {
		return nil, &TypeError{Column: c.Name, Type: c.Type, Wanted: t}
	}
	for row := range c.rows {
		v := null
		if numbers {
			v = c.Value(row)
		}
		if t == Single && v.Kind != dataset.NullValue {
			v = single(v)
		}
		if err := b.add(&v); err != nil {
			return nil, &TypeError{Column: c.Name, Type: c.Type, Wanted: t, Err: fmt.Errorf("row %d (0-based): %d is no float64", row, v.Integer)}
		}
	}
	return b.typed(t), nil
}
