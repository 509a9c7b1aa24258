package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"thresher/columns"
	"thresher/dataset"
	"thresher/service/problem"
)

// columns returns the name of the file of a version's columns, which it has if Columns are not nil.
func (ch *change) columns() string { return ch.Base + ".columns" }

// checkColumns checks that the columns that a source names are there, in the file at path, and names them if all are
// wanted.
func (s *staged) checkColumns(path string) error {
	o := s.origin
	if o.Columns == nil {
		return nil
	}
	err := func() error {
		if o.Prepared {
			return s.checkSavedColumns(path)
		}
		opt := s.c.columnOptions(o)
		if slices.Equal(o.Columns, []string{columns.All}) {
			var err error
			if o.Columns, _, err = columns.Names([]string{path}, opt, append(slices.Clone(s.layout.Vector), s.layout.IDs)...); err != nil {
				return err
			}
			if len(o.Columns) == 0 {
				return fmt.Errorf("%s has no columns beside the vectors", o.Called)
			}
		}
		for i, name := range o.Columns {
			if name == "" || slices.Contains(o.Columns[:i], name) {
				return fmt.Errorf("name %d of a column is empty, or there twice: %q", i+1, name)
			}
		}
		v, err := dataset.OpenValues(path, o.Header, opt.Budget, o.Columns...)
		if err != nil {
			return err
		}
		return v.Close()
	}()
	if err != nil {
		text := strings.ReplaceAll(err.Error(), path, o.Called)
		var in *dataset.Error
		if errors.As(err, &in) {
			text = describe(err, o, path).Error()
		}
		return problem.New(problem.InvalidValue, "columns: %s", text).In("columns").Because(err)
	}
	s.layout.Dropped = slices.DeleteFunc(s.layout.Dropped, func(name string) bool { return slices.Contains(o.Columns, name) })
	return nil
}

// checkSavedColumns is checkColumns of a prepared collection.
func (s *staged) checkSavedColumns(path string) error {
	fields, err := columns.SavedFields(path)
	if err != nil {
		return err
	}
	if !s.origin.SavedColumns || fields == nil {
		return fmt.Errorf("%s has none: no file %s lies beside it", s.origin.Called, filepath.Base(s.origin.Called)+columns.SavedSuffix)
	}
	if slices.Equal(s.origin.Columns, []string{columns.All}) {
		s.origin.Columns = nil
	}
	for _, name := range s.origin.Columns {
		if !slices.ContainsFunc(fields, func(f columns.Field) bool { return f.Name == name }) {
			return fmt.Errorf("%s has no column %q", s.origin.Called, name)
		}
	}
	return nil
}

// columnOptions say how the columns of a source are read.
func (c *Catalog) columnOptions(o *origin) *columns.ReadOptions {
	return &columns.ReadOptions{Header: o.Header, Budget: c.options(o).Budget, Plain: o.File != ""}
}

// writeColumns writes columns that the request itself contains.
func (s *staged) writeColumns(name string, kept *columns.Columns) error {
	w, err := s.addFile(name)
	if err != nil {
		return err
	}
	defer w.Discard()
	if err := kept.Write(w); err != nil {
		return err
	}
	s.id += " columns " + w.Sum()
	return w.Close()
}

// readColumns reads a file of columns; RowsOf finds the rows of ids.
func readColumns(path string, ids *RowIDs) (*columns.Columns, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	kept, err := columns.Load(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	if ids != nil {
		if kept.Rows() != ids.n {
			return nil, fmt.Errorf("%s: %d rows, and the collection has %d", filepath.Base(path), kept.Rows(), ids.n)
		}
		kept.RowsOf = ids.rowsOf()
	}
	return kept, nil
}

// rowsOf returns what finds the rows of ids in filters; nil where ids are row numbers.
func (d *RowIDs) rowsOf() func(id int64, text string) []uint32 {
	if d.kind == RowNumbers {
		return nil
	}
	return func(id int64, text string) []uint32 {
		if text == "" {
			text = strconv.FormatInt(id, 10)
		}
		if row, found := d.ids.Find(text); found > 0 {
			return []uint32{uint32(row)}
		}
		return nil
	}
}

// columns makes the columns of a version, whose rows and ids were made, and writes them.
func (b *build) columns(ctx context.Context, o *opened) error {
	added := o.col.N
	var before *columns.Columns
	if b.from != nil {
		before = b.from.o.columns
		if before != nil && b.change.Drop != "" {
			var err error
			if before, err = b.remaining(before); err != nil {
				return err
			}
		}
		if before == nil {
			return b.refuseColumns()
		}
		added -= before.Rows()
	}
	kept, err := b.newColumns(ctx, added, before)
	if err != nil {
		return err
	}
	if before != nil {
		if kept, err = before.Append(kept, added); err != nil {
			return problem.New(problem.InvalidValue, "%s: %v", b.change.called(), err).In("columns").Because(err)
		}
	}
	if kept == nil {
		return nil
	}
	if kept.Rows() != o.col.N {
		return problem.New(problem.InvalidValue, "%s: the columns have %d rows, and there are %d vectors", b.change.called(), kept.Rows(), o.col.N).In("columns")
	}
	kept.RowsOf = o.ids.rowsOf()
	o.columns, o.change.Columns = kept, kept.Fields()
	return b.c.writeColumnsFile(&b.change, kept)
}

// writeColumnsFile writes the file of a version's columns.
func (c *Catalog) writeColumnsFile(ch *change, kept *columns.Columns) error {
	w, err := c.o.disk.Create(filepath.Join(c.dir, ch.columns()))
	if err != nil {
		return err
	}
	defer w.Discard()
	if err := kept.Write(w); err != nil {
		return err
	}
	return w.Close()
}

// called is the client's name for the new rows.
func (ch *change) called() string {
	if ch.Rows == nil {
		return "the rows"
	}
	return ch.Rows.Called
}

// refuseColumns refuses columns of rows that are added to some that have none.
func (b *build) refuseColumns() error {
	if o := b.change.Rows; o != nil && (o.Columns != nil || o.Values != "") {
		return problem.New(problem.InvalidValue, "collection %s has no columns, which come with its first rows", b.name).In("columns")
	}
	return nil
}

// remaining returns the columns of the rows of the version before that are not removed.
func (b *build) remaining(before *columns.Columns) (*columns.Columns, error) {
	ids, err := readIDs(filepath.Join(b.c.dir, b.change.Drop))
	if err != nil {
		return nil, err
	}
	gone := make([]bool, before.Rows())
	for i := range int64(ids.n) {
		gone[ids.Int(i)] = true
	}
	var stay []int64
	for row := range gone {
		if !gone[row] {
			stay = append(stay, int64(row))
		}
	}
	return before.Gather(stay), nil
}

// newColumns reads the columns of the n new rows; nil if they have none. Of rows that are added they are those that the
// rows before have, as far as the file has them.
func (b *build) newColumns(ctx context.Context, n int, before *columns.Columns) (*columns.Columns, error) {
	o := b.change.Rows
	switch {
	case o == nil:
		return nil, nil
	case o.Values != "":
		return readColumns(filepath.Join(b.c.dir, o.Values), nil)
	case o.Prepared && !o.SavedColumns:
		return nil, nil
	case o.Prepared:
		col, err := columns.Saved(o.Path, n, o.Columns...)
		if err == nil && col == nil {
			err = errors.New("the file of its columns was removed since the request")
		}
		if err != nil {
			return nil, problem.New(problem.Conflict, "columns: %s", strings.ReplaceAll(err.Error(), o.Path, o.Called)).In("columns").Because(err)
		}
		return col, nil
	}
	names, path := o.Columns, b.c.at(o)
	if names == nil && before != nil {
		var err error
		if names, err = b.c.sharedNames(o, path, before); err != nil {
			return nil, problem.New(problem.InvalidValue, "columns: %s", strings.ReplaceAll(err.Error(), path, o.Called)).In("columns").Because(err)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	kept, err := columns.Read(ctx, []string{path}, names, b.c.columnOptions(o))
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// sharedNames returns the names of the columns of a file that rows before have, too.
func (c *Catalog) sharedNames(o *origin, path string, before *columns.Columns) (names []string, err error) {
	has, refused, err := columns.Names([]string{path}, c.columnOptions(o))
	if err != nil {
		return nil, nil // files of its format have no columns; what else is wrong with it was found before
	}
	for _, f := range before.Fields() {
		switch {
		case slices.Contains(has, f.Name):
			names = append(names, f.Name)
		case slices.Contains(refused, f.Name):
			return nil, fmt.Errorf("%s: column %q is of a type that columns cannot have, where the rows before have %v", path, f.Name, f.Type)
		}
	}
	return names, nil
}

// RowsFor returns the rows for which a filter is true; field is what the request calls it.
func (v *Version) RowsFor(filter *columns.Expr, field string) ([]int64, error) {
	if len(filter.Columns()) > 0 && len(v.fields()) == 0 {
		return nil, problem.New(problem.InvalidValue, "%s: collection %s has no columns, which come with the rows: columns=all keeps those of a file", field, v.o.name).In(field)
	}
	if v.now != nil {
		selected, err := v.now.Select(filter)
		if err != nil {
			return nil, problem.OfFilter(err, field)
		}
		return selected.IDs(), nil
	}
	kept := v.o.columns
	if kept == nil {
		kept = columns.None(v.Len())
		kept.RowsOf = v.o.ids.rowsOf()
	}
	rows, err := kept.RowsFor(filter)
	if err != nil {
		return nil, problem.OfFilter(err, field)
	}
	return rows, nil
}

// fields are the columns of the rows.
func (v *Version) fields() []columns.Field {
	if v.now != nil {
		return v.o.changing.Form().Columns
	}
	return v.o.change.Columns
}

// RowsAt replaces places in the order of the rows, as masks have them, by row numbers, and returns them.
func (v *Version) RowsAt(places []int64) []int64 {
	if v.now == nil || len(places) == 0 {
		return places
	}
	all := v.now.Snapshot.IDs()
	for i, place := range places {
		places[i] = all[place]
	}
	return places
}
