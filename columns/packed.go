package columns

import (
	"encoding/binary"
	"errors"
	"math"

	"thresher/dataset"
)

// Packed columns are values without names and types, which whoever keeps them knows. For each column, little endian:
//
//	the rows with a value, one bit a row, from the lowest bit on
//	the values of these rows: 8 bytes, int64 or float64; of a text 4 bytes of its length and the text; of a list 4 bytes of
//	the number of its texts and the texts

var errPacked = errors.New("the values of columns end within a value")

// Pack appends the values to b as Unpack reads them.
func (c *Columns) Pack(b []byte) []byte {
	for _, of := range c.of {
		at := len(b)
		b = append(b, make([]byte, (c.rows+7)/8)...)
		for row := range c.rows {
			v := of.Value(row)
			if v.Kind == dataset.NullValue {
				continue
			}
			b[at+row/8] |= 1 << (row % 8)
			switch of.Type {
			case Float, Single:
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float))
			case Text:
				b = packText(b, v.Text)
			case TextList:
				b = binary.LittleEndian.AppendUint32(b, uint32(len(v.Texts)))
				for _, text := range v.Texts {
					b = packText(b, text)
				}
			default:
				b = binary.LittleEndian.AppendUint64(b, uint64(v.Integer))
			}
		}
	}
	return b
}

func packText(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

// Unpack returns the columns of fields that b begins with, which have so many rows, and what follows them in b.
func Unpack(b []byte, fields []Field, rows int) (c *Columns, rest []byte, err error) {
	c = &Columns{rows: rows}
	u := &unpacking{b: b}
	for _, f := range fields {
		builder := newTyped(f)
		filled := u.take((rows + 7) / 8)
		for row := 0; row < rows && !u.short; row++ {
			v := null
			if filled[row/8]>>(row%8)&1 == 1 {
				v = u.value(f.Type)
			}
			_ = builder.add(&v) // of its type
		}
		if u.short {
			return nil, nil, errPacked
		}
		c.of = append(c.of, builder.typed(f.Type))
	}
	return c, u.b, nil
}

// unpacking is what is left of packed columns.
type unpacking struct {
	b     []byte
	short bool // it ended before
}

// take returns the next n bytes, nil if there are not so many.
func (u *unpacking) take(n int) []byte {
	if u.short = u.short || len(u.b) < n; u.short {
		return nil
	}
	taken := u.b[:n]
	u.b = u.b[n:]
	return taken
}

// count returns the next 4 bytes as a number.
func (u *unpacking) count() int {
	if b := u.take(4); b != nil {
		return int(binary.LittleEndian.Uint32(b))
	}
	return 0
}

// text returns the next text.
func (u *unpacking) text() string { return string(u.take(u.count())) }

// value returns the next value, which is of a type.
func (u *unpacking) value(t Type) dataset.Value {
	v := dataset.Value{Kind: t.Kind()}
	switch t {
	case Text:
		v.Text = u.text()
	case TextList:
		v.Texts = []string{}
		for n := u.count(); n > 0 && !u.short; n-- {
			v.Texts = append(v.Texts, u.text())
		}
	default:
		b := u.take(8)
		if b == nil {
			return null
		}
		if v.Integer = int64(binary.LittleEndian.Uint64(b)); t == Float || t == Single {
			v.Float, v.Integer = math.Float64frombits(uint64(v.Integer)), 0
		}
	}
	return v
}
