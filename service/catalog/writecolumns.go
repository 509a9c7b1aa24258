package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"

	"thresher/columns"
	"thresher/dataset"
	"thresher/service/problem"
)

// describe gives rows that the request itself contains their columns, in the types of the version's; nil has none.
func (r *newRows) describe(v *Version, given *columns.Columns) error {
	fields := v.fields()
	if given == nil {
		r.warnOfNull(fields, "the rows")
		return nil
	}
	if n := given.Rows(); n != r.n {
		return problem.New(problem.InvalidValue, "columns of %d rows for %d vectors", n, r.n).In("source.columns").Within(r.n)
	}
	if len(fields) == 0 {
		return v.refuseColumns("source.columns")
	}
	var missing []columns.Field
	for _, f := range fields {
		if !slices.ContainsFunc(given.All(), func(c *columns.Column) bool { return c.Name == f.Name }) {
			missing = append(missing, f)
		}
	}
	r.warnOfNull(missing, "the rows")
	var err error
	if r.columns, err = given.As(fields); err != nil {
		return problem.New(problem.InvalidValue, "source.columns: %v", err).In("source.columns").Because(err)
	}
	return v.o.c.checkWeight(r, v)
}

// refuseColumns refuses columns of rows for a version that has none.
func (v *Version) refuseColumns(field string) error {
	return problem.New(problem.InvalidValue, "collection %s has no columns, which come with its first rows", v.o.name).In(field)
}

// warnOfNull warns that new rows have no values in columns of the collection, also those that are written in place of others which had.
func (r *newRows) warnOfNull(fields []columns.Field, called string) {
	if len(fields) == 0 {
		return
	}
	r.warnings = append(r.warnings, "columns of the collection that "+called+" lack are null: "+namesOf(fields))
}

// readColumns reads the columns of a staged source, whose file is at path, in the types of the version's: those that the source names, or
// else those of the version that the file has.
func (r *newRows) readColumns(ctx context.Context, v *Version, s *staged, path string) error {
	fields, named := v.fields(), s.origin.Columns
	if len(fields) == 0 {
		if named != nil {
			return v.refuseColumns("columns")
		}
		return nil
	}
	wanted := fields
	if named != nil {
		wanted = nil
		for _, name := range named {
			at := slices.IndexFunc(fields, func(f columns.Field) bool { return f.Name == name })
			if at < 0 {
				return problem.New(problem.InvalidValue, "columns: collection %s has no column %q: it has %s", v.o.name, clip(name), namesOf(fields)).In("columns")
			}
			wanted = append(wanted, fields[at])
		}
	}
	o := s.origin
	var missing []string
	if _, _, err := columns.Names([]string{path}, v.o.c.columnOptions(o)); !errors.Is(err, dataset.ErrNoValues) { // as of npy
		if r.columns, missing, err = columns.ReadAs(ctx, []string{path}, wanted, v.o.c.columnOptions(o)); err != nil {
			text := strings.ReplaceAll(err.Error(), path, o.Called)
			return problem.New(problem.InvalidValue, "columns: %s", text).In("columns").Because(err)
		}
	}
	null := slices.DeleteFunc(slices.Clone(fields), func(f columns.Field) bool {
		return r.columns != nil && !slices.Contains(missing, f.Name) && slices.Contains(wanted, f)
	})
	r.warnOfNull(null, o.Called)
	s.layout.Dropped = slices.DeleteFunc(s.layout.Dropped, func(name string) bool {
		return slices.ContainsFunc(wanted, func(f columns.Field) bool { return f.Name == name })
	})
	return v.o.c.checkWeight(r, v)
}

// namesOf lists columns.
func namesOf(fields []columns.Field) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// checkWeight refuses columns that take more than a folder writes at once.
func (c *Catalog) checkWeight(r *newRows, v *Version) error {
	if r.columns == nil {
		return nil
	}
	if n, most := r.columns.Bytes()+int64(r.columns.Rows())*v.writtenBytes(), c.o.atOnce; n > most {
		return problem.New(problem.OverLimit, "%d rows of %d columns take %d bytes with what describes them, at most %d are written at once to a collection that changes by rows", r.columns.Rows(), v.Dim(), n, most).In("rows").Within(most).Because(errTooMany)
	}
	return nil
}
