package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/service/problem"
	"thresher/store"
)

// staged is a source that is durable but not recorded yet.
type staged struct {
	c      *Catalog
	origin *origin
	names  []string // final names of its files in the catalog's folder; temporary until rename
	// renamed says that some of the files may have their final names.
	renamed bool
	rows    int64 // -1 if it is not known without reading them all
	dim     int
	id      string // identifies the content, for fingerprints of requests
	// metric and basis are set for a prepared collection only.
	metric, basis string
	// layout says how the columns of the source are read.
	layout dataset.Layout
}

// discard removes the files, unless keep was called.
func (s *staged) discard() {
	for _, name := range s.names {
		s.c.dropFile(arriving + name)
		if s.renamed {
			s.c.dropFile(name)
		}
	}
}

// rename gives the files their final names, the rows last: after a crash in between, files whose
// rows are missing are ignored.
func (s *staged) rename() error {
	s.renamed = true
	for _, name := range slices.Backward(s.names) {
		if err := s.c.o.disk.Rename(s.arriving(name), filepath.Join(s.c.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// arriving returns the path of a file before rename.
func (s *staged) arriving(name string) string { return filepath.Join(s.c.dir, arriving+name) }

// keep makes discard do nothing: the files belong to a recorded collection now.
func (s *staged) keep() { s.names = nil }

// dropFile removes a file from the catalog's folder; a file that cannot be removed is removed at
// the next start.
func (c *Catalog) dropFile(name string) {
	if err := c.remove(name); err != nil {
		c.o.Log.Warn("an unneeded file could not be deleted", "file", name, "reason", err)
	}
}

// remove removes a file, or a folder with all that is in it, from the catalog's folder; it may be missing.
func (c *Catalog) remove(name string) error {
	path := filepath.Join(c.dir, name)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return c.o.disk.Remove(path)
	}
	if err := c.o.disk.At("remove", path); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// stage makes src durable under names that begin with base, and measures it. like are the names of
// the coordinates of the rows that it is added to; ignoreIDs says that a column called id is not
// read. The caller discards or keeps the returned value, also if there is an error.
func (c *Catalog) stage(ctx context.Context, base string, src *Source, like []string, ignoreIDs bool) (*staged, error) {
	s := &staged{c: c, origin: &origin{Column: src.Column, IDColumn: src.IDColumn, Header: src.Header, Like: like, IgnoreIDs: ignoreIDs, Columns: src.Columns}}
	given := 0
	for _, set := range []bool{src.Body != nil, src.Path != "", src.File != "", src.Rows != nil, src.Rows64 != nil} {
		if set {
			given++
		}
	}
	if given != 1 {
		return s, problem.New(problem.InvalidValue, "%d sources are given, one is needed", given).In("source")
	}
	if src.IDs != nil && (src.Rows == nil && src.Rows64 == nil || src.IDColumn != "") {
		return s, problem.New(problem.InvalidValue, "a list of ids requires rows in the request").In("ids")
	}
	if src.Values != nil && src.Rows == nil && src.Rows64 == nil {
		return s, problem.New(problem.InvalidValue, "values of columns require rows in the request").In("source.columns")
	}
	var err error
	switch {
	case src.Body != nil:
		err = s.writeBody(ctx, base, src)
	case src.Path != "":
		err = s.locatePath(src)
	case src.File != "":
		err = s.linkFile(base, src)
	default:
		err = s.writeRows(base, src)
	}
	if err != nil {
		return s, err
	}
	return s, s.measure(ctx)
}

// addFile creates a file in the catalog's folder.
func (s *staged) addFile(name string) (*store.Writer, error) {
	w, err := s.c.o.disk.Create(s.arriving(name))
	if err == nil {
		s.names = append(s.names, name)
	}
	return w, err
}

// writeBody writes an upload to a file.
func (s *staged) writeBody(ctx context.Context, base string, src *Source) error {
	s.origin.Called, s.origin.File = "the body", base+".rows"+src.Format.Extension()
	w, err := s.addFile(s.origin.File)
	if err != nil {
		return err
	}
	defer w.Discard()
	if err := w.Copy(ctx, src.Body, nil); err != nil {
		return err
	}
	s.id = "content " + w.Sum()
	return w.Close()
}

// locatePath finds the file of a path below one of the roots. The file stays where it is.
func (s *staged) locatePath(src *Source) error {
	real, info, err := s.c.roots.resolve(src.Path)
	if err != nil {
		return err
	}
	if s.origin.Called, s.origin.Path = src.Path, real; src.Called != "" {
		s.origin.Called, s.origin.Asked = src.Called, src.Path
	}
	s.origin.Size, s.origin.Modified = info.Size(), info.ModTime().UnixNano()
	s.origin.Prepared = isPrepared(src.Path)
	s.id = "path " + src.Path
	if s.origin.Prepared && (src.Column != "" || src.IDColumn != "" || src.Header != "") {
		return problem.New(problem.InvalidValue, "%s: a prepared collection has no columns to choose from", src.Path).In("source")
	}
	if _, err := os.Lstat(real + columns.SavedSuffix); err == nil && s.origin.Prepared {
		s.origin.SavedColumns = true
	}
	if _, err := os.Lstat(real + dataset.SavedIDsSuffix); err != nil || !s.origin.Prepared {
		return nil
	}
	if s.origin.SavedIDs = !s.origin.IgnoreIDs; s.origin.IgnoreIDs {
		s.layout.Dropped = []string{filepath.Base(real) + dataset.SavedIDsSuffix}
	}
	return nil
}

// linkFile gives a stored file a second name, so that a client may delete the first.
func (s *staged) linkFile(base string, src *Source) error {
	if s.c.o.Files == nil {
		return problem.New(problem.UnknownFile, "there is no file %q", clip(src.File)).In("source.file_id")
	}
	path, f, err := s.c.o.Files.Path(src.File)
	if err != nil {
		return problem.Of(err).In("source.file_id")
	}
	ext := src.Format.Extension()
	if src.Format == dataset.Unknown {
		format, gzipped := dataset.FormatOf(f.Name)
		if ext = format.Extension(); gzipped {
			ext += ".gz"
		}
	}
	s.origin.Called, s.origin.File = "file "+f.ID, base+".rows"+ext
	s.id = "content " + f.SHA256
	s.names = append(s.names, s.origin.File)
	err = s.c.o.disk.Link(path, s.arriving(s.origin.File))
	if errors.Is(err, fs.ErrNotExist) { // deleted in the meantime
		return problem.New(problem.UnknownFile, "there is no file %q", clip(src.File)).In("source.file_id")
	}
	return err
}

// writeRows writes rows, and their ids if there are any, that the request itself contains.
func (s *staged) writeRows(base string, src *Source) error {
	values := max(len(src.Rows), len(src.Rows64))
	for _, file := range []struct{ field, given string }{{"column", src.Column}, {"ids", src.IDColumn}, {"header", src.Header}, {"columns", strings.Join(src.Columns, ",")}} {
		if file.given != "" {
			return problem.New(problem.InvalidValue, "%s says how a file is read, and the rows are in the request itself", file.field).In(file.field)
		}
	}
	if src.Dim < 1 || values%src.Dim != 0 {
		return problem.New(problem.InvalidValue, "%d values do not make whole rows of %d columns", values, src.Dim).In("rows")
	}
	rows := values / src.Dim
	if rows == 0 {
		return problem.New(problem.InvalidValue, "there are no rows").In("rows")
	}
	for i := range values {
		v := src.value(i)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return problem.New(problem.NotFinite, "row %d, column %d is %v", i/src.Dim, i%src.Dim, v).At("rows", i/src.Dim)
		}
	}
	s.origin.Called, s.origin.File = "the rows", base+".rows.npy"
	w, err := s.addFile(s.origin.File)
	if err != nil {
		return err
	}
	defer w.Discard()
	if err := src.writeNPY(w, rows); err != nil {
		return err
	}
	s.id = "content " + w.Sum()
	if err := w.Close(); err != nil {
		return err
	}
	if src.Values != nil {
		if n := src.Values.Rows(); n != rows {
			return problem.New(problem.InvalidValue, "columns of %d rows for %d vectors", n, rows).In("source.columns").Within(rows)
		}
		s.origin.Values = base + ".values"
		if err := s.writeColumns(s.origin.Values, src.Values); err != nil {
			return err
		}
	}
	if src.IDs == nil {
		return nil
	}
	if n := src.IDs.Len(); n != rows {
		return problem.New(problem.InvalidValue, "%d ids for %d rows", n, rows).In("ids").Within(rows)
	}
	s.origin.Keys = base + ".keys"
	return s.writeIDs(s.origin.Keys, src.IDs)
}

// writeNPY writes rows that the request itself contains.
func (s *Source) writeNPY(w io.Writer, rows int) error {
	if s.Rows64 != nil {
		return dataset.WriteNPY64(w, rows, s.Dim, s.Rows64)
	}
	return dataset.WriteNPY(w, rows, s.Dim, s.Rows)
}

// identify returns what identifies rows with these ids; id is of the rows.
func (k *Keys) identify(id string) (string, error) {
	text, err := json.Marshal(k)
	return id + fmt.Sprintf(" ids %x", sha256.Sum256(text)), err
}

// writeIDs writes ids that the request itself contains.
func (s *staged) writeIDs(name string, keys *Keys) error {
	b := newIDsBuilder("", s.c.o.MaxIDBytes)
	if len(keys.Ints) < keys.Len() {
		b = newIDsBuilder(Strings, s.c.o.MaxIDBytes)
		for _, id := range keys.Names {
			if err := b.add(id); err != nil {
				return err
			}
		}
	} else {
		for _, id := range keys.Ints {
			b.addInt(id)
		}
	}
	ids, err := b.finish()
	if err != nil {
		return err
	}
	if s.id, err = keys.identify(s.id); err != nil {
		return err
	}
	s.names = append(s.names, name)
	return writeIDs(s.c.o.disk, s.arriving(name), ids)
}

// maxReads is how many sources are read at once beside the one that is built from: each may take the memory that
// Options.Budget allows.
const maxReads = 2

// startReading waits until another source may be read. The caller calls end afterwards.
func (c *Catalog) startReading(ctx context.Context) (end func(), err error) {
	if err := c.occupy(ctx, c.readSlots); err != nil {
		return nil, err
	}
	return func() { <-c.readSlots }, nil
}

// measure determines the number of rows and columns and checks them against the limits.
func (s *staged) measure(ctx context.Context) error {
	end, err := s.c.startReading(ctx)
	if err != nil {
		return err
	}
	defer end()
	o := s.origin
	if o.Prepared {
		info, err := collection.Stat(o.Path)
		if err != nil {
			return describe(err, o, "")
		}
		s.rows, s.dim, s.metric, s.basis = int64(info.N), info.Dim, info.Metric, info.Basis
		s.layout.Vector, s.layout.Wide = info.Coordinates, info.Coordinates != nil
		if err := s.checkColumns(o.Path); err != nil {
			return err
		}
	} else {
		path := o.Path
		if o.File != "" {
			path = s.arriving(o.File)
		}
		o.FindIDs = o.Keys == "" && o.IDColumn == ""
		r, err := dataset.Open(path, s.c.options(o))
		if err != nil {
			return describe(err, o, path)
		}
		s.rows, s.dim, s.layout = r.Len(), r.Dim(), dataset.LayoutOf(r)
		if err := r.Close(); err != nil {
			return err
		}
		if err := s.checkColumns(path); err != nil {
			return err
		}
	}
	if s.dim > s.c.o.MaxDim {
		return problem.New(problem.OverLimit, "%s: rows of %d columns, at most %d", o.Called, s.dim, s.c.o.MaxDim).
			In("rows").Within(s.c.o.MaxDim)
	}
	return nil
}

// at returns the path of a source on this machine.
func (c *Catalog) at(o *origin) string {
	if o.File != "" {
		return filepath.Join(c.dir, o.File)
	}
	return o.Path
}

// dataSuffix is the file name suffix of collections.
const dataSuffix = ".thresher"

// isPrepared reports whether a path names a prepared collection.
func isPrepared(path string) bool { return strings.HasSuffix(path, dataSuffix) }

// calledIn returns an error's text that calls the source by the client's name; path is its path on this machine.
func calledIn(err error, o *origin, path string) string {
	if path == "" {
		return err.Error()
	}
	return strings.ReplaceAll(err.Error(), path, o.Called)
}

// describe converts an error of reading a source to a problem that calls the source by the
// client's name; path is its path on this machine.
func describe(err error, o *origin, path string) *problem.Problem {
	var known *problem.Problem
	var vector *dataset.Error
	var limit *dataset.LimitError
	var row *collection.RowError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(store.Full(err), store.ErrFull):
		return problem.Of(store.ErrFull).Because(err)
	case errors.As(err, &vector):
		text := calledIn(vector, o, path)
		if errors.As(err, &limit) {
			return problem.New(problem.OverLimit, "%s", text).At("rows", int(vector.Row)).Within(limit.Limit).Because(err)
		}
		kind := problem.Malformed
		if vector.Row >= 0 && vector.Column >= 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			kind = problem.NotFinite
		}
		return problem.New(kind, "%s", text).At("rows", int(vector.Row)).Because(err)
	case errors.As(err, &row):
		return problem.New(problem.InvalidValue, "%s: %s", o.Called, row.Error()).At("rows", row.Row).Because(err)
	case errors.Is(err, collection.ErrForeign), errors.Is(err, collection.ErrVersion),
		errors.Is(err, collection.ErrTruncated), errors.Is(err, collection.ErrCorrupt):
		text := err.Error()
		if at := strings.LastIndex(text, dataSuffix+": "); at >= 0 {
			text = text[at+len(dataSuffix+": "):]
		}
		return problem.New(problem.Malformed, "%s: %s", o.Called, text).In("source").Because(err)
	}
	return problem.Of(fmt.Errorf("%s: %w", o.Called, err))
}
