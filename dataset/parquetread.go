package dataset

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// parquetReader is the plain columns of a Parquet file, and its lists of values.
type parquetReader struct {
	*parquetFile
	wants  []want
	chosen []*parquetColumn
	meter  idMeter
	row    int64 // that next has read last
	begun  bool
}

func openParquetRows(src *source, _ string) (tableReader, error) {
	p, err := openParquetFile(src)
	if err != nil {
		return nil, err
	}
	return &parquetReader{parquetFile: p, meter: idMeter{budget: src.budget, passing: true}}, nil
}

func (t *parquetReader) Len() int64 { return t.file.NumRows() }

func (t *parquetReader) Close() error {
	for _, c := range t.chosen {
		c.close()
	}
	return t.parquetFile.Close()
}

func (t *parquetReader) columns() (all []Column, err error) {
	for i := range t.leaves {
		l := &t.leaves[i]
		all = append(all, Column{Name: l.name, Type: l.valueType(), List: l.column.MaxRepetitionLevel() > 0})
	}
	return all, nil
}

// valueType is the type by which a column is told from others; of what is none of the types it is JSON.
func (l *parquetLeaf) valueType() Type {
	switch l.element.Type.V {
	case format.Boolean:
		return Bool
	case format.Int32:
		return Int32
	case format.Int64:
		if l.unsigned() {
			return Uint64
		}
		return Int64
	case format.Float:
		return Float32
	case format.Double:
		return Float64
	case format.ByteArray:
		return Text
	}
	return JSON
}

func (t *parquetReader) fact(name string) (string, error) {
	text, _ := t.file.Lookup(name)
	return text, nil
}

func (t *parquetReader) choose(wants []want) (err error) {
	defer recovered(t.name, &err)
	t.wants = wants
	for _, w := range wants {
		leaf, err := t.leaf(w)
		if err != nil {
			return err
		}
		if err := leaf.check(w); err != nil {
			return fail(t.name, "%w", err)
		}
		t.chosen = append(t.chosen, t.column(leaf))
	}
	return nil
}

// leaf returns the column that is wanted.
func (t *parquetReader) leaf(w want) (found *parquetLeaf, err error) {
	if w.as == asValue {
		return t.valueLeaf(w.name)
	}
	if !w.list {
		return t.plainLeaf(w.name)
	}
	for i := range t.leaves {
		if l := &t.leaves[i]; l.name == w.name {
			found = l
		}
	}
	if found == nil || found.column.MaxRepetitionLevel() != 1 {
		return nil, fail(t.name, "column %q is not a list", w.name)
	}
	return found, nil
}

// check refuses a column that cannot be read as what is wanted.
func (l *parquetLeaf) check(w want) error {
	e := l.element.Type.V
	switch w.as {
	case asNumber:
		if !l.numeric() {
			return fmt.Errorf("column %q is %s, not a column of numbers", w.name, l.column.Type())
		}
	case asScore:
		if kind, ok := l.kind(); !ok || kind != f32 && kind != f64 {
			return fmt.Errorf("column %q is %s, not float or double", w.name, l.column.Type())
		}
	case asInteger:
		if e == format.ByteArray {
			return fmt.Errorf("column %q holds texts where integers are wanted", w.name)
		}
		if e != format.Int32 && e != format.Int64 {
			return fmt.Errorf("column %q is %s, not a column of integers", w.name, l.column.Type())
		}
	case asText, asFloat32, asFloat64, asBool:
		wanted := map[reading]format.Type{asText: format.ByteArray, asFloat32: format.Float, asFloat64: format.Double, asBool: format.Boolean}[w.as]
		if e != wanted {
			return fmt.Errorf("column %q is %s, and %s is wanted", w.name, l.column.Type(), wanted)
		}
	case asID, asQuery, asName:
		if e != format.ByteArray && e != format.Int32 && e != format.Int64 {
			return fmt.Errorf("ids column %q is neither string nor integer", w.name)
		}
	}
	return nil
}

// numeric reports whether the values are plain integers or floats, rather than decimals, times
// or texts stored as such.
func (l *parquetLeaf) numeric() bool {
	e := l.element
	switch e.Type.V {
	case format.Float, format.Double:
		return true
	case format.FixedLenByteArray:
		k, ok := l.kind()
		return ok && k == f16
	case format.Int32, format.Int64:
		if e.LogicalType.Value != nil {
			_, integer := e.LogicalType.Value.(*format.IntType)
			return integer
		}
		return !e.ConvertedType.Valid || e.ConvertedType.V >= deprecated.Uint8 && e.ConvertedType.V <= deprecated.Int64
	}
	return false
}

func (t *parquetReader) next(row []readCell) (err error) {
	defer recovered(t.name, &err)
	if t.begun {
		t.row++
	}
	t.begun = true
	if t.row == t.Len() {
		return t.finish()
	}
	for i, c := range t.chosen {
		switch {
		case t.wants[i].as == asValue:
			err = row[i].readAny(c)
		case t.wants[i].list:
			err = row[i].readParquetList(c)
		default:
			err = row[i].readParquet(c, t.wants[i].as, &t.meter)
		}
		if err != nil {
			return &cellError{i, cutShort(err)}
		}
	}
	return nil
}

// finish returns io.EOF, or the error of a column that is longer than the file.
func (t *parquetReader) finish() error {
	for _, c := range t.chosen {
		if _, err := c.peek(); err != io.EOF {
			return failAt(t.name, t.row, -1, "column %q: rows go on after the %d that the footer announces", c.leaf.path, t.row)
		}
	}
	return io.EOF
}

func (t *parquetReader) locate(_ int, err error) error {
	if !t.begun {
		return located(t.name, -1, err)
	}
	return inRow(t.name, t.row, err)
}

// readParquet reads the next value of a column; m counts the bytes of ids.
func (c *readCell) readParquet(from *parquetColumn, as reading, m *idMeter) error {
	v, err := from.scalar()
	switch {
	case err != nil:
		return err
	case v.IsNull() && as == asNumber:
		c.float = math.NaN()
		return nil
	case v.IsNull():
		return errNull
	}
	switch as {
	case asNumber:
		c.float, err = from.leaf.number(v)
	case asScore:
		kind, _ := from.leaf.kind()
		if c.float, err = kind.fromParquet(v); err == nil && math.IsInf(float64(float32(c.float)), 0) {
			err = refuseFloat(c.float)
		}
	case asInteger, asID, asQuery:
		if c.named = v.Kind() == parquet.ByteArray; c.named {
			c.text, err = idOf(v.ByteArray(), m)
		} else {
			c.integer, err = from.leaf.integer(v)
		}
	case asName:
		c.text = from.leaf.text(v)
	case asText:
		c.text = string(v.ByteArray())
	case asFloat32:
		c.float = float64(v.Float())
	case asFloat64:
		c.float = v.Double()
	case asBool:
		c.setBool(v.Boolean())
	}
	return err
}

// readParquetList reads the next list of a column.
func (c *readCell) readParquetList(from *parquetColumn) error {
	c.integers, c.floats, c.doubles, c.texts = c.integers[:0], c.floats[:0], c.doubles[:0], c.texts[:0]
	return from.list(func(v *parquet.Value) {
		switch v.Kind() {
		case parquet.Int64:
			c.integers = append(c.integers, v.Int64())
		case parquet.Int32:
			x, _ := from.leaf.integer(v) // of 32 bits, it fits
			c.integers = append(c.integers, x)
		case parquet.Float:
			c.floats = append(c.floats, v.Float())
		case parquet.Double:
			c.doubles = append(c.doubles, v.Double())
		case parquet.ByteArray:
			c.texts = append(c.texts, string(v.ByteArray()))
		}
	})
}

// text returns a text, or an integer in digits.
func (l *parquetLeaf) text(v *parquet.Value) string {
	switch {
	case v.Kind() == parquet.ByteArray:
		return string(v.ByteArray())
	case v.Kind() == parquet.Int64 && l.unsigned():
		return strconv.FormatUint(v.Uint64(), 10)
	}
	x, _ := l.integer(v) // what is left fits
	return strconv.FormatInt(x, 10)
}

// idOf returns an id that is a text, which m counts.
func idOf(text []byte, m *idMeter) (string, error) {
	if err := m.add(len(text)); err != nil {
		return "", err
	}
	return string(text), nil
}

// integer returns a value of 32 or 64 bits.
func (l *parquetLeaf) integer(v *parquet.Value) (int64, error) {
	switch {
	case v.Kind() == parquet.Int32 && l.unsigned():
		return int64(v.Uint32()), nil
	case v.Kind() == parquet.Int32:
		return int64(v.Int32()), nil
	case l.unsigned() && v.Int64() < 0:
		return 0, unheld("%s does not fit int64", strconv.FormatUint(v.Uint64(), 10))
	}
	return v.Int64(), nil
}

// number returns a value of a numeric column.
func (l *parquetLeaf) number(v *parquet.Value) (float64, error) {
	switch v.Kind() {
	case parquet.Int32, parquet.Int64:
		if l.unsigned() && v.Kind() == parquet.Int64 {
			return wholeNumber(v.Uint64(), false)
		}
		x, err := l.integer(v)
		if err != nil {
			return 0, err
		}
		return signedNumber(x)
	case parquet.Float:
		return finiteNumber(float64(v.Float()))
	case parquet.Double:
		return finiteNumber(v.Double())
	case parquet.FixedLenByteArray:
		return f16.fromParquet(v)
	}
	return 0, fmt.Errorf("a value of kind %s is no number", v.Kind())
}
