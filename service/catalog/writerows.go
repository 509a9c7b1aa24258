package catalog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unsafe"

	"thresher/columns"
	"thresher/dataset"
	"thresher/segments/folder"
	"thresher/service/problem"
)

// newRows are rows to write, in memory.
type newRows struct {
	values   []float32        // [n][dim], relative to the version's origin; nil of a version that is kept as float64
	wide     []float64        // of such a version the rows as they are given
	rounding dataset.Change   // of values
	columns  *columns.Columns // nil: the source has none of the version's
	ids      *dataset.IDs     // nil: the source has none
	n        int
	id       string // identifies the content, for fingerprints of requests
	warnings []string
	share    *share // of the memory that they take until free
}

// newRows returns rows for a version, none yet.
func (c *Catalog) newRows(v *Version) *newRows { return &newRows{share: c.memory.share(v.o.name)} }

// free gives up the memory of the rows.
func (r *newRows) free() { r.share.settle(0) }

// reserve asks for the memory of so many rows of a version, before they are read.
func (r *newRows) reserve(rows int64, v *Version) error {
	return r.share.resize(rows*v.writtenBytes(), shape{rows: rows, dim: v.Dim()}.String()+" to write")
}

// change is the write of the rows under their ids.
func (r *newRows) change() folder.Change {
	return folder.Change{IDs: r.ids, Rows: r.values, Rows64: r.wide, Columns: r.columns, Rounding: r.rounding}
}

// readRows reads rows for a version, of its dimension and with ids of its kind.
// Their content is identified if keyed. The caller frees them.
func (c *Catalog) readRows(ctx context.Context, v *Version, src *Source, keyed bool) (_ *newRows, err error) {
	if src.Body != nil || src.Path != "" || src.File != "" {
		return c.readSource(ctx, v, src)
	}
	if err := src.checkRows(); err != nil {
		return nil, err
	}
	if src.Dim != v.Dim() {
		return nil, wrongDimension("the rows", src.Dim, v)
	}
	r := c.newRows(v)
	defer func() {
		if err != nil {
			r.free()
		}
	}()
	r.n = max(len(src.Rows), len(src.Rows64)) / src.Dim
	if err := c.checkSize(int64(r.n), v); err != nil {
		return nil, err
	}
	if err := r.reserve(int64(r.n), v); err != nil {
		return nil, err
	}
	if err := r.describe(v, src.Values); err != nil {
		return nil, err
	}
	b := v.idsBuilder()
	if err := b.addKeys(src.IDs, r.n, v.IDs()); err != nil {
		return nil, err
	}
	if err := r.finish(b); err != nil {
		return nil, err
	}
	if err := r.take(src.given(), v); err != nil {
		return nil, err
	}
	if !keyed {
		return r, nil
	}
	content := sha256.New() // of what stage writes, which a change that makes a version is known by
	err = src.writeNPY(content, r.n)
	r.id = fmt.Sprintf("content %x", content.Sum(nil))
	if err == nil && src.Values != nil {
		content = sha256.New()
		err = src.Values.Write(content)
		r.id += fmt.Sprintf(" columns %x", content.Sum(nil))
	}
	if err == nil && src.IDs != nil {
		r.id, err = src.IDs.identify(r.id)
	}
	return r, err
}

// given returns the rows in memory in float64.
func (s *Source) given() []float64 {
	if s.Rows64 != nil {
		return s.Rows64
	}
	given := make([]float64, len(s.Rows))
	for i, x := range s.Rows {
		given[i] = float64(x)
	}
	return given
}

// take takes rows as they are kept: rounded to float32, relative to the version's origin, unless that is kept as float64.
func (r *newRows) take(given []float64, v *Version) error {
	dim, origin, kept := v.Dim(), v.Origin(), v.Float64()
	r.values = make([]float32, r.n*dim)
	for row := range r.n {
		from, to := row*dim, (row+1)*dim
		change, bad := dataset.Narrow(r.values[from:to], given[from:to], origin)
		if bad >= 0 {
			return problem.New(problem.NotFinite, "row %d, column %d is %v, which is no finite float32", row, bad, given[from+bad]).At("rows", row)
		}
		if !kept {
			r.rounding.Add(change)
		}
	}
	if kept {
		r.values, r.wide = nil, given
	}
	return nil
}

// checkRows checks rows that the request itself contains.
func (s *Source) checkRows() error {
	for _, file := range []struct{ field, given string }{{"column", s.Column}, {"ids", s.IDColumn}, {"header", s.Header}, {"columns", strings.Join(s.Columns, ",")}} {
		if file.given != "" {
			return problem.New(problem.InvalidValue, "%s says how a file is read, and the rows are in the request itself", file.field).In(file.field)
		}
	}
	values := max(len(s.Rows), len(s.Rows64))
	switch {
	case s.Dim < 1 || values%s.Dim != 0:
		return problem.New(problem.InvalidValue, "%d values do not make whole rows of %d columns", values, s.Dim).In("rows")
	case values == 0:
		return problem.New(problem.InvalidValue, "there are no rows").In("rows")
	}
	return nil
}

func wrongDimension(called string, dim int, v *Version) error {
	return problem.New(problem.WrongDimension, "%s: rows of %d columns, and those of collection %s have %d", called, dim, v.o.name, v.Dim()).In("rows").Within(v.Dim())
}

// errTooMany: rows are more than are written at once.
var errTooMany = errors.New("too many rows for one write")

// checkSize refuses rows that are more than a folder writes at once.
func (c *Catalog) checkSize(n int64, v *Version) error {
	if most := c.o.atOnce / v.writtenBytes(); n > most {
		return problem.New(problem.OverLimit, "%d rows of %d columns, at most %d are written at once to a collection that changes by rows", n, v.Dim(), most).In("rows").Within(most).Because(errTooMany)
	}
	return nil
}

// writtenBytes is about what a row takes in a write, without columns: its values in float64 or float32, and its id.
func (v *Version) writtenBytes() int64 {
	if v.Float64() {
		return int64(8*v.Dim() + 64)
	}
	return int64(4*v.Dim() + 64)
}

// idsBuilder returns a builder of ids of the version's kind.
func (v *Version) idsBuilder() *idsBuilder {
	kind := v.IDs().Kind()
	if kind == RowNumbers {
		kind = Integers
	}
	return newIDsBuilder(kind, v.o.c.o.MaxIDBytes)
}

// addKeys appends the ids of n rows, which may be nil. They are of the kind of those that are there.
func (b *idsBuilder) addKeys(keys *Keys, n int, there *RowIDs) error {
	switch {
	case keys == nil:
		return nil
	case keys.Len() != n:
		return problem.New(problem.InvalidValue, "%d ids for %d rows", keys.Len(), n).In("ids").Within(n)
	case b.want == Strings && len(keys.Names) < n && there.Digits():
		return b.addDigits(keys.Ints)
	case b.want == Strings && len(keys.Names) < n:
		return problem.New(problem.InvalidValue, "the ids of the collection are strings, and those of the rows are integers").At("ids", 0).Within(Strings)
	case b.want != Strings && len(keys.Ints) < n:
		if err := keys.refuseBeyond(problem.InvalidValue, "ids"); err != nil {
			return err
		}
		return problem.New(problem.InvalidValue, "the ids of the collection are integers, and those of the rows are strings").At("ids", 0).Within(Integers)
	}
	for i := range n {
		if b.want != Strings {
			b.addInt(keys.Ints[i])
		} else if err := b.add(keys.Names[i]); err != nil {
			return err
		}
	}
	return nil
}

// addDigits appends integers to strings that are whole numbers throughout.
func (b *idsBuilder) addDigits(ids []int64) error {
	for row, id := range ids {
		if id < 0 {
			return problem.New(problem.InvalidValue, "row %d has the id %d, which is negative; ids are integers from 0 on, or strings", row, id).At("ids", row)
		}
		b.addInt(id)
	}
	return nil
}

// finish takes the ids of the rows; none if the builder has none.
func (r *newRows) finish(b *idsBuilder) error {
	if b.Len() == 0 {
		return nil
	}
	ids, err := b.finish()
	if err != nil {
		return err
	}
	r.ids = ids.ids
	return nil
}

// readSource reads the rows of an upload or a file.
func (c *Catalog) readSource(ctx context.Context, v *Version, src *Source) (*newRows, error) {
	s, err := c.stage(ctx, newBase(v.o.name), src, v.Coordinates(), false)
	defer s.discard()
	if err != nil {
		return nil, err
	}
	return c.readStaged(ctx, v, src, s)
}

// readStaged reads the rows of a source that is durable. The caller frees them.
func (c *Catalog) readStaged(ctx context.Context, v *Version, src *Source, s *staged) (_ *newRows, err error) {
	o := s.origin
	named := src.IDColumn != ""
	if !named && s.layout.IDs != "" {
		o.IDColumn, named = s.layout.IDs, true
	}
	switch {
	case o.Prepared:
		return nil, problem.New(problem.InvalidValue, "%s: the rows of a prepared collection cannot be written to another", o.Called).In("source")
	case s.layout.Wide && !slices.Equal(o.Like, v.Coordinates()):
		return nil, problem.New(problem.Conflict, "collection %s was changed while the rows arrived", v.o.name).In("rows")
	case s.dim != v.Dim():
		return nil, wrongDimension(o.Called, s.dim, v)
	}
	if err := c.checkSize(s.rows, v); err != nil {
		return nil, err
	}
	end, err := c.startReading(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	path := o.Path
	if o.File != "" {
		path = s.arriving(o.File)
	}
	opt := c.options(o)
	opt.Origin = v.QueryOrigin()
	in, err := dataset.Open(path, opt)
	if err != nil {
		return nil, describe(err, o, path)
	}
	defer in.Close()
	r := c.newRows(v)
	defer func() {
		if err != nil {
			r.free()
		}
	}()
	r.id = s.id
	if err := r.reserve(max(0, s.rows), v); err != nil {
		return nil, err
	}
	if err := r.readColumns(ctx, v, s, path); err != nil {
		return nil, err
	}
	r.warnings = append(s.dropped(named), r.warnings...)
	b := v.idsBuilder()
	read := r.reads(in, v)
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := read()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, describe(err, o, path)
		}
		more = err == nil
		if !named {
			continue
		}
		for _, id := range in.IDs()[:n] {
			if err := b.add(id); err != nil {
				return nil, err
			}
		}
	}
	if r.wide == nil {
		r.rounding = dataset.ChangeOf(in)
	}
	if r.columns != nil && r.columns.Rows() != r.n {
		return nil, problem.New(problem.InvalidValue, "%s: the columns have %d rows, and there are %d vectors", o.Called, r.columns.Rows(), r.n).In("columns")
	}
	return r, r.finish(b)
}

// reads returns what appends the next rows of a source to r, and says how many they were: in float64, as they are given, of a version that is
// kept so. It asks for the memory of rows of which the source did not say how many they are.
func (r *newRows) reads(in dataset.Reader, v *Version) func() (int, error) {
	dim := in.Dim()
	values := dim * max(1, (1<<18)/dim)
	if v.Float64() {
		typed, buf := dataset.Doubled(in), make([]float64, values)
		r.wide = []float64{}
		return func() (n int, err error) {
			n, err = typed.ReadTyped(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(buf))), 8*len(buf)))
			r.wide, err = appendRows(r, v, r.wide, buf[:n*dim], err)
			return n, err
		}
	}
	buf := make([]float32, values)
	r.values = []float32{}
	return func() (n int, err error) {
		n, err = in.Read(buf)
		r.values, err = appendRows(r, v, r.values, buf[:n*dim], err)
		return n, err
	}
}

// appendRows appends more rows of a version to those of r, whose memory it asks for before it grows; err is that of reading them.
func appendRows[T float32 | float64](r *newRows, v *Version, all, more []T, err error) ([]T, error) {
	if err != nil && err != io.EOF {
		return all, err
	}
	dim := v.Dim()
	r.n += len(more) / dim
	if err := v.o.c.checkSize(int64(r.n), v); err != nil {
		return all, err
	}
	if len(all)+len(more) > cap(all) {
		now := max(len(all)+len(more), cap(all)/4*5)
		if need := int64(now / dim); need*v.writtenBytes() > r.share.held {
			if err := r.reserve(need, v); err != nil {
				return all, err
			}
		}
		all = slices.Grow(all, now-len(all))
	}
	return append(all, more...), err
}

// rowsToAppend reads rows for a version that changes, or may. Of more than are written at once, and of a file with ids that are not read because those
// of the collection are row numbers, it returns the source instead, durable under
// names that begin with base, of which a version can be built unless this one changes. The caller discards it, also if there is an error.
func (c *Catalog) rowsToAppend(ctx context.Context, v *Version, src *Source, base string, keyed bool) (*newRows, *staged, error) {
	s := &staged{}
	inMemory := src.Body == nil && src.Path == "" && src.File == ""
	numbered := v.IDs().Kind() == RowNumbers
	var rows *newRows
	var err error
	if inMemory {
		rows, err = c.readRows(ctx, v, src, keyed)
	} else if s, err = c.stage(ctx, base, src, v.Coordinates(), numbered); err == nil && !s.ignored() {
		rows, err = c.readStaged(ctx, v, src, s)
	}
	switch {
	case err == nil && rows == nil: // they have ids that are not read, and would be from then on
		return nil, s, nil
	case err == nil:
		s.discard()
		return rows, nil, nil
	case v.Changes() || !errors.Is(err, errTooMany):
		return nil, s, err
	case inMemory:
		s, err = c.stage(ctx, base, src, v.Coordinates(), numbered)
		return nil, s, err
	}
	return nil, s, nil
}

// appendRows writes new rows to a version that changes, or becomes one that does: ids that are there are refused, and rows without ids get the
// integers after the greatest that was ever used.
func (c *Catalog) appendRows(ctx context.Context, v *Version, src *Source, rows *newRows, key string) (Info, error) {
	fingerprint := appendPrint(v.o.name, rows.id, src)
	return c.changeRowsOnce(ctx, v.o.name, key, fingerprint, func() (Info, error) {
		if !v.Changes() {
			if err := c.isAt(v.o.name, wanted(ctx)); err != nil {
				return Info{}, err
			}
		}
		return c.appendNew(ctx, v, rows, key, fingerprint)
	})
}

// appendNew is appendRows of rows that were read.
func (c *Catalog) appendNew(ctx context.Context, v *Version, rows *newRows, key, fingerprint string) (Info, error) {
	ch := rows.change()
	ch.Only = folder.OnlyNew
	if rows.ids != nil {
		return c.changeRows(ctx, v, ch, rows.warnings, key, fingerprint)
	}
	if v.IDs().Kind() == Strings {
		return Info{}, problem.New(problem.InvalidValue, "the ids of collection %s are strings, and the rows to append have none", v.o.name).In("ids").Within(Strings)
	}
	if !v.Changes() {
		ch.IDs = dataset.IDsOf(numbered(uint64(v.o.change.NextID), rows.n))
		if err := v.o.checkFirst(&ch); err != nil {
			return Info{}, err
		}
	}
	o, err := c.folderOf(ctx, v)
	if err != nil {
		return Info{}, err
	}
	defer o.release()
	f := o.changing
	f.numbering.Lock()
	defer f.numbering.Unlock()
	for {
		next := max(uint64(o.change.NextID), f.Greatest()+1)
		if next > math.MaxInt64-uint64(rows.n) {
			return Info{}, problem.New(problem.InvalidValue, "there are no integers left for the ids of %d rows", rows.n).In("rows")
		}
		ch.IDs = dataset.IDsOf(numbered(next, rows.n))
		i, err := o.changeBeside(ctx, v, ch, rows.warnings, key, fingerprint)
		if errors.Is(err, folder.ErrThere) { // a writer took one of the ids meanwhile
			continue
		}
		return i, err
	}
}

// numbered returns n numbers from first on.
func numbered(first uint64, n int) []uint64 {
	numbers := make([]uint64, n)
	for i := range numbers {
		numbers[i] = first + uint64(i)
	}
	return numbers
}
