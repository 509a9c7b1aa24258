package main

import (
	"context"
	"fmt"
	"slices"

	"thresher/batch"
	"thresher/columns"
	"thresher/dataset"
)

// queryFilters say of each query which vectors its answer may have: by an expression in a column of the queries' file.
type queryFilters struct {
	queries input
	name    string                   // of the column
	texts   *columns.Column          // the expressions
	rows    int                      // of the column
	exprs   map[string]*columns.Expr // by text
	vectors *columns.Columns         // what the expressions compare
	allowed map[string][]int64       // by text; the lists of equal filters are one
	size    int                      // of the lists
}

// maxAllowed is how many row numbers of lists are kept from one chunk to the next.
const maxAllowed = 1 << 26

// openFilters reads the expressions of the queries' column of this name.
func (a *app) openFilters(ctx context.Context, queries input, name string) (*queryFilters, error) {
	if queries.isCollection() || queries.folder != nil {
		return nil, fmt.Errorf("--filter-column: %s has vectors prepared for searches; name a file of queries", queries.name)
	}
	c, err := columns.Read(ctx, queries.paths(), []string{name}, queries.columnOptions())
	if err != nil {
		return nil, fmt.Errorf("--filter-column: %w", queries.named(err))
	}
	f := &queryFilters{queries: queries, name: name, texts: c.All()[0], rows: c.Rows(), exprs: map[string]*columns.Expr{}, allowed: map[string][]int64{}}
	for row := range f.rows {
		v := f.texts.Value(row)
		if v.Kind == dataset.NullValue || f.exprs[v.Text] != nil {
			continue
		}
		if v.Kind != dataset.TextValue {
			return nil, fmt.Errorf("--filter-column: %s: row %d (0-based): column %q is %s; expressions are texts, such as \"year >= 1999\"", queries.name, row, name, f.texts.Type)
		}
		if f.exprs[v.Text], err = columns.Parse(v.Text); err != nil {
			return nil, f.located(row, err)
		}
	}
	return f, nil
}

// located adds the file and the row to an error of an expression.
func (f *queryFilters) located(row int, err error) error {
	return fmt.Errorf("--filter-column: %s: row %d (0-based): column %q: %w", f.queries.name, row, f.name, err)
}

// fit returns an error if the column has not a row for each of m queries.
func (f *queryFilters) fit(m int64) error {
	if int64(f.rows) != m {
		return fmt.Errorf("--filter-column: %s: column %q has %d rows, and there are %d queries", f.queries.name, f.name, f.rows, m)
	}
	return nil
}

// columns are the columns of the vectors that the expressions compare.
func (f *queryFilters) columns() (names []string) {
	if f == nil {
		return nil
	}
	for _, e := range f.exprs {
		names = append(names, e.Columns()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// prepare reads what the expressions compare, of the n vectors of in, and checks all of them. l is how the vectors were read,
// and column what names their coordinates, "" if nothing does.
func (f *queryFilters) prepare(ctx context.Context, a *app, in input, column string, l dataset.Layout, n int) (err error) {
	if len(f.exprs) == 0 { // all are null
		return nil
	}
	if f.vectors, err = a.readColumns(ctx, in, f.columns(), n); err != nil {
		return fmt.Errorf("--filter-column: %w", err)
	}
	if name := f.vectors.MaybeCoordinate(l); name != "" && column == "" {
		return fmt.Errorf("--filter-column compares the column %q of %s, which may be a coordinate like %s: --vectors-column names those that make the vector", name, in.name, dataset.Ranges(l.Vector))
	}
	checked := map[string]bool{}
	for row := range f.rows {
		v := f.texts.Value(row)
		if v.Kind == dataset.NullValue || checked[v.Text] {
			continue
		}
		if err := f.vectors.Check(f.exprs[v.Text]); err != nil {
			return f.located(row, fmt.Errorf("%s: %w", in.name, err))
		}
		checked[v.Text] = true
	}
	return nil
}

// set sets the filters of queries, the first of which has this number.
func (f *queryFilters) set(goals []batch.QueryGoal, first int64) (err error) {
	if f.size > maxAllowed {
		clear(f.allowed)
		f.size = 0
	}
	for j := range goals {
		row := int(first) + j
		v := f.texts.Value(row)
		if v.Kind == dataset.NullValue {
			continue
		}
		rows, known := f.allowed[v.Text]
		if !known {
			if rows, err = f.vectors.RowsFor(f.exprs[v.Text]); err != nil {
				return f.located(row, err)
			}
			if rows == nil {
				rows = []int64{} // nothing, and not everything
			}
			f.allowed[v.Text] = rows
			f.size += len(rows)
		}
		goals[j].Filter = rows
	}
	return nil
}
