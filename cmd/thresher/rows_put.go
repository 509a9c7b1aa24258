package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unsafe"

	"github.com/spf13/cobra"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/segments/folder"
)

func newRowsPutCommand(a *app) *cobra.Command {
	f := &rowsFlags{}
	var atoms, column, ids string
	cmd := &cobra.Command{
		Use:   "put --collection FOLDER --vectors FILE",
		Short: "Write vectors: new ones, and others in place of those that have their ids",
		Long: `Write the vectors of a file under their ids, in order. Those that are there under the same
ids are replaced, with their columns: those that the folder has are read from the file;
one that the file lacks is null. Values are of the types of the folder, for vectors and
columns. Each part of the file is on the disk before the next is read; a command that was
interrupted can be repeated. A file without ids can be put into an empty folder: its row
numbers become the ids.`,
		Example: `  thresher rows put --collection films/ --vectors new.parquet --ids id`,
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := a.openVectors(cmd.Context(), "vectors", atoms)
			if err != nil {
				return err
			}
			defer in.remove()
			c, err := a.openChanging(cmd.Context(), f.folder)
			if err != nil {
				return err
			}
			s, err := a.putRows(cmd.Context(), c.Folder, in, &dataset.Options{Column: column, IDs: ids, FindIDs: true}, nil)
			if err == nil {
				err = s.finish(a, c.Folder, f.json)
			}
			return errors.Join(err, c.close())
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&atoms, "vectors", "", "`file` of vectors"+setHelp+"; - is standard input")
	cmd.Flags().StringVar(&column, vectorsColumnFlag, "", columnHelp("the vectors"))
	cmd.Flags().StringVar(&ids, "ids", "", "`column` of the vectors' ids (default: the column id, if there is one)")
	a.reading.add(cmd.Flags())
	addSettings(cmd, "threads", "dense_limit", "read_limit", "cache", "cache_limit")
	return cmd
}

// putElements is about how many values are written together.
const putElements = 1 << 22

// putRows writes the vectors of in to a folder, and makes segments of them. described are their columns; nil: they are read.
func (a *app) putRows(ctx context.Context, f *folder.Folder, in input, opt *dataset.Options, described *columns.Columns) (*rowsSummary, error) {
	if in.isCollection() {
		return nil, fmt.Errorf("--vectors %s: is a prepared collection; name the file of vectors that it was built from", in.name)
	}
	form := f.Form()
	if err := notRelative(f, "--collection"); err != nil {
		return nil, err
	}
	for _, field := range form.Columns {
		in.except = append(in.except, field.Name)
	}
	names, err := in.names(ctx, opt) // before anything is written
	if err == nil {
		err = in.checkIDs(names)
	}
	if err != nil {
		return nil, err
	}
	r, err := in.open(opt)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.Dim() != form.Dim {
		return nil, fmt.Errorf("%s has vectors of dimension %d, the folder's have %d", in.name, r.Dim(), form.Dim)
	}
	if names == nil {
		now := f.Snapshot()
		n := now.Len()
		if err := now.Release(); err != nil {
			return nil, err
		}
		if n > 0 {
			return nil, fmt.Errorf("--ids: %s has no column of ids, by which its vectors would be told from the %d that are there", in.name, n)
		}
	}
	if described == nil && len(form.Columns) > 0 {
		if described, err = a.putColumns(ctx, in, form.Columns, opt.Column, dataset.LayoutOf(r)); err != nil {
			return nil, err
		}
	}
	if described != nil && names != nil && described.Rows() != names.Len() {
		return nil, fmt.Errorf("the columns of %s have %d rows, and there are %d vectors", in.name, described.Rows(), names.Len())
	}
	a.warnDropped(in, r)
	s := &rowsSummary{}
	if err := a.putAll(ctx, f, in, r, names, described, s); err != nil {
		return nil, err
	}
	if form.Elem != dataset.ElemFloat64 {
		s.Rounded = dataset.ChangeOf(r).Values
	}
	p := a.NewProgress("preparing segments")
	defer p.Done()
	return s, f.Maintain(ctx)
}

// putColumns reads the columns of a folder from in, whose vectors are read as the layout says. column names their coordinates,
// "" if nothing does. They are nil if in has none of them.
func (a *app) putColumns(ctx context.Context, in input, fields []columns.Field, column string, l dataset.Layout) (c *columns.Columns, err error) {
	p := a.NewProgress("reading columns")
	defer p.Done()
	var missing []string
	if in.folder != nil {
		c, missing, err = in.folder.columnsAs(fields)
	} else {
		opt := in.columnOptions()
		opt.Progress = func(rows int64) { p.Set(rows, -1) }
		c, missing, err = columns.ReadAs(ctx, in.paths(), fields, opt)
	}
	if err != nil {
		return nil, in.named(err)
	}
	if len(missing) > 0 {
		a.Log.Warn("columns of the folder are not in the file, so they are null for its vectors", "file", in.name, "columns", strings.Join(missing, ", "))
	}
	if c == nil {
		return nil, nil
	}
	if name := c.MaybeCoordinate(l); name != "" && column == "" {
		return nil, fmt.Errorf("the folder has a column %q, which may be a coordinate like %s of %s: --vectors-column names those that make the vector", name, dataset.Ranges(l.Vector), in.name)
	}
	return c, nil
}

// putAll writes what r reads, whose ids are names and whose columns described has, a part at a time.
func (a *app) putAll(ctx context.Context, f *folder.Folder, in input, r dataset.Reader, names *dataset.IDs, described *columns.Columns, s *rowsSummary) error {
	p := a.NewProgress("writing vectors")
	defer p.Done()
	dim := r.Dim()
	next := rowsOf(in, r, max(1, putElements/dim), f.Form().Elem == dataset.ElemFloat64)
	waiting := 0 // values that are not in segments
	for {
		c, n, err := next()
		if n > 0 {
			c.IDs = idsFrom(names, s.Written, n)
			if described != nil {
				if s.Written+n > described.Rows() {
					return fmt.Errorf("the columns of %s have %d rows, and there are more vectors", in.name, described.Rows())
				}
				c.Columns = described.Slice(s.Written, s.Written+n)
			}
			done, err := f.Apply(ctx, c)
			if err != nil {
				return putError(in, err, s.Written)
			}
			s.add(done)
			p.Set(int64(s.Written), r.Len())
			if waiting += n * dim; waiting >= 16*putElements { // they are in memory
				waiting = 0
				if err := f.Maintain(ctx); err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return in.named(err)
		}
	}
}

// rowsOf returns what reads the next rows, at most most of them: a change without ids, their number, and an error. They are in float64 if
// wide, as they are given, and else rounded to float32.
func rowsOf(in input, r dataset.Reader, most int, wide bool) func() (folder.Change, int, error) {
	dim := r.Dim()
	if wide {
		typed, rows := dataset.Doubled(r), make([]float64, most*dim)
		var earlier dataset.Change // of vectors that were rounded before
		if in.folder != nil {
			earlier = in.folder.now.Change()
		}
		return func() (folder.Change, int, error) {
			n, err := typed.ReadTyped(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rows))), 8*len(rows)))
			return folder.Change{Rows64: rows[:n*dim], Rounding: earlier}, n, err
		}
	}
	rows := make([]float32, most*dim)
	return func() (folder.Change, int, error) {
		before := dataset.ChangeOf(r)
		n, err := r.Read(rows)
		c := folder.Change{Rows: rows[:n*dim]}
		if now := dataset.ChangeOf(r); now.Values > before.Values {
			c.Rounding = dataset.Change{Values: now.Values - before.Values, Largest: now.Largest}
		} else if of := dataset.RowChanges(r); len(of) > 0 && slices.Max(of) > 0 { // of a folder, which counts no values of a row
			c.Rounding = dataset.Change{Values: 1, Largest: slices.Max(of)}
		}
		return c, n, err
	}
}

// idsFrom returns n of the ids of a file, from a row on; row numbers without ids.
func idsFrom(names *dataset.IDs, first, n int) *dataset.IDs {
	if names.Textual() {
		var b dataset.IDsBuilder
		b.BecomeTexts()
		for row := range n {
			b.AddText(names.Text(int64(first + row)))
		}
		return b.IDs()
	}
	numbers := make([]uint64, n)
	for row := range numbers {
		numbers[row] = names.Number(int64(first + row))
	}
	return dataset.IDsOf(numbers)
}

// putError names the file, and the row of the file, of an error in a part of it that begins with row first.
func putError(in input, err error, first int) error {
	var row *collection.RowError
	var id *dataset.Error
	switch {
	case errors.As(err, &row):
		err = &collection.RowError{Row: row.Row + first, Column: row.Column, Err: row.Err}
	case errors.As(err, &id):
		err = &dataset.Error{File: in.name, Row: id.Row + int64(first), Column: id.Column, Err: id.Err}
		return err
	}
	return fmt.Errorf("%s: %w", in.name, err)
}

// isFolder reports whether an output is named as a folder.
func isFolder(out string) bool {
	return strings.HasSuffix(out, "/") && !strings.HasSuffix(out, collectionSuffix+"/")
}

// buildFolder makes the folder of build --out FOLDER/.
func (a *app) buildFolder(ctx context.Context, in input, f *buildFlags, form folder.Form, opt *dataset.Options) error {
	if f.force {
		return fmt.Errorf("--overwrite: a folder is not overwritten; rows put writes to %s", f.out)
	}
	in.except = f.columns.named()
	r, err := in.open(opt)
	if err != nil {
		return err
	}
	form.Dim = r.Dim()
	if form.Elem = f.dtype.Elem; !f.dtype.given {
		form.Elem = dataset.ElemFloat32
		if typed, ok := dataset.KeptAs(r, in.kept(dataset.ElemFloat32)); ok {
			form.Elem = typed.Elem()
		}
	}
	layout := dataset.LayoutOf(r)
	if err := r.Close(); err != nil {
		return err
	}
	if in.except, err = f.columns.read(ctx, a, in, f.column, layout); err != nil {
		return err
	}
	form.Columns = f.columns.fields()
	if err := folder.Create(f.out, form); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	c, err := a.openChanging(ctx, f.out)
	if err != nil {
		return err
	}
	s, err := a.putRows(ctx, c.Folder, in, opt, f.columns.of)
	if err == nil {
		s.Columns = form.Columns
		err = s.finish(a, c.Folder, f.json)
		return errors.Join(err, c.close())
	}
	if c.Info().Version == 0 { // so that it can be made after the mistake is mended
		return errors.Join(err, c.close(), os.RemoveAll(f.out))
	}
	return errors.Join(fmt.Errorf("%w; what was written until then is in %s", err, f.out), c.close())
}
