package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"thresher/columns"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/tasks"
)

// rowFilter says by their columns which vectors answers may have.
type rowFilter struct {
	text string        // of --filter, "" without
	expr *columns.Expr // of text, after parse
}

// searchHelp and partHelp are which vectors a filter is for: those that are returned, or those that take part at all.
const searchHelp, partHelp = "return only vectors", "compare only vectors with each other"

func (f *rowFilter) add(fs *pflag.FlagSet) { f.addTo(fs, searchHelp) }

// addTo defines the flag, whose help begins with which vectors it is for.
func (f *rowFilter) addTo(fs *pflag.FlagSet, which string) {
	fs.StringVar(&f.text, "filter", "", which+" for which this `expression` over other columns of their file is true, such as \"year >= 1999 and lang in ('go', 'rust') and not draft\" (.parquet, .arrow, .csv, .jsonl)")
}

// parse reads the expression before any file is read.
func (f *rowFilter) parse() (err error) {
	if f.text == "" {
		return nil
	}
	if f.expr, err = columns.Parse(f.text); err != nil {
		return fmt.Errorf("--filter: %w", err)
	}
	return nil
}

// columns are the columns of the vectors that the expression compares.
func (f *rowFilter) columns() []string {
	if f.expr == nil {
		return nil
	}
	return f.expr.Columns()
}

// rows returns the numbers of the n vectors of in for which the expression is true, nil without one. l is how the
// vectors were read, and column what names their coordinates, "" if nothing does.
func (f *rowFilter) rows(ctx context.Context, a *app, in input, column string, l dataset.Layout, n int) ([]int64, error) {
	if f.expr == nil {
		return nil, nil
	}
	if in.walked {
		rows, err := in.folder.allow(f.expr)
		if err != nil {
			return nil, fmt.Errorf("--filter: %s: %w", in.name, err)
		}
		return f.some(a, in, rows, n)
	}
	c, err := a.readColumns(ctx, in, f.columns(), n)
	if err != nil {
		return nil, fmt.Errorf("--filter: %w", err)
	}
	if name := c.MaybeCoordinate(l); name != "" && column == "" {
		return nil, fmt.Errorf("--filter compares the column %q of %s, which may be a coordinate like %s: --vectors-column names those that make the vector", name, in.name, dataset.Ranges(l.Vector))
	}
	rows, err := c.RowsFor(f.expr)
	if err != nil {
		return nil, fmt.Errorf("--filter: %s: %w", in.name, err)
	}
	return f.some(a, in, rows, n)
}

// some refuses an expression that allows none of the n vectors of in, and returns the rows that it allows.
func (f *rowFilter) some(a *app, in input, rows []int64, n int) ([]int64, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("--filter: no vector of %s is allowed by %s", in.name, f.text)
	}
	a.Log.Info("filter", "allowed", len(rows), "vectors", n)
	return rows, nil
}

// filtered is what a summary says of the expression, which allows these rows.
func (f *rowFilter) filtered(rows []int64) tasks.Filtered {
	return tasks.Filtered{Filter: f.text, Allowed: len(rows)}
}

// printFilter adds the filter, if there is one, to a summary.
func printFilter(t *cli.Table, f *tasks.Filtered) {
	if text := f.Words(); text != "" {
		t.Row("filter", text)
	}
}

// readColumns reads columns of in, which has n vectors: of a prepared collection and a folder those that are kept.
func (a *app) readColumns(ctx context.Context, in input, names []string, n int) (*columns.Columns, error) {
	p := a.NewProgress("reading columns")
	defer p.Done()
	if in.folder != nil {
		c, err := in.folder.columns(names...)
		if err != nil {
			err = fmt.Errorf("%s: %w", in.name, err)
		}
		return c, err
	}
	if in.isCollection() {
		c, err := columns.Saved(in.path, n, names...)
		if c == nil && err == nil {
			err = fmt.Errorf("%s has no columns: no file %s lies beside it; build --columns keeps those that it names, or name the file of vectors that it was built from", in.name, filepath.Base(in.path)+columns.SavedSuffix)
		}
		return c, err
	}
	opt := in.columnOptions()
	opt.Progress = func(rows int64) { p.Set(rows, int64(n)) }
	c, err := columns.Read(ctx, in.paths(), names, opt)
	if err != nil {
		return nil, in.named(err)
	}
	if c.Rows() != n {
		return nil, fmt.Errorf("the columns of %s have %d rows, and there are %d vectors", in.name, c.Rows(), n)
	}
	return c, nil
}

// checkColumns refuses columns that files of in lack, as a flag names them, before the vectors are read and built, which can take long. A
// folder and a prepared collection, and JSON lines, are asked when they are read.
func (in input) checkColumns(flag string, names []string) error {
	if len(names) == 0 || in.folder != nil || in.isCollection() {
		return nil
	}
	if err := columns.Check(in.paths(), names, in.columnOptions()); err != nil {
		return fmt.Errorf("--%s: %w", flag, in.named(err))
	}
	return nil
}

// columnOptions say how columns of files are read.
func (in input) columnOptions() *columns.ReadOptions {
	opt := &columns.ReadOptions{Budget: in.budget()}
	if in.format() == dataset.CSV {
		opt.Header = in.header
	}
	return opt
}
