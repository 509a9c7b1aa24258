package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// arrowVectors reads Arrow IPC, one record batch at a time. Of a file it reads the stream
// inside; the footer must exist but is not used.
type arrowVectors struct {
	*source
	messages *arrowMessages
	stream   *ipc.Reader
	column   int
	id       int // -1 without ids
	rows     int64
	dim      int
	next     int64
	batch    arrowBatch
	ids      []string
	meter    idMeter
	said     Layout
	err      error
}

// arrowBatch is the current record batch and its columns. It is valid until the stream advances.
type arrowBatch struct {
	list   array.ListLike
	values []byte // little-endian elements of all lists
	nulls  arrow.Array
	kind   kind
	ids    arrow.Array
	i, n   int
}

func openArrow(src *source, opt Options) (r Reader, err error) {
	defer recovered(src.name, &err)
	a := &arrowVectors{source: src, rows: -1, id: -1, meter: idMeter{budget: src.budget}}
	if a.messages, err = newArrowMessages(src); err != nil {
		return nil, err
	}
	if src.at != nil {
		a.rows = countArrowRows(src, a.messages.isFile)
	}
	a.stream, err = ipc.NewReaderFromMessageReader(a.messages)
	if err != nil {
		return nil, fail(src.name, "not readable as Arrow IPC: %w", cutShort(err))
	}
	columns := arrowTableColumns(a.stream.Schema())
	chosen, err := a.choose(a.stream.Schema(), columns, &opt)
	if err != nil {
		return nil, err
	}
	if chosen.list < 0 {
		return a.openWide(columns, chosen, opt)
	}
	if err := a.advance(); err == io.EOF {
		return nil, fail(src.name, "%w: all record batches are empty", ErrNoRows)
	} else if err != nil {
		return nil, err
	}
	lo, hi, err := a.batch.bounds()
	if err != nil {
		return nil, failAt(src.name, 0, -1, "%w", err)
	}
	if hi == lo {
		return nil, failAt(src.name, 0, -1, "rows have zero columns")
	}
	if err := src.budget.checkColumns(int64(hi - lo)); err != nil {
		return nil, failAt(src.name, 0, -1, "%w", err)
	}
	a.dim = hi - lo
	return opt.narrow(a, src.name), nil
}

func (a *arrowVectors) Dim() int   { return a.dim }
func (a *arrowVectors) Len() int64 { return a.rows }

func (a *arrowVectors) IDs() []string {
	if a.id < 0 {
		return nil
	}
	return a.ids
}

// choose finds the columns of vectors and ids, which is noted in opt.
func (a *arrowVectors) choose(s *arrow.Schema, columns []tableColumn, opt *Options) (chosen chosenTable, err error) {
	all := make([]string, len(columns))
	for i := range columns {
		all[i] = columns[i].name
	}
	if opt.IDs == "" && opt.FindIDs && opt.Column != idName {
		if at := s.FieldIndices(idName); len(at) > 0 && arrowIDType(s.Field(at[0]).Type) {
			opt.IDs = idName
		}
	}
	if opt.IDs != "" {
		a.id = slices.Index(all, opt.IDs)
	}
	switch {
	case opt.IDs != "" && a.id < 0:
		return chosen, fail(a.name, "no column %q for the ids; the file has %s", opt.IDs, listed(all))
	case a.id >= 0 && !arrowIDType(s.Field(a.id).Type):
		return chosen, fail(a.name, "ids column %q is %s, neither string nor integer", opt.IDs, s.Field(a.id).Type)
	case a.id >= 0:
		if err := oneOf(all, opt.IDs); err != nil {
			return chosen, fail(a.name, "ids: %w", err)
		}
	}
	if i := slices.Index(all, opt.Column); opt.Column != "" && i >= 0 && columns[i].odd {
		_, err := arrowKind(s.Field(i).Type)
		return chosen, fail(a.name, "column %q: %w", opt.Column, err)
	}
	if chosen, err = chooseTable(a.name, columns, a.id, *opt); err != nil {
		return chosen, err
	}
	if at := s.FieldIndices(idName); opt.findsIDs() && !opt.OneRow && len(at) > 0 && at[0] != chosen.list {
		return chosen, fail(a.name, "column %w", opt.noIDs("a column of "+s.Field(at[0]).Type.String()))
	}
	if chosen.list < 0 {
		return chosen, nil
	}
	a.column = chosen.list
	found := all[a.column]
	if err := oneOf(all, found); err != nil {
		return chosen, fail(a.name, "%w", err)
	}
	if opt.Column == "" {
		if err := refuseFound(found, found, arrowLists(s), opt.words().Column); err != nil {
			return chosen, fail(a.name, "%w", err)
		}
	}
	a.said = Layout{IDs: opt.IDs, Vector: []string{found}, Dropped: without(all, found, opt.IDs)}
	return chosen, nil
}

func (a *arrowVectors) layout() Layout { return a.said }

// arrowLists returns the names of the columns that are lists, of whatever elements.
func arrowLists(s *arrow.Schema) (names []string) {
	for _, f := range s.Fields() {
		t := f.Type
		if e, ok := t.(arrow.ExtensionType); ok {
			t = e.StorageType()
		}
		if _, ok := t.(arrow.ListLikeType); ok {
			names = append(names, f.Name)
		}
	}
	return names
}

// arrowKind is the kind of a list's elements.
func arrowKind(t arrow.DataType) (kind, error) {
	if e, ok := t.(arrow.ExtensionType); ok {
		t = e.StorageType()
	}
	l, ok := t.(arrow.ListLikeType)
	if !ok || t.ID() == arrow.MAP {
		return 0, fmt.Errorf("type %s is not a list of numbers", t)
	}
	switch l.Elem().ID() {
	case arrow.FLOAT16:
		return f16, nil
	case arrow.FLOAT32:
		return f32, nil
	case arrow.FLOAT64:
		return f64, nil
	case arrow.INT8:
		return i8, nil
	case arrow.UINT8:
		return u8, nil
	}
	return 0, fmt.Errorf("element type %s is not supported (float16, float32, float64, int8 and uint8 are)", l.Elem())
}

func arrowIDType(t arrow.DataType) bool {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW,
		arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64,
		arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return true
	}
	return false
}

func (a *arrowVectors) element() kind                       { return a.batch.kind }
func (a *arrowVectors) isWide() bool                        { return a.batch.kind.wide() }
func (a *arrowVectors) Read(dst []float32) (int, error)     { return readArrow(a, dst) }
func (a *arrowVectors) readWide(dst []float64) (int, error) { return readArrow(a, dst) }

// readArrow is Read in either precision.
func readArrow[T precision](a *arrowVectors, dst []T) (n int, err error) {
	defer func() {
		if err != nil && err != io.ErrShortBuffer {
			a.err = err
		}
	}()
	defer recovered(a.name, &err) // runs first
	a.ids = a.ids[:0]
	a.meter.begin()
	if a.err != nil {
		return 0, a.err
	}
	if len(dst) < a.dim {
		return 0, io.ErrShortBuffer
	}
	for ; n < len(dst)/a.dim && !a.meter.full(); n++ {
		if a.batch.i == a.batch.n {
			if err := a.advance(); err == io.EOF && n > 0 {
				return n, nil
			} else if err != nil {
				return n, err
			}
		}
		if err := arrowRow(a, dst[n*a.dim:(n+1)*a.dim]); err != nil {
			return n, err
		}
		a.batch.i++
		a.next++
	}
	return n, nil
}

// advance moves to the next record batch that has rows.
func (a *arrowVectors) advance() error {
	rec, err := a.record()
	if err == io.EOF {
		return err
	}
	if err != nil {
		return failAt(a.name, a.next, -1, "%w", err)
	}
	b, err := openArrowBatch(rec.Column(a.column))
	if err != nil {
		return failAt(a.name, a.next, -1, "%w", err)
	}
	if a.id >= 0 {
		b.ids = rec.Column(a.id)
	}
	a.batch = b
	return nil
}

// record returns the next record batch that has rows.
func (a *arrowVectors) record() (arrow.RecordBatch, error) {
	for a.stream.Next() {
		if rec := a.stream.RecordBatch(); rec.NumRows() > 0 {
			return rec, nil
		}
	}
	if err := a.stream.Err(); err != nil {
		return nil, cutShort(err)
	}
	if err := a.messages.finish(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

func openArrowBatch(column arrow.Array) (b arrowBatch, err error) {
	if b.kind, err = arrowKind(column.DataType()); err != nil {
		return b, err
	}
	if e, ok := column.(array.ExtensionArray); ok {
		column = e.Storage()
	}
	b.list = column.(array.ListLike)
	values := b.list.ListValues()
	b.n = column.Len()
	if values.NullN() > 0 {
		b.nulls = values
	}
	d, size := values.Data(), b.kind.size()
	if d.Len() == 0 {
		return b, nil
	}
	raw := d.Buffers()[1].Bytes()
	if n := len(raw) / size; d.Len() < 0 || d.Offset() < 0 || d.Len() > n || d.Offset() > n-d.Len() {
		return b, errors.New("values are fewer than the record batch announces")
	}
	b.values = raw[d.Offset()*size : (d.Offset()+d.Len())*size]
	return b, nil
}

// bounds returns the range of the current row's elements, checked to be within values.
func (b *arrowBatch) bounds() (lo, hi int, err error) {
	if b.list.IsNull(b.i) {
		return 0, 0, errors.New("vector is null")
	}
	start, end := b.list.ValueOffsets(b.i)
	if start < 0 || end < start || end > int64(len(b.values)/b.kind.size()) {
		return 0, 0, fmt.Errorf("offsets %d to %d lie outside the values", start, end)
	}
	return int(start), int(end), nil
}

func arrowRow[T precision](a *arrowVectors, dst []T) error {
	b := &a.batch
	lo, hi, err := b.bounds()
	if err != nil {
		return failAt(a.name, a.next, -1, "%w", err)
	}
	if hi-lo != len(dst) {
		return failAt(a.name, a.next, -1, "row has %d columns, the first has %d", hi-lo, len(dst))
	}
	if b.nulls != nil {
		for i := lo; i < hi; i++ {
			if b.nulls.IsNull(i) {
				return failAt(a.name, a.next, int64(i-lo), "element is null")
			}
		}
	}
	src := b.values[lo*b.kind.size() : hi*b.kind.size()]
	if bad := decodeAs(b.kind, dst, src); bad >= 0 {
		return failAt(a.name, a.next, int64(bad), "%w", b.kind.refusal(src[bad*b.kind.size():]))
	}
	if b.ids == nil {
		return nil
	}
	id, err := arrowID(b.ids, b.i, &a.meter)
	if err != nil {
		return failAt(a.name, a.next, -1, "id: %w", err)
	}
	a.ids = append(a.ids, id)
	return nil
}

// arrowID formats element i of a column of strings or integers, which m counts.
func arrowID(column arrow.Array, i int, m *idMeter) (string, error) {
	if column.IsNull(i) {
		return "", errors.New("is null")
	}
	switch c := column.(type) {
	case *array.Dictionary:
		return arrowID(c.Dictionary(), c.GetValueIndex(i), m)
	case array.StringLike:
		text := c.Value(i)
		if err := m.add(len(text)); err != nil {
			return "", err
		}
		// The string would otherwise share the batch's memory, which ids outlive.
		return strings.Clone(text), nil
	case *array.Int64:
		return strconv.FormatInt(c.Value(i), 10), m.add(8)
	}
	return column.ValueStr(i), m.add(8)
}
