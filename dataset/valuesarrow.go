package dataset

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// isArrowText reports whether values are texts.
func isArrowText(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	}
	return false
}

// isArrowValue reports whether values of a type describe rows.
func isArrowValue(t arrow.DataType) bool {
	switch of := t.(type) {
	case *arrow.DictionaryType:
		return isArrowText(of.ValueType)
	case *arrow.MapType:
		return false
	case arrow.ListLikeType:
		return isArrowText(of.Elem())
	}
	switch t.ID() {
	case arrow.BOOL, arrow.TIMESTAMP, arrow.DATE32, arrow.DATE64, arrow.NULL:
		return true
	}
	return isArrowText(t) || arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID())
}

// readArrow reads element i of a column as what it is.
func (c *readCell) readArrow(column arrow.Array, i int) (err error) {
	c.any = Value{Texts: c.any.Texts[:0]}
	if column.IsNull(i) {
		return nil
	}
	switch of := column.(type) {
	case *array.Null:
		return nil
	case *array.Boolean:
		if c.any.Kind = BoolValue; of.Value(i) {
			c.any.Integer = 1
		}
	case *array.Dictionary:
		at := of.GetValueIndex(i)
		if at < 0 || at >= of.Dictionary().Len() {
			return fmt.Errorf("index %d of a dictionary of %d texts", at, of.Dictionary().Len())
		}
		return c.readArrow(of.Dictionary(), at)
	case *array.Timestamp:
		c.any, err = timeOf(int64(of.Value(i)), perSecond(of.DataType().(*arrow.TimestampType).Unit))
	case *array.Date32:
		c.any, err = dayOf(int64(of.Value(i)))
	case *array.Date64:
		c.any, err = timeOf(int64(of.Value(i)), millis)
	case *array.Uint64:
		c.any, err = unsignedValue(of.Value(i))
	case *array.Int64:
		c.any = Value{Kind: IntegerValue, Integer: of.Value(i)}
	case *array.Float64:
		c.any = Value{Kind: FloatValue, Float: of.Value(i)}
	case *array.Float32:
		c.any = Value{Kind: SingleValue, Float: float64(of.Value(i))}
	case *array.Float16:
		c.any = Value{Kind: SingleValue, Float: float64(of.Value(i).Float32())}
	case array.ListLike:
		return c.readArrowTexts(of, i)
	default:
		return c.readArrowOther(column, i)
	}
	return err
}

// readArrowOther reads texts and integers of fewer bits.
func (c *readCell) readArrowOther(column arrow.Array, i int) error {
	if isArrowText(column.DataType()) {
		c.any.Kind, c.any.Text = TextValue, arrowText(column, i)
		return nil
	}
	v, err := arrowNumber(column, i) // exact up to 32 bits
	c.any.Kind, c.any.Integer = IntegerValue, int64(v)
	return err
}

// arrowText returns a copy of a text.
func arrowText(column arrow.Array, i int) string {
	return string([]byte(column.(interface{ Value(int) string }).Value(i)))
}

func (c *readCell) readArrowTexts(list array.ListLike, i int) error {
	begin, end := list.ValueOffsets(i)
	texts := list.ListValues()
	if begin < 0 || end < begin || end > int64(texts.Len()) {
		return fmt.Errorf("a list from %d to %d of %d texts", begin, end, texts.Len())
	}
	c.any.Kind = ListValue
	for at := begin; at < end; at++ {
		if !texts.IsNull(int(at)) {
			c.any.Texts = append(c.any.Texts, arrowText(texts, int(at)))
		}
	}
	return nil
}

// perSecond is how many of a unit a second has.
func perSecond(u arrow.TimeUnit) int64 {
	return [...]int64{seconds, millis, micros, nanos}[u]
}
