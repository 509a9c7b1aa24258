package dataset

import (
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// arrowTableColumns describes the columns of a schema.
func arrowTableColumns(s *arrow.Schema) []tableColumn {
	columns := make([]tableColumn, s.NumFields())
	for i, f := range s.Fields() {
		t := f.Type
		if e, ok := t.(arrow.ExtensionType); ok {
			t = e.StorageType()
		}
		c := tableColumn{name: f.Name, described: f.Type.String(), kind: arrowNumberKind(f.Type.ID())}
		if _, err := arrowKind(f.Type); err == nil {
			c.list = true
		} else if t.ID() == arrow.MAP {
			c.odd, c.described = true, "a map"
		} else if l, ok := t.(arrow.ListLikeType); ok {
			c.odd = !isArrowText(l.Elem())
		}
		c.gap = t.ID() == arrow.NULL
		c.number = arrow.IsDecimal(t.ID())
		columns[i] = c
	}
	return columns
}

// arrowNumberKind is the kind of a column of numbers, 0 for others.
func arrowNumberKind(id arrow.Type) kind {
	return map[arrow.Type]kind{
		arrow.FLOAT16: f16, arrow.FLOAT32: f32, arrow.FLOAT64: f64,
		arrow.INT8: i8, arrow.INT16: i16, arrow.INT32: i32, arrow.INT64: i64,
		arrow.UINT8: u8, arrow.UINT16: u16, arrow.UINT32: u32, arrow.UINT64: u64,
	}[id]
}

// arrowBlocks are columns of coordinates, and of ids, of Arrow IPC.
type arrowBlocks struct {
	*arrowVectors
	at    []int // columns of the coordinates
	batch arrow.RecordBatch
	i     int64 // next row of batch
	meter *idMeter
}

// openWide opens vectors whose coordinates are columns.
func (a *arrowVectors) openWide(columns []tableColumn, chosen chosenTable, opt Options) (Reader, error) {
	b := &arrowBlocks{arrowVectors: a, at: chosen.vector, meter: &a.meter}
	w := &wideTable{columnBlocks: b, name: a.name, kind: chosen.kind, rows: a.rows, hasID: a.id >= 0, meter: b.meter}
	for _, i := range chosen.vector {
		w.names = append(w.names, columns[i].name)
	}
	w.said = Layout{IDs: opt.IDs, Vector: w.names, Wide: true}
	for i := range columns {
		if i != a.id && !slices.Contains(chosen.vector, i) {
			w.said.Dropped = append(w.said.Dropped, columns[i].name)
		}
	}
	if _, err := b.available(1); err == io.EOF {
		return nil, fail(a.name, "%w: all record batches are empty", ErrNoRows)
	} else if err != nil {
		return nil, located(a.name, -1, err)
	}
	return openWide(w, a.budget, opt)
}

func (b *arrowBlocks) available(n int) (int, error) {
	for b.batch == nil || b.i == b.batch.NumRows() {
		batch, err := b.record()
		if err != nil {
			return 0, err
		}
		b.batch, b.i = batch, 0
	}
	return int(min(int64(n), b.batch.NumRows()-b.i)), nil
}

func (b *arrowBlocks) numbers(j int, dst []float64) (n int, err error) {
	column := b.batch.Column(b.at[j])
	first, some := int(b.i), column.NullN() > 0
	if of, ok := column.(*array.Float64); ok && !some {
		copy(dst, of.Float64Values()[first:first+len(dst)])
		n = slices.IndexFunc(dst, func(x float64) bool { return x-x != 0 })
		if n < 0 {
			return len(dst), nil
		}
		return n, refuseFloat(dst[n])
	}
	for n = range dst {
		if some && column.IsNull(first+n) {
			return n, errNoCoordinate
		}
		if dst[n], err = arrowNumber(column, first+n); err != nil {
			return n, err
		}
	}
	return len(dst), nil
}

func (b *arrowBlocks) id(i int) (string, error) {
	return arrowID(b.batch.Column(b.arrowVectors.id), int(b.i)+i, b.meter)
}

func (b *arrowBlocks) done(n int) { b.i += int64(n) }

func (b *arrowBlocks) finish(int64) error { return io.EOF }
