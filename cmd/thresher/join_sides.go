package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"thresher/columns"
	"thresher/dataset"
)

// joinSide is one of the two tables.
type joinSide struct {
	in      input
	on      string // the column of the vectors, "" if nothing names it
	names   []string
	columns *columns.Columns
	layout  dataset.Layout
	groups  []int32  // of the rows by key, nil without keys
	lists   []string // columns that the format of the output does not hold
	empty   bool     // it has columns, and no rows
	dim     int      // of the vectors, 0 if it is empty
}

// describe finds out which columns make the vectors, or that there are no rows.
func (s *joinSide) describe() error {
	r, err := s.in.open(&dataset.Options{Column: s.on, FindIDs: true})
	if s.empty = errors.Is(err, dataset.ErrNoRows); s.empty {
		return nil
	}
	if err != nil {
		return err
	}
	s.layout, s.dim = dataset.LayoutOf(r), r.Dim()
	return r.Close()
}

// describeEmpty finds the columns of vectors of a table without rows by their names: those given, or those of the other table.
func (s *joinSide) describeEmpty(other *joinSide) error {
	if !s.empty {
		return nil
	}
	s.in.header = dataset.HeaderYes // which CSV has, or else is empty
	names, untyped, err := columns.Names(s.in.paths(), s.in.columnOptions())
	if err != nil {
		return s.in.named(err)
	}
	wanted := other.layout.Vector
	if s.on != "" {
		wanted = strings.Split(s.on, ",")
	}
	for _, name := range slices.Concat(names, untyped) {
		if slices.ContainsFunc(wanted, func(as string) bool { ok, err := path.Match(as, name); return as == name || ok && err == nil }) {
			s.layout.Vector = append(s.layout.Vector, name)
		}
	}
	if s.on != "" && s.layout.Vector == nil {
		return &dataset.Error{File: s.in.name, Row: -1, Column: -1, Err: fmt.Errorf("no such column; the file has no rows, and columns %q", slices.Concat(names, untyped))}
	}
	return nil
}

// chosen adds the flag that names the column of the vectors to an error of opening them.
func (s *joinSide) chosen(err error, f *joinFlags) error {
	var in *dataset.Error
	if s.on == "" || !errors.As(err, &in) {
		return err
	}
	flag := s.in.columnFlag()
	if f.on != "" {
		flag = "on"
	}
	return fmt.Errorf("--%s %s: %w", flag, s.on, err)
}

// allNamed reports whether all columns are to be written, and those that cannot be are left out with a warning.
func (s *joinSide) allNamed() bool { return slices.Equal(s.names, []string{columns.All}) }

// dropLists leaves out lists where all columns are to be written and the format holds none.
func (s *joinSide) dropLists(a *app, format dataset.Format) {
	if !s.allNamed() || format != dataset.CSV {
		return
	}
	for _, c := range s.columns.All() {
		if c.Type == columns.TextList {
			s.lists = append(s.lists, c.Name)
		}
	}
	if s.lists != nil {
		a.Log.Warn("columns are not written: they have lists, which "+string(format)+" does not hold", "file", s.in.name, "columns", strings.Join(s.lists, ", "))
	}
}

// read reads the columns of a table.
func (s *joinSide) read(ctx context.Context, a *app, flag string, keys []string) error {
	names := s.names
	for _, key := range keys {
		if slices.Contains(s.layout.Vector, key) {
			return fmt.Errorf("--by: column %q makes the vectors of %s; keys are integers, texts, bools or timestamps", key, s.in.name)
		}
	}
	if !s.allNamed() {
		for _, key := range keys {
			if !slices.Contains(names, key) {
				names = append(slices.Clone(names), key)
			}
		}
	}
	p := a.NewProgress("reading columns")
	defer p.Done()
	opt := s.in.columnOptions()
	opt.Progress = func(rows int64) { p.Set(rows, -1) }
	var refused []columns.Refused
	var err error
	if s.columns, refused, err = columns.Keep(ctx, s.in.paths(), names, opt, s.layout.Vector...); errors.Is(err, dataset.ErrNoValues) {
		s.columns, err = columns.Read(ctx, s.in.paths(), nil, opt) // a table of vectors alone
	}
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, s.in.named(err))
	}
	for _, r := range refused {
		switch {
		case !slices.Contains(keys, r.Name):
		case r.Why == nil:
			return fmt.Errorf("--by: column %q of %s has none of the types of keys: integers, texts, bools or timestamps", r.Name, s.in.name)
		default:
			return fmt.Errorf("--by: column %q of %s: %w", r.Name, s.in.name, s.in.named(r.Why))
		}
	}
	a.warnRefused("written", s.in, refused)
	if name := s.columns.MaybeCoordinate(s.layout); name != "" && s.on == "" {
		return fmt.Errorf("--%s: the column %q of %s may be a coordinate like %s: --%s-on names those that make the vector", flag, name, s.in.name, dataset.Ranges(s.layout.Vector), flag)
	}
	return nil
}
