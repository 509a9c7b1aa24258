package folder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"thresher/columns"
	"thresher/dataset"
)

const (
	upsertKind  = 1
	deleteKind  = 2
	roundedKind = 3 // an upsert of rows that rounding has changed
	// keyed is added to the kind of a write that has an idempotency key. Programs that know none refuse it.
	keyed = 16
)

// rowForm is how rows are in a log.
type rowForm struct {
	dim    int
	elem   dataset.Elem
	fields []columns.Field
}

// appendChange appends a write, which was checked, to a payload.
func (form *rowForm) appendChange(b []byte, c *Change) []byte {
	kind, texts, described := byte(upsertKind), byte(0), byte(0)
	switch {
	case c.Deletes():
		kind = deleteKind
	case c.Rounding != (dataset.Change{}):
		kind = roundedKind
	}
	n := c.IDs.Len()
	if c.IDs.Textual() {
		texts = 1
	}
	if c.Columns != nil {
		described = 1
	}
	written := kind
	if c.Key != nil {
		written |= keyed
	}
	b = append(b, written, texts, described, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	for row := range int64(n) {
		if texts == 0 {
			b = binary.LittleEndian.AppendUint64(b, c.IDs.Number(row))
			continue
		}
		id := c.IDs.Text(row)
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(id))), id...)
	}
	b = padded(b)
	if kind != deleteKind {
		b = form.appendVectors(b, c)
	}
	if c.Key != nil {
		b = appendKey(b, c.Key)
	}
	return b
}

// appendVectors appends the vectors of an upsert, with what describes them.
func (form *rowForm) appendVectors(b []byte, c *Change) []byte {
	if c.Rounding != (dataset.Change{}) {
		b = appendRounding(b, c.Rounding)
	}
	for _, x := range c.Rows64 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	b = padded(appendRows(b, c.Rows, form.elem))
	if c.Columns != nil {
		b = padded(c.Columns.Pack(b))
	}
	return b
}

// appendRows appends values of a type that float32 has all values of.
func appendRows(b []byte, rows []float32, elem dataset.Elem) []byte {
	if elem == dataset.ElemFloat32 {
		for _, x := range rows {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return b
	}
	at := len(b)
	b = append(b, make([]byte, len(rows)*elem.Size())...)
	elem.Encode(b[at:], rows) // package collection is for processors of this byte order only
	return b
}

// readRows reads n rows that appendChange has appended to c.
func (form *rowForm) readRows(c *Change, b []byte, n int) (err error) {
	if form.elem != dataset.ElemFloat64 {
		c.Rows, err = form.readNarrow(b, n)
		return err
	}
	c.Rows64 = make([]float64, n*form.dim)
	for i := range c.Rows64 {
		c.Rows64[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return nil
}

// readNarrow reads n rows that appendRows has appended.
func (form *rowForm) readNarrow(b []byte, n int) ([]float32, error) {
	rows := make([]float32, n*form.dim)
	if form.elem == dataset.ElemFloat32 {
		for i := range rows {
			rows[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		return rows, nil
	}
	v, err := dataset.NewVectors(form.elem, form.dim, b[:len(rows)*form.elem.Size()])
	if err == nil {
		v.Read32(rows, 0)
	}
	return rows, err
}

// roundingBytes is what rounding takes in a write.
const roundingBytes = 16

func appendRounding(b []byte, c dataset.Change) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Values))
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(c.Largest))
}

// readRounding reads what appendRounding has appended at b[at:], and returns where it ends.
func readRounding(b []byte, at int) (c dataset.Change, next int, err error) {
	if len(b)-at < roundingBytes {
		return c, at, errShort
	}
	c.Values = int64(binary.LittleEndian.Uint64(b[at:]))
	c.Largest = math.Float64frombits(binary.LittleEndian.Uint64(b[at+8:]))
	if err := checkRounding(c); err != nil {
		return c, at, err
	}
	return c, at + roundingBytes, nil
}

// checkRounding refuses what no rounding has changed.
func checkRounding(c dataset.Change) error {
	if c.Values < 0 || !(c.Largest >= 0) || math.IsInf(c.Largest, 0) {
		return fmt.Errorf("rounding that changed %d values by %v at most", c.Values, c.Largest)
	}
	return nil
}

var errShort = errors.New("it ends within a write")

// decodeChange returns the write that b begins with, and what follows it. The write has memory of its own.
func (form *rowForm) decodeChange(b []byte) (c *Change, rest []byte, err error) {
	if len(b) < 8 {
		return nil, nil, errShort
	}
	kind, texts, described, n, at := b[0]&^keyed, b[1], b[2], int(binary.LittleEndian.Uint32(b[4:])), 8
	if kind != upsertKind && kind != deleteKind && kind != roundedKind || texts > 1 || described > 1 {
		return nil, nil, fmt.Errorf("a write of unknown kind %d, %d", b[0], texts)
	}
	c = &Change{}
	if texts == 0 {
		if len(b)-at < 8*n {
			return nil, nil, errShort
		}
		numbers := make([]uint64, n)
		for i := range numbers {
			numbers[i] = binary.LittleEndian.Uint64(b[at+8*i:])
		}
		c.IDs, at = dataset.IDsOf(numbers), at+8*n
	} else {
		var ids dataset.IDsBuilder
		ids.BecomeTexts()
		for range n {
			if len(b)-at < 4 {
				return nil, nil, errShort
			}
			length := int(binary.LittleEndian.Uint32(b[at:]))
			if at += 4; len(b)-at < length {
				return nil, nil, errShort
			}
			ids.AddText(string(b[at : at+length]))
			at += length
		}
		c.IDs = ids.IDs()
	}
	at = (at + 7) &^ 7
	if kind == roundedKind {
		if c.Rounding, at, err = readRounding(b, at); err != nil {
			return nil, nil, err
		}
	}
	if kind != deleteKind {
		size := form.dim * form.elem.Size()
		if at > len(b) || (len(b)-at)/size < n {
			return nil, nil, errShort
		}
		if err = form.readRows(c, b[at:], n); err != nil {
			return nil, nil, err
		}
		if at = (at + n*size + 7) &^ 7; described == 1 {
			var left []byte
			if c.Columns, left, err = columns.Unpack(b[min(at, len(b)):], form.fields, n); err != nil {
				return nil, nil, err
			}
			at = (len(b) - len(left) + 7) &^ 7
		}
	}
	if b[0]&keyed != 0 {
		if c.Key, at, err = decodeKey(b, at); err != nil {
			return nil, nil, err
		}
	}
	if at > len(b) {
		return nil, nil, errShort
	}
	return c, b[at:], nil
}
