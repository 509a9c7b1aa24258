package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// parquetFile is an opened Parquet file whose footer has been checked.
type parquetFile struct {
	*source
	file   *parquet.File
	leaves []parquetLeaf // in file order
	// together says that pages of all columns that are read are decoded at once; held is what those of the current chunks take at most.
	together bool
	held     int64
}

// parquetLeaf is a column with values.
type parquetLeaf struct {
	column  *parquet.Column
	element *format.SchemaElement
	name    string // "a" for a top-level column and everything below it, else "a.b"
	path    string // full dotted path
	// beside are the fields that what is repeated has, nil if there is the one: those of the
	// entries of a map, or of a list of structs.
	beside []string
}

func openParquetFile(src *source) (p *parquetFile, err error) {
	defer recovered(src.name, &err)
	if err := checkFooter(src); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(src.at, src.size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fail(src.name, "not readable as Parquet: %w", err)
	}
	p = &parquetFile{source: src, file: f}
	elements := leafElements(f.Metadata())
	if err := src.budget.checkColumns(int64(len(elements))); err != nil {
		return nil, fail(src.name, "%w", err)
	}
	p.collect(f.Root(), elements, nil)
	return p, nil
}

func leafElements(m *format.FileMetaData) []*format.SchemaElement {
	var leaves []*format.SchemaElement
	for i := range m.Schema {
		if m.Schema[i].Type.Valid {
			leaves = append(leaves, &m.Schema[i])
		}
	}
	return leaves
}

// collect appends the leaves below c; beside is that of parquetLeaf.
func (p *parquetFile) collect(c *parquet.Column, elements []*format.SchemaElement, beside []string) {
	if !c.Leaf() {
		if below := c.Columns(); c.MaxRepetitionLevel() > 0 && len(below) > 1 {
			beside = nil
			for _, child := range below {
				beside = append(beside, child.Name())
			}
		}
		for _, child := range c.Columns() {
			p.collect(child, elements, beside)
		}
		return
	}
	path := c.Path()
	if len(path) == 0 {
		return
	}
	leaf := parquetLeaf{column: c, element: elements[c.Index()], name: path[0], path: strings.Join(path, "."), beside: beside}
	// A list is a group that holds a repeated group that holds the element; anything deeper is
	// a struct's field and is named by its full path.
	if len(path) > 3 || c.MaxRepetitionLevel() == 0 {
		leaf.name = leaf.path
	}
	p.leaves = append(p.leaves, leaf)
}

// kind returns the kind of the elements, if they can be converted to float32.
func (l *parquetLeaf) kind() (kind, bool) {
	e := l.element
	switch e.Type.V {
	case format.Float:
		return f32, true
	case format.Double:
		return f64, true
	case format.FixedLenByteArray:
		_, half := e.LogicalType.Value.(*format.Float16Type)
		return f16, half && e.TypeLength.Valid && e.TypeLength.V == 2
	case format.Int32:
		if t, ok := e.LogicalType.Value.(*format.IntType); ok && t.BitWidth == 8 {
			if t.IsSigned {
				return i8, true
			}
			return u8, true
		}
		if e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Int8 {
			return i8, true
		}
		if e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Uint8 {
			return u8, true
		}
	}
	return 0, false
}

// unsigned reports integer ids to be formatted without a sign.
func (l *parquetLeaf) unsigned() bool {
	t, ok := l.element.LogicalType.Value.(*format.IntType)
	if ok {
		return !t.IsSigned
	}
	c := l.element.ConvertedType
	return c.Valid && (c.V == deprecated.Uint32 || c.V == deprecated.Uint64)
}

// plainLeaf returns the named column, which must not be a list.
func (p *parquetFile) plainLeaf(name string) (*parquetLeaf, error) {
	var all []string
	var found *parquetLeaf
	for i := range p.leaves {
		l := &p.leaves[i]
		if l.column.MaxRepetitionLevel() > 0 {
			continue
		}
		all = append(all, l.path)
		if l.path == name {
			found = l
		}
	}
	if err := oneOf(all, name); err != nil {
		return nil, fail(p.name, "%w", err)
	}
	if found != nil {
		return found, nil
	}
	return nil, fail(p.name, "no column %q of single values; the file has %s", name, listed(all))
}

// parquetVectors is the Reader over a list column.
type parquetVectors struct {
	file *parquetFile
	kind kind
	vec  *parquetColumn
	id   *parquetIDs // nil without ids
	dim  int
	next int64
	ids  []string

	first []float64 // row 0, read by openParquet
	said  Layout
	err   error
}

func openParquet(src *source, opt Options) (r Reader, err error) {
	defer recovered(src.name, &err)
	p, err := openParquetFile(src)
	if err != nil {
		return nil, err
	}
	if opt.IDs != "" {
		if _, err := p.ids(opt.IDs); err != nil {
			return nil, err
		}
	}
	columns, leaves := p.tableColumns()
	leaf, err := p.namedLeaf(opt.Column)
	if err != nil {
		return nil, err
	}
	if leaf == nil {
		chosen, err := chooseTable(p.name, columns, p.idColumn(columns, opt), opt)
		if err != nil {
			return nil, err
		}
		if chosen.list < 0 {
			return openParquetWide(p, columns, leaves, chosen, opt)
		}
		leaf = leaves[chosen.list]
		if opt.Column == "" {
			err = p.refuseFoundLeaf(leaf, opt.words().Column)
		}
		if err != nil {
			return nil, located(p.name, -1, err)
		}
	}
	if p.file.NumRows() <= 0 {
		return nil, fail(src.name, "%w: the file is empty", ErrNoRows)
	}
	v := &parquetVectors{file: p, vec: p.column(leaf)}
	v.kind, _ = leaf.kind()
	if v.id, v.said.IDs, err = p.chosenIDs(opt, []string{leaf.name}); err != nil {
		return nil, err
	}
	v.said.Vector = []string{leaf.name}
	var names []string
	for i := range p.leaves {
		names = append(names, p.leaves[i].name)
	}
	v.said.Dropped = without(names, leaf.name, v.said.IDs)
	v.first, err = parquetVector[float64](v, nil, int(src.budget.Columns))
	if err == io.EOF {
		return nil, fail(src.name, "%w: the footer announces %d", ErrNoRows, p.file.NumRows())
	}
	if err != nil {
		return nil, err
	}
	v.dim = len(v.first)
	return opt.narrow(v, src.name), nil
}

// chosenIDs returns the column of the ids, nil without, and its name; it is none of the columns of the vector.
func (p *parquetFile) chosenIDs(opt Options, vector []string) (ids *parquetIDs, name string, err error) {
	if opt.IDs != "" {
		ids, err = p.ids(opt.IDs)
		return ids, opt.IDs, err
	}
	if !opt.FindIDs || slices.Contains(vector, idName) {
		return nil, "", nil
	}
	ids, err = p.ids(idName)
	if err == nil {
		return ids, idName, nil
	}
	if errors.Is(err, errOneName) {
		return nil, "", err
	}
	if what := p.described(idName); what != "" && !opt.OneRow {
		return nil, "", fail(p.name, "column %w", opt.noIDs(what))
	}
	return nil, "", nil
}

func (v *parquetVectors) layout() Layout { return v.said }

func (v *parquetVectors) Dim() int   { return v.dim }
func (v *parquetVectors) Len() int64 { return v.file.file.NumRows() }

func (v *parquetVectors) IDs() []string {
	if v.id == nil {
		return nil
	}
	return v.ids
}

func (v *parquetVectors) Close() error {
	v.vec.close()
	if v.id != nil {
		v.id.column.close()
	}
	return v.file.Close()
}

// justified reports whether the rows take no more than what is expected of a file of this size.
func (v *parquetVectors) justified() bool {
	return v.dim > 0 && v.Len() <= readFactor*v.file.size/int64(v.dim*max(4, v.kind.size()))
}

func (v *parquetVectors) element() kind                       { return v.kind }
func (v *parquetVectors) isWide() bool                        { return v.kind.wide() }
func (v *parquetVectors) Read(dst []float32) (int, error)     { return readParquet(v, dst) }
func (v *parquetVectors) readWide(dst []float64) (int, error) { return readParquet(v, dst) }

// readParquet is Read in either precision.
func readParquet[T precision](v *parquetVectors, dst []T) (n int, err error) {
	defer func() {
		if err != nil && err != io.ErrShortBuffer {
			v.err = err
		}
	}()
	defer recovered(v.file.name, &err) // runs first
	v.ids = v.ids[:0]
	if v.id != nil {
		v.id.meter.begin()
	}
	if v.err != nil {
		return 0, v.err
	}
	if len(dst) < v.dim {
		return 0, io.ErrShortBuffer
	}
	for ; n < len(dst)/v.dim && (v.id == nil || !v.id.meter.full()); n++ {
		err := parquetRow(v, dst[n*v.dim:(n+1)*v.dim])
		if err == io.EOF && n > 0 {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		v.next++
	}
	return n, nil
}

func parquetRow[T precision](v *parquetVectors, dst []T) error {
	if v.next == 0 {
		for j, x := range v.first {
			dst[j] = T(x)
		}
		v.first = nil
	} else {
		row, err := parquetVector(v, dst[:0:len(dst)], len(dst))
		if err == io.EOF {
			return v.finish()
		}
		if err != nil {
			return err
		}
		if v.next == v.Len() {
			return failAt(v.file.name, v.next, -1, "the footer announces %d rows, the column holds more", v.Len())
		}
		if len(row) != len(dst) {
			return failAt(v.file.name, v.next, -1, "row has %d columns, the first has %d", len(row), len(dst))
		}
	}
	if v.id == nil {
		return nil
	}
	id, err := v.id.next()
	if err != nil {
		return failAt(v.file.name, v.next, -1, "id: %w", cutShort(err))
	}
	v.ids = append(v.ids, id)
	return nil
}

func (v *parquetVectors) finish() error {
	if v.next != v.Len() {
		return failAt(v.file.name, v.next, -1, "the footer announces %d rows, the column holds %d", v.Len(), v.next)
	}
	return io.EOF
}

// parquetVector appends the elements of the next row to dst; more than dim are an error. io.EOF
// after the last row.
func parquetVector[T precision](v *parquetVectors, dst []T, dim int) ([]T, error) {
	full := byte(v.vec.leaf.column.MaxDefinitionLevel())
	for begun := false; ; begun = true {
		value, err := v.vec.peek()
		if err == io.EOF && begun {
			return dst, nil
		}
		if err == io.EOF {
			return nil, err
		}
		if err != nil {
			return nil, located(v.file.name, v.next, err)
		}
		if starts := value.RepetitionLevel() == 0; starts && begun {
			return dst, nil
		} else if starts == begun {
			return nil, failAt(v.file.name, v.next, -1, "repetition levels do not begin a row")
		}
		column := int64(len(dst))
		if byte(value.DefinitionLevel()) != full {
			return nil, failAt(v.file.name, v.next, column, "vector or element is null or missing")
		}
		if len(dst) >= dim {
			return nil, failAt(v.file.name, v.next, -1, "%w", v.tooLong(dim))
		}
		x, err := v.kind.fromParquet(value)
		if err != nil {
			return nil, failAt(v.file.name, v.next, column, "%w", err)
		}
		dst = append(dst, T(x))
		v.vec.i++
	}
}

// tooLong returns the error of a row of more than dim columns, which is the limit for the first.
func (v *parquetVectors) tooLong(dim int) error {
	if v.dim == 0 {
		return v.file.budget.exceeds(int64(dim), "row has more than %d columns", dim)
	}
	return fmt.Errorf("row has more than %d columns", dim)
}

// fromParquet converts one value, if it is a half or a byte through its bytes.
func (k kind) fromParquet(value *parquet.Value) (float64, error) {
	var b [8]byte
	switch k {
	case f32, f64:
		x := value.Double()
		if k == f32 {
			x = float64(value.Float())
		}
		if x-x == 0 {
			return x, nil
		}
		return 0, refuseFloat(x)
	case f16:
		copy(b[:], value.ByteArray())
	case i8, u8:
		n := value.Int32()
		if k == i8 && n != int32(int8(n)) || k == u8 && n != int32(uint8(n)) {
			return 0, fmt.Errorf("integer %d is outside its 8-bit type", n)
		}
		b[0] = byte(n)
	}
	x, ok := k.one(b[:k.size()])
	if !ok {
		return 0, k.refusal(b[:])
	}
	return x, nil
}
