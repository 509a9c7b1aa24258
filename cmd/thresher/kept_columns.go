package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"thresher/columns"
	"thresher/dataset"
	"thresher/internal/cli"
)

// keptColumns are the columns that build keeps beside a collection, for filters.
type keptColumns struct {
	text string // of --columns, "" without
	of   *columns.Columns
}

func (k *keptColumns) add(fs *pflag.FlagSet) {
	fs.StringVar(&k.text, "columns", "", "`names` of other columns to keep beside the collection for --filter, separated by commas, or all (.parquet, .arrow, .csv, .jsonl)")
}

// named are the columns that the flag names, columns.All among them.
func (k *keptColumns) named() []string {
	if k.text == "" {
		return nil
	}
	return strings.Split(k.text, ",")
}

// read reads the columns of in, whose vectors are read as the layout says. column names their coordinates, "" if
// nothing does. It returns the names of the columns.
func (k *keptColumns) read(ctx context.Context, a *app, in input, column string, l dataset.Layout) (names []string, err error) {
	if k.text == "" {
		return nil, nil
	}
	p := a.NewProgress("reading columns")
	defer p.Done()
	opt := in.columnOptions()
	opt.Progress = func(rows int64) { p.Set(rows, -1) }
	var refused []columns.Refused
	if in.folder != nil {
		k.of, err = k.ofFolder(in.folder)
	} else {
		k.of, refused, err = columns.Keep(ctx, in.paths(), k.named(), opt, append(slices.Clone(l.Vector), l.IDs)...)
	}
	if err != nil {
		return nil, fmt.Errorf("--columns: %w", in.named(err))
	}
	names = a.warnRefused("kept", in, refused)
	for _, of := range k.of.All() {
		a.warnFiner(in, of)
	}
	if name := k.of.MaybeCoordinate(l); name != "" && column == "" {
		return nil, fmt.Errorf("--columns keeps the column %q of %s, which may be a coordinate like %s: --vectors-column names those that make the vector", name, in.name, dataset.Ranges(l.Vector))
	}
	for _, of := range k.of.All() {
		names = append(names, of.Name)
	}
	return names, nil // of which those refused are told
}

// warnRefused tells which columns of in are not kept, or written, and why. It returns their names.
func (a *app) warnRefused(done string, in input, refused []columns.Refused) (names []string) {
	var untyped []string
	for _, r := range refused {
		names = append(names, r.Name)
		if r.Why == nil {
			untyped = append(untyped, r.Name)
			continue
		}
		a.Log.Warn("a column is not "+done, "file", in.name, "column", r.Name, "why", in.named(r.Why))
	}
	if untyped != nil {
		a.Log.Warn("columns are not "+done+": they are no integers, floats, texts, bools, times or lists of texts", "file", in.name, "columns", strings.Join(untyped, ", "))
	}
	return names
}

// warnFiner tells how many times of a column of in are not what they were.
func (a *app) warnFiner(in input, c *columns.Column) {
	if rows, first := c.Finer(); rows > 0 {
		a.Log.Warn("times are cut to microseconds", "file", in.name, "column", c.Name, "rows", rows, "first_row", first)
	}
}

// ofFolder returns the columns of the vectors of a folder.
func (k *keptColumns) ofFolder(v *vectorsFolder) (*columns.Columns, error) {
	names := k.named()
	if k.text == columns.All {
		names = nil
	}
	c, err := v.columns(names...)
	if err == nil && len(c.All()) == 0 {
		err = errors.New("the folder has no columns")
	}
	return c, err
}

// save writes the columns beside the collection of n vectors at path, or removes those of one that was there.
func (k *keptColumns) save(path string, n int) error {
	if k.of != nil && k.of.Rows() != n {
		return fmt.Errorf("--columns: the columns have %d rows, and there are %d vectors", k.of.Rows(), n)
	}
	if err := columns.Save(path, k.of); err != nil {
		return fmt.Errorf("the columns of %s: %w", path, err)
	}
	return nil
}

// fields are the names and types of the columns.
func (k *keptColumns) fields() []columns.Field {
	if k.of == nil {
		return nil
	}
	return k.of.Fields()
}

// printFields adds columns that are kept to a table.
func printFields(t *cli.Table, fields []columns.Field) {
	var parts []string
	for _, f := range fields {
		parts = append(parts, fmt.Sprintf("%s (%s)", f.Name, f.Type))
	}
	if parts != nil {
		t.Row("filters", "by "+strings.Join(parts, ", "))
	}
}

// hashSavedColumns returns the SHA-256, in hexadecimal, of the file of columns beside a prepared collection, or of the
// columns of a folder; "" if there are none.
func (in input) hashSavedColumns(ctx context.Context) (string, error) {
	if in.folder != nil {
		return in.folder.hashColumns()
	}
	if !in.isCollection() {
		return "", nil
	}
	hash, err := hashFile(ctx, in.path+columns.SavedSuffix, in.name+columns.SavedSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return hash, err
}
