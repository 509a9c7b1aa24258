package dataset

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// tableColumns describes the columns at the top of the file, and says which leaves they are. Fields of structs are none.
func (p *parquetFile) tableColumns() (columns []tableColumn, leaves []*parquetLeaf) {
	for i := range p.leaves {
		l := &p.leaves[i]
		c := tableColumn{name: l.name, described: l.sort()}
		kind, supported := l.kind()
		switch repeated := l.column.MaxRepetitionLevel(); {
		case l.isList() && supported:
			c.list = true
		case repeated > 0:
			if c.odd = repeated > 1 || l.beside != nil || !l.isText(); l.inMap() {
				c.described = "a map"
			}
		case len(l.column.Path()) > 1:
			continue
		case l.isNull():
			c.gap = true
		case l.numeric():
			if c.kind = kind; !supported {
				c.kind = l.wholeKind()
			}
		default:
			c.number = l.isDecimal()
		}
		columns, leaves = append(columns, c), append(leaves, l)
	}
	return columns, leaves
}

// wholeKind is the kind of a column of integers of more than 8 bits.
func (l *parquetLeaf) wholeKind() kind {
	unsigned := l.unsigned()
	width := 32
	if t, ok := l.element.LogicalType.Value.(*format.IntType); ok {
		width = int(t.BitWidth)
	}
	switch {
	case l.element.Type.V == format.Int64 && unsigned:
		return u64
	case l.element.Type.V == format.Int64:
		return i64
	case width == 16 && unsigned:
		return u16
	case width == 16:
		return i16
	case unsigned:
		return u32
	}
	return i32
}

// isDecimal reports whether the values are decimal numbers.
func (l *parquetLeaf) isDecimal() bool {
	_, decimal := l.element.LogicalType.Value.(*format.DecimalType)
	return decimal
}

// coordinate returns a value of a column of numbers, within its type.
func (l *parquetLeaf) coordinate(v *parquet.Value, k kind) (float64, error) {
	x, err := l.number(v)
	if bits := 8 * k.size(); err == nil && (k == i16 || k == u16 || k == i8 || k == u8) {
		least, most := 0., float64(int64(1)<<bits-1)
		if k == i16 || k == i8 {
			least, most = -float64(int64(1)<<(bits-1)), float64(int64(1)<<(bits-1)-1)
		}
		if x < least || x > most {
			err = fmt.Errorf("integer %.0f is outside its %d-bit type", x, bits)
		}
	}
	return x, err
}

// parquetBlocks are columns of coordinates, and of ids, of a Parquet file.
type parquetBlocks struct {
	file    *parquetFile
	columns []*parquetColumn
	kinds   []kind
	ids     *parquetIDs // nil without ids
	left    int64       // rows
}

// openParquetWide opens vectors whose coordinates are these columns.
func openParquetWide(p *parquetFile, columns []tableColumn, leaves []*parquetLeaf, chosen chosenTable, opt Options) (Reader, error) {
	b := &parquetBlocks{file: p, left: p.file.NumRows()}
	w := &wideTable{columnBlocks: b, name: p.name, kind: chosen.kind, rows: b.left, meter: &idMeter{budget: p.budget}}
	p.together = true
	for _, i := range chosen.vector {
		c := &parquetColumn{file: p, leaf: leaves[i], buf: make([]parquet.Value, blockRows)}
		b.columns, b.kinds = append(b.columns, c), append(b.kinds, columns[i].kind)
		w.names = append(w.names, columns[i].name)
	}
	var err error
	if b.ids, w.said.IDs, err = p.chosenIDs(opt, w.names); err != nil {
		return nil, err
	}
	if w.hasID = b.ids != nil; w.hasID {
		w.meter = &b.ids.meter
	}
	w.said.Vector, w.said.Wide = w.names, true
	for i := range columns {
		if name := columns[i].name; !slices.Contains(w.names, name) && (name != w.said.IDs || name == "") {
			w.said.Dropped = append(w.said.Dropped, name)
		}
	}
	if b.left == 0 {
		return nil, fail(p.name, "%w: the file is empty", ErrNoRows)
	}
	return openWide(w, p.budget, opt)
}

func (b *parquetBlocks) available(n int) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	return int(min(int64(n), b.left)), nil
}

func (b *parquetBlocks) numbers(j int, dst []float64) (n int, err error) {
	c := b.columns[j]
	for n < len(dst) {
		if c.i == c.n {
			if err := c.fill(); err == io.EOF {
				return n, fmt.Errorf("the column ends before the rows that the footer announces: %w", io.ErrUnexpectedEOF)
			} else if err != nil {
				return n, err
			}
		}
		some := c.buf[c.i:min(c.n, c.i+len(dst)-n)]
		for i := range some {
			v := &some[i]
			if v.IsNull() {
				return n, errNoCoordinate
			}
			if dst[n], err = c.leaf.coordinate(v, b.kinds[j]); err != nil {
				return n, err
			}
			n++
		}
		c.i += len(some)
	}
	return n, nil
}

func (b *parquetBlocks) id(int) (string, error) { return b.ids.next() }

func (b *parquetBlocks) done(n int) { b.left -= int64(n) }

// finish refuses a column that goes on after the last row.
func (b *parquetBlocks) finish(next int64) error {
	for _, c := range b.columns {
		if _, err := c.peek(); err != io.EOF {
			return failAt(b.file.name, next, -1, "column %q: rows go on after the %d that the footer announces", c.leaf.path, next)
		}
	}
	return io.EOF
}

func (b *parquetBlocks) Close() error {
	for _, c := range b.columns {
		c.close()
	}
	if b.ids != nil {
		b.ids.column.close()
	}
	return b.file.Close()
}
