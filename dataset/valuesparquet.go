package dataset

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// valueLeaf returns the column of a name, of single values or of lists of texts.
func (p *parquetFile) valueLeaf(name string) (*parquetLeaf, error) {
	var all []string
	var found []*parquetLeaf
	for i := range p.leaves {
		l := &p.leaves[i]
		all = append(all, l.name)
		if l.name == name || l.path == name {
			found = append(found, l)
		}
	}
	switch {
	case len(found) == 0:
		return nil, fail(p.name, "no column %q; the file has %s", name, listed(all))
	case len(found) > 1:
		return nil, fail(p.name, "column %q holds several columns, %s", name, listed(pathsOf(found)))
	}
	l := found[0]
	if l.beside != nil || l.column.MaxRepetitionLevel() > 1 || l.column.MaxRepetitionLevel() == 1 && !l.isText() || l.valueKind() == NullValue && !l.isNull() {
		return nil, fail(p.name, "column %q is %s; columns of integers, floats, texts, bools, times and lists of texts describe rows", name, l.sort())
	}
	return l, nil
}

func pathsOf(leaves []*parquetLeaf) (paths []string) {
	for _, l := range leaves {
		paths = append(paths, l.path)
	}
	return paths
}

// sort says what the column is, for messages.
func (l *parquetLeaf) sort() string {
	switch {
	case l.beside != nil:
		return "a map or a list of structs"
	case l.column.MaxRepetitionLevel() > 0:
		return "a list of " + l.column.Type().String()
	}
	return l.column.Type().String()
}

// isText reports whether the values are texts: bytes that are not said to be something else.
func (l *parquetLeaf) isText() bool {
	e := l.element
	if e.Type.V != format.ByteArray {
		return false
	}
	switch e.LogicalType.Value.(type) {
	case nil:
		return !e.ConvertedType.Valid || e.ConvertedType.V == deprecated.UTF8 || e.ConvertedType.V == deprecated.Enum || e.ConvertedType.V == deprecated.Json
	case *format.StringType, *format.EnumType, *format.JsonType:
		return true
	}
	return false
}

// valueKind is what single values of the column are, NullValue for none of the kinds.
func (l *parquetLeaf) valueKind() ValueKind {
	switch e := l.element; {
	case l.isText():
		return TextValue
	case e.Type.V == format.Boolean:
		return BoolValue
	case l.isDay() || l.perSecond() > 0:
		return TimeValue
	case !l.numeric():
		return NullValue
	case e.Type.V == format.Int32 || e.Type.V == format.Int64:
		return IntegerValue
	case e.Type.V == format.Double:
		return FloatValue
	}
	return SingleValue
}

// isNull reports whether the column has no values, and is of no type.
func (l *parquetLeaf) isNull() bool {
	_, null := l.element.LogicalType.Value.(*format.NullType)
	return null && l.column.MaxRepetitionLevel() == 0
}

// isDay reports whether integers count days.
func (l *parquetLeaf) isDay() bool {
	_, day := l.element.LogicalType.Value.(*format.DateType)
	c := l.element.ConvertedType
	return l.element.Type.V == format.Int32 && (day || c.Valid && c.V == deprecated.Date)
}

// perSecond is how many units of a timestamp a second has, 0 if the column holds none.
func (l *parquetLeaf) perSecond() int64 {
	e := l.element
	if e.Type.V != format.Int64 {
		return 0
	}
	if t, ok := e.LogicalType.Value.(*format.TimestampType); ok {
		switch t.Unit.Value.(type) {
		case *format.MilliSeconds:
			return millis
		case *format.MicroSeconds:
			return micros
		case *format.NanoSeconds:
			return nanos
		}
		return 0
	}
	switch c := e.ConvertedType; {
	case c.Valid && c.V == deprecated.TimestampMillis:
		return millis
	case c.Valid && c.V == deprecated.TimestampMicros:
		return micros
	}
	return 0
}

// readAny reads the next value of a column as what it is.
func (c *readCell) readAny(from *parquetColumn) error {
	c.any = Value{Texts: c.any.Texts[:0]}
	if from.leaf.column.MaxRepetitionLevel() == 1 {
		return c.readTexts(from)
	}
	v, err := from.scalar()
	if err != nil || v.IsNull() {
		return err
	}
	switch c.any.Kind = from.leaf.valueKind(); c.any.Kind {
	case NullValue: // whatever stands there, the type has no values
	case TextValue:
		if err := from.file.budget.checkRow("column "+from.leaf.path, int64(len(v.ByteArray()))); err != nil {
			return err
		}
		c.any.Text = string(v.ByteArray())
	case BoolValue:
		if v.Boolean() {
			c.any.Integer = 1
		}
	case TimeValue:
		if from.leaf.isDay() {
			c.any, err = dayOf(int64(v.Int32()))
		} else {
			c.any, err = timeOf(v.Int64(), from.leaf.perSecond())
		}
	case IntegerValue:
		c.any.Integer, err = from.leaf.integer(v)
	case FloatValue:
		c.any.Float = v.Double()
	default:
		c.any.Float, err = from.leaf.single(v)
	}
	return err
}

// single returns a value of 16 or 32 bits, NaN and the infinities among them.
func (l *parquetLeaf) single(v *parquet.Value) (float64, error) {
	if v.Kind() == parquet.Float {
		return float64(v.Float()), nil
	}
	return l.number(v)
}

// readTexts reads the next list of texts. A list that is null is told from an empty one by what is defined of it.
func (c *readCell) readTexts(from *parquetColumn) error {
	first, err := from.peek()
	if err == io.EOF {
		return errNull // the column is shorter than the file
	}
	if err != nil {
		return err
	}
	top := from.file.file.Root().Column(from.leaf.column.Path()[0])
	if top == nil {
		return fmt.Errorf("column %q is not in the schema", from.leaf.path)
	}
	null := top.Optional() && first.DefinitionLevel() == 0
	texts := c.any.Texts
	if err := from.list(func(v *parquet.Value) { texts = append(texts, string(v.ByteArray())) }); err != nil {
		return err
	}
	if c.any.Texts = texts; !null {
		c.any.Kind = ListValue
	}
	return nil
}
