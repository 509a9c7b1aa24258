package columns

import (
	"fmt"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

// Columns are the columns of a set of rows, one value of each for every row. They are not changed once they are made,
// and safe for concurrent use.
type Columns struct {
	rows int
	of   []*Column
	// RowsOf returns the rows of an id, an integer or, if text is not "", a text; nil means that ids are row numbers.
	RowsOf func(id int64, text string) []uint32
}

// Rows is the number of rows.
func (c *Columns) Rows() int { return c.rows }

// All returns the columns, in the order in which they were named. The slice is not to be changed.
func (c *Columns) All() []*Column { return c.of }

// Bytes is the memory of the columns, without that of indexes, which are made of those that are compared often: 4 bytes
// a row.
func (c *Columns) Bytes() (n int64) {
	for _, of := range c.of {
		n += of.bytes()
	}
	return n
}

// Fields are the names and types of the columns.
func (c *Columns) Fields() []Field {
	fields := make([]Field, len(c.of))
	for i, of := range c.of {
		fields[i] = of.Field()
	}
	return fields
}

// named returns the column of a name, nil if there is none.
func (c *Columns) named(name string) *Column {
	for _, of := range c.of {
		if of.Name == name {
			return of
		}
	}
	return nil
}

// Check compares an expression with the columns: names, the types that operators allow, and values. The error is an
// *ExprError.
func (c *Columns) Check(e *Expr) error {
	_, err := c.bind(e)
	return err
}

// Select returns the rows for which an expression is true, after Check. The bitmap is the caller's.
func (c *Columns) Select(e *Expr) (*roaring.Bitmap, error) {
	s, err := c.bind(e)
	if err != nil {
		return nil, err
	}
	return s.rows(), nil
}

// selection is an expression that was checked against columns: what gives its rows.
type selection struct {
	op       operator
	parts    []*selection
	least    int
	rowCount int
	// leaf returns the rows of a comparison, in a bitmap of the caller.
	leaf func() *roaring.Bitmap
}

// bind checks an expression, and all its parts before any is evaluated.
func (c *Columns) bind(e *Expr) (*selection, error) {
	comparisons := 0
	e.walk(func(e *Expr) {
		if len(e.parts) == 0 {
			comparisons++
		}
	})
	if comparisons > MaxComparisons {
		return nil, e.at.wrong("%d comparisons, at most %d; many values of one column are one comparison, with in or any", comparisons, MaxComparisons)
	}
	return c.bindParts(e)
}

// MaxComparisons is how many comparisons an expression may have: each reads a column from end to end.
const MaxComparisons = 1000

func (c *Columns) bindParts(e *Expr) (*selection, error) {
	s := &selection{op: e.op, least: e.least, rowCount: c.rows}
	switch e.op {
	case allOf, anyOf, fewest, negation:
		for _, part := range e.parts {
			bound, err := c.bindParts(part)
			if err != nil {
				return nil, err
			}
			s.parts = append(s.parts, bound)
		}
		return s, nil
	case hasID:
		var err error
		s.leaf, err = c.bindIDs(e)
		return s, err
	}
	of := c.named(e.column)
	if of == nil {
		return nil, e.wrong(e.at, "there is no column %q; the columns are %s", e.column, c.names())
	}
	leaf, err := of.bind(e)
	if err != nil {
		return nil, err
	}
	s.leaf = leaf
	if e.negated || e.op == except && of.Type != TextList {
		s.leaf = func() *roaring.Bitmap { return roaring.AndNot(of.base(e.op), leaf()) }
	}
	return s, nil
}

// base are the rows of which a negated comparison selects those that it does not match.
func (c *Column) base(op operator) *roaring.Bitmap {
	if op == isNull {
		return allRows(c.rows)
	}
	return c.comparable
}

// listedNames is how many names of columns an error lists.
const listedNames = 20

func (c *Columns) names() string {
	var names []string
	for i, of := range c.of {
		if i == listedNames {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(c.of)-i)
		}
		names = append(names, of.Name)
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// bindIDs returns the rows of ids. One that no row has selects nothing.
func (c *Columns) bindIDs(e *Expr) (func() *roaring.Bitmap, error) {
	found := roaring.New()
	for i := range e.values {
		id := &e.values[i]
		switch {
		case c.RowsOf != nil:
			found.AddMany(c.RowsOf(id.integer, id.text))
		case id.kind != integerLiteral:
			return nil, e.wrong(id.at, "the id is a text, and the rows have no ids but their numbers")
		case id.integer >= 0 && id.integer < int64(c.rows):
			found.Add(uint32(id.integer))
		}
	}
	return found.Clone, nil
}

// rows evaluates the selection.
func (s *selection) rows() *roaring.Bitmap {
	switch s.op {
	case allOf:
		return s.intersect()
	case anyOf:
		found := roaring.New()
		for _, part := range s.parts {
			found.Or(part.rows())
		}
		return found
	case fewest:
		return s.count()
	case negation:
		found := s.parts[0].rows()
		found.Flip(0, uint64(s.rowCount))
		return found
	}
	return s.leaf()
}

// intersect evaluates the parts until no row is left, first those that are not negations, from which these are taken
// without being turned around.
func (s *selection) intersect() *roaring.Bitmap {
	var found *roaring.Bitmap
	for _, part := range s.parts {
		switch {
		case part.op == negation:
			continue
		case found == nil:
			found = part.rows()
		default:
			found.And(part.rows())
		}
		if found.IsEmpty() {
			return found
		}
	}
	if found == nil {
		found = allRows(s.rowCount)
	}
	for _, part := range s.parts {
		if part.op == negation && !found.IsEmpty() {
			found.AndNot(part.parts[0].rows())
		}
	}
	return found
}

// count returns the rows of at least so many of the parts.
func (s *selection) count() *roaring.Bitmap {
	if s.least <= 0 {
		return allRows(s.rowCount)
	}
	if s.least > len(s.parts) {
		return roaring.New()
	}
	reached := make([]*roaring.Bitmap, s.least) // the rows of more parts than the index
	for i := range reached {
		reached[i] = roaring.New()
	}
	for _, part := range s.parts {
		rows := part.rows()
		for i := s.least - 1; i > 0; i-- {
			reached[i].Or(roaring.And(reached[i-1], rows))
		}
		reached[0].Or(rows)
	}
	return reached[s.least-1]
}
