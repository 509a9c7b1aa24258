package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"thresher/batch"
	"thresher/columns"
	"thresher/dataset"
	"thresher/tasks"
)

// filterFlags say which vectors answers may have: those of all queries, or of each by itself.
type filterFlags struct {
	filter       rowFilter
	filterColumn string // "" without a filter for each query
}

func (f *filterFlags) add(fs *pflag.FlagSet) {
	f.filter.add(fs)
	fs.StringVar(&f.filterColumn, "filter-column", "", "in place of --filter: `column` of the queries with an expression as of --filter for each (.parquet, .arrow, .csv, .jsonl); null allows all vectors")
}

// parseFilters checks and parses them.
func (f *filterFlags) parseFilters() error {
	if f.filterColumn != "" && f.filter.text != "" {
		return errors.New("--filter is the filter of all queries, and --filter-column has one for each; name one of them")
	}
	return f.filter.parse()
}

// filtered is what a summary says of them; rows are those that --filter allows.
func (f *filterFlags) filtered(rows []int64) tasks.Filtered {
	said := f.filter.filtered(rows)
	said.FilterColumn = f.filterColumn
	return said
}

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

// maxAllowed is how many row numbers of lists may be kept for queries that follow when another list is added.
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
	for j := range goals {
		if goals[j].Filter, err = f.of(first + int64(j)); err != nil {
			return err
		}
	}
	return nil
}

// of returns the rows that the answer to a query may have, nil for all. They are shared, and not to be changed.
func (f *queryFilters) of(query int64) ([]int64, error) {
	row := int(query)
	v := f.texts.Value(row)
	if v.Kind == dataset.NullValue {
		return nil, nil
	}
	if rows, known := f.allowed[v.Text]; known {
		return rows, nil
	}
	rows, err := f.vectors.RowsFor(f.exprs[v.Text])
	if err != nil {
		return nil, f.located(row, err)
	}
	if rows == nil {
		rows = []int64{} // nothing, and not everything
	}
	if f.size > maxAllowed {
		clear(f.allowed)
		f.size = 0
	}
	f.allowed[v.Text] = rows
	f.size += len(rows)
	return rows, nil
}
