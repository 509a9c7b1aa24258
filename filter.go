package thresher

import (
	"fmt"
	"strconv"

	"thresher/columns"
)

// Columns are values beside the vectors, one a vector and column, by which Index.Filter selects. Package columns makes
// them: columns.New(columns.Of("year", years), columns.Of("lang", langs)).
type Columns = columns.Columns

// Columns are the columns of the vectors; nil if they have none.
func (x *Index) Columns() *Columns { return x.columns }

// Filter returns the vectors, by their row numbers, for which an expression over the columns is true, such as year >=
// 1999 and lang in ('go', 'rust'), for Request.Filter: docs/filters.md describes expressions. It is an error if there is
// none, and one of type *columns.ExprError says what is wrong with the expression, and where.
func (x *Index) Filter(expression string) ([]int64, error) {
	e, err := columns.Parse(expression)
	if err != nil {
		return nil, err
	}
	return x.rowsFor(e)
}

// FilterJSON is Filter of a filter in Qdrant's form.
func (x *Index) FilterJSON(filter []byte) ([]int64, error) {
	e, err := columns.ParseJSON(filter)
	if err != nil {
		return nil, err
	}
	return x.rowsFor(e)
}

func (x *Index) rowsFor(e *columns.Expr) ([]int64, error) {
	c := x.columns
	if c == nil {
		if len(e.Columns()) > 0 {
			return nil, fmt.Errorf("filter: the vectors have no columns; Options.Columns and ColumnNames give them some")
		}
		c = columns.None(x.Len())
		c.RowsOf = x.rowsOfID()
	}
	rows, err := c.RowsFor(e)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("filter: no vector is allowed")
	}
	return rows, err
}

// keep takes the columns of the vectors over.
func (x *Index) keep(c *Columns) error {
	if c == nil {
		return nil
	}
	if c.Rows() != x.Len() {
		return fmt.Errorf("columns: %d rows for %d vectors", c.Rows(), x.Len())
	}
	own := *c
	own.RowsOf = x.rowsOfID()
	x.columns = &own
	return nil
}

// rowsOfID returns what finds the rows of ids in filters; nil where ids are row numbers.
func (x *Index) rowsOfID() func(id int64, text string) []uint32 {
	if x.ids == nil {
		return nil
	}
	return func(id int64, text string) []uint32 {
		if text == "" {
			text = strconv.FormatInt(id, 10)
		}
		if row, found := x.ids.Find(text); found > 0 {
			return []uint32{uint32(row)}
		}
		return nil
	}
}
