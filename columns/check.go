package columns

import (
	"math"

	"github.com/RoaringBitmap/roaring/v2"
)

// bind checks a comparison against the column, and returns its rows before it is negated.
func (c *Column) bind(e *Expr) (func() *roaring.Bitmap, error) {
	switch e.op {
	case isNull:
		return func() *roaring.Bitmap { return roaring.AndNot(allRows(c.rows), c.filled) }, nil
	case isEmpty:
		return c.empty, nil
	case count:
		return c.bindCount(e)
	}
	if !c.allows(e.op) {
		return nil, c.refuse(e)
	}
	switch c.Type {
	case Float, Single:
		spans, err := spansOfValues(c, e, func(l *literal) (cut[float64], error) { return floatOf(l, c.Type == Single) }, math.Inf(-1), math.Inf(1))
		return func() *roaring.Bitmap { return c.floats.within(spans) }, err
	case Text, TextList:
		return c.bindTexts(e)
	}
	of := integerOf
	switch c.Type {
	case Bool:
		of = boolOf
	case Time:
		of = timeOf
	}
	if e.op == isTrue {
		return func() *roaring.Bitmap { return c.integers.within([]span[int64]{{1, 1}}) }, nil
	}
	spans, err := spansOfValues(c, e, of, math.MinInt64, math.MaxInt64)
	return func() *roaring.Bitmap { return c.integers.within(spans) }, err
}

// allows reports whether values of the column's type can be compared so.
func (c *Column) allows(op operator) bool {
	switch op {
	case match, except:
		return true
	case has:
		return c.Type == TextList
	case isTrue:
		return c.Type == Bool
	case startsWith:
		return c.Type == Text
	case equal, in:
		return c.Type != TextList
	}
	return c.Type != TextList && c.Type != Bool
}

// refuse returns the error of an operator that the column does not allow.
func (c *Column) refuse(e *Expr) error {
	hint := ""
	switch {
	case e.op == isTrue:
		return e.wrong(e.at, "column %q is %s, and only a bool stands by itself: an operator is wanted after it%s", c.Name, c.Type, c.why())
	case c.Type == TextList:
		hint = "; has finds a list that holds a text"
	case e.op == has:
		hint = "; has is for lists, in compares with several values"
	}
	return e.wrong(e.at, "column %q is %s, which has no %s%s%s", c.Name, c.Type, e, hint, c.why())
}

// why says what keeps a column of texts from being one of numbers.
func (c *Column) why() string {
	if c.example == "" {
		return ""
	}
	return "; " + c.example
}

// spansOfValues returns the keys for which a comparison is true; of returns the cut of a value, and highest is the
// greatest key.
func spansOfValues[K key](c *Column, e *Expr, of func(l *literal) (cut[K], error), lowest, highest K) ([]span[K], error) {
	op := e.op
	switch op {
	case match, except, equal, has:
		op = in
	}
	cuts := make([]cut[K], len(e.values))
	for i := range e.values {
		var err error
		if cuts[i], err = of(&e.values[i]); err != nil {
			return nil, e.wrong(e.values[i].at, "column %q is %s, and %s compares it %w%s", c.Name, c.Type, e, err, c.why())
		}
	}
	return spansOf(op, cuts, lowest, highest), nil
}

// bindTexts is bind for texts and lists of them.
func (c *Column) bindTexts(e *Expr) (func() *roaring.Bitmap, error) {
	last := uint32(max(len(c.dictionary), 1) - 1)
	spans, err := spansOfValues(c, e, c.textOf, 0, last)
	if err != nil {
		return nil, err
	}
	switch {
	case len(c.dictionary) == 0:
		spans = nil
	case e.op == startsWith:
		spans = c.prefixSpan(e.values[0].text)
	case e.op == except && c.Type == TextList: // another text than these
		spans = outside(spans, last)
	}
	return func() *roaring.Bitmap { return c.codes.within(spans) }, nil
}

// outside returns the codes up to last that are in none of the spans.
func outside(spans []span[uint32], last uint32) (others []span[uint32]) {
	next := uint32(0)
	for _, s := range spans {
		if s.lo > next {
			others = append(others, span[uint32]{next, s.lo - 1})
		}
		next = s.hi + 1
	}
	if next <= last {
		others = append(others, span[uint32]{next, last})
	}
	return others
}

// empty returns the rows without a value: null and empty lists.
func (c *Column) empty() *roaring.Bitmap {
	found := roaring.AndNot(allRows(c.rows), c.filled)
	for row, n := range c.counts {
		if n == 0 {
			found.Add(uint32(row))
		}
	}
	return found
}

// bindCount compares the number of values: of a list, or else one, and none for null.
func (c *Column) bindCount(e *Expr) (func() *roaring.Bitmap, error) {
	at, err := integerOf(&e.values[0])
	if err != nil {
		return nil, e.wrong(e.values[0].at, "the number of values is compared %w", err)
	}
	spans := spansOf(e.compare, []cut[int64]{at}, 0, math.MaxInt64)
	if len(spans) == 1 && spans[0].hi < 0 {
		spans = nil
	}
	return func() *roaring.Bitmap {
		found := roaring.New()
		for row := range c.rows {
			n := int64(0)
			switch {
			case c.counts != nil:
				n = int64(c.counts[row])
			case c.filled.Contains(uint32(row)):
				n = 1
			}
			if inside(spans, n) {
				found.Add(uint32(row))
			}
		}
		return found
	}, nil
}
