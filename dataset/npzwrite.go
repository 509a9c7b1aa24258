package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

const (
	// npzBuffer is small, since answers of few queries are written too.
	npzBuffer = 32 << 10
	// npzHeld bounds the bytes of arrays that are made in one pass over a table, and held meanwhile.
	npzHeld = 32 << 20
)

// writeNPZ writes an uncompressed npz with the facts, as arrays of no dimension, and an array for each column, none of which is JSON:
// [rows], or [rows, width] for lists.
func writeNPZ(out io.Writer, t *table) error {
	n := npzWriter{zip.NewWriter(out)}
	for _, f := range t.facts {
		if err := n.whole(f.name, f.array()); err != nil {
			return err
		}
	}
	if err := n.columns(t); err != nil {
		return err
	}
	return n.z.Close()
}

// columns writes the columns of a table, as many in a pass over it as npzHeld allows.
func (n npzWriter) columns(t *table) error {
	for i := 0; i < len(t.columns); {
		end, held := i+1, t.arraySize(i)
		for end < len(t.columns) && held+t.arraySize(end) <= npzHeld {
			held += t.arraySize(end)
			end++
		}
		var err error
		if end-i == 1 {
			err = n.array(t.columns[i].Name, t.columns[i].descr(), t.shape(i), func(w *bufio.Writer) error { return t.stream(w, i) })
		} else {
			err = n.several(t, i, end)
		}
		if err != nil {
			return err
		}
		i = end
	}
	return nil
}

// arraySize returns the bytes of column i, no more than its row takes if that is beyond npzHeld.
func (t *table) arraySize(i int) int64 {
	size := t.columns[i].elementSize()
	if t.columns[i].List {
		size *= t.width
	}
	if size > npzHeld {
		return size
	}
	return size * t.rows
}

// npzWriter writes arrays to an uncompressed npz.
type npzWriter struct{ z *zip.Writer }

// create begins an array. A fixed time stamp, zip's epoch, makes equal arrays equal bytes.
func (n npzWriter) create(name string) (io.Writer, error) {
	return n.z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)})
}

// whole writes an array that is in memory, with its header.
func (n npzWriter) whole(name string, content []byte) error {
	entry, err := n.create(name)
	if err == nil {
		_, err = entry.Write(content)
	}
	if err != nil {
		return fmt.Errorf("array %s: %w", name, err)
	}
	return nil
}

// array writes an array whose elements fill writes.
func (n npzWriter) array(name, descr string, shape []int64, fill func(w *bufio.Writer) error) error {
	entry, err := n.create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(entry, npzBuffer)
	w.Write(appendNPYHeader(nil, descr, shape...)) // an error is kept until the flush
	if err := fill(w); err != nil {
		return fmt.Errorf("array %s: %w", name, err)
	}
	return w.Flush()
}

// stream writes the elements of column i, in a pass of its own.
func (t *table) stream(w *bufio.Writer, i int) error {
	var element []byte
	return t.count(func(row []tableCell) error {
		element = appendElements(element[:0], &t.columns[i], &row[i], int(t.width))
		_, err := w.Write(element)
		return err
	})
}

// several writes the columns from begin to end, which it makes in one pass.
func (n npzWriter) several(t *table, begin, end int) error {
	arrays := make([][]byte, end-begin)
	for i := range arrays {
		c := &t.columns[begin+i]
		header := appendNPYHeader(nil, c.descr(), t.shape(begin+i)...)
		arrays[i] = append(make([]byte, 0, int64(len(header))+t.arraySize(begin+i)), header...)
	}
	err := t.count(func(row []tableCell) error {
		for i := range arrays {
			arrays[i] = appendElements(arrays[i], &t.columns[begin+i], &row[begin+i], int(t.width))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, content := range arrays {
		if err := n.whole(t.columns[begin+i].Name, content); err != nil {
			return err
		}
	}
	return nil
}

// count is each, and an error if there are not t.rows rows.
func (t *table) count(do func(row []tableCell) error) error {
	seen := int64(0)
	err := t.each(func(row []tableCell) error {
		if seen++; seen > t.rows {
			return fmt.Errorf("more than the %d rows that were announced", t.rows)
		}
		return do(row)
	})
	if err == nil && seen < t.rows {
		err = fmt.Errorf("%d rows, not %d", seen, t.rows)
	}
	return err
}

// shape is that of the array of column i.
func (t *table) shape(i int) []int64 {
	if t.columns[i].List {
		return []int64{t.rows, t.width}
	}
	return []int64{t.rows}
}

// descr is the dtype of the column's array.
func (c *Column) descr() string {
	switch c.Type {
	case Uint64:
		return "<u8"
	case Int32:
		return "<i4"
	case Float32:
		return "<f4"
	case Float64:
		return "<f8"
	case Bool:
		return "|b1"
	case Text:
		return "<U" + strconv.Itoa(max(1, c.Length))
	}
	return "<i8"
}

// elementSize is the bytes of an element of the column's array.
func (c *Column) elementSize() int64 {
	switch c.Type {
	case Bool:
		return 1
	case Int32, Float32:
		return 4
	case Text:
		return 4 * int64(max(1, c.Length))
	}
	return 8
}

// appendElements appends the elements of a cell, a list's padded to a width.
func appendElements(dst []byte, c *Column, of *tableCell, width int) []byte {
	if !c.List {
		return appendElement(dst, c, &of.value)
	}
	n := of.length(c)
	for i := range n {
		v := of.at(c, i)
		dst = appendElement(dst, c, &v)
	}
	none := value{integer: -1, float: math.Inf(-1)}
	for range width - n {
		dst = appendElement(dst, c, &none)
	}
	return dst
}

// appendElement appends a value.
func appendElement(dst []byte, c *Column, v *value) []byte {
	le := binary.LittleEndian
	switch {
	case c.hasTexts():
		return appendText(dst, c, v.text)
	case c.Type == Bool:
		return append(dst, byte(v.integer))
	case c.Type == Int32:
		return le.AppendUint32(dst, uint32(v.integer))
	case c.Type == Float32:
		return le.AppendUint32(dst, math.Float32bits(float32(v.float)))
	case c.Type == Float64:
		return le.AppendUint64(dst, math.Float64bits(v.float))
	}
	return le.AppendUint64(dst, uint64(v.integer))
}

// appendText appends a text as NumPy stores it, or the number of digits; the empty text is no number.
func appendText(dst []byte, c *Column, text string) []byte {
	if !c.Digits {
		return appendUCS4(dst, text, max(1, c.Length))
	}
	x, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		x = math.MaxUint64
	}
	return binary.LittleEndian.AppendUint64(dst, x)
}

// appendUCS4 appends a text as NumPy stores it: code points of four bytes, padded with zeros to a length.
func appendUCS4(dst []byte, text string, length int) []byte {
	for _, c := range text {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(c))
		length--
	}
	return append(dst, make([]byte, 4*length)...)
}

// array is the fact as an array of no dimension, with its header. JSON is bytes, since NumPy has no UTF-8.
func (f fact) array() []byte {
	switch f.typ {
	case Text:
		return appendUCS4(appendNPYHeader(nil, "<U"+strconv.Itoa(len(f.text))), f.text, len(f.text))
	case JSON:
		return append(appendNPYHeader(nil, "|S"+strconv.Itoa(len(f.text))), f.text...)
	}
	x, _ := strconv.ParseInt(f.text, 10, 64)
	return binary.LittleEndian.AppendUint64(appendNPYHeader(nil, "<i8"), uint64(x))
}
