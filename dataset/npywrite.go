package dataset

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
)

// Writers of float32 matrices. data is row-major with rows*dim elements and is not
// retained. Values are written unchecked: reading a file with NaN fails.

// WriteNPY writes a 2-d npy (version 1, "<f4", C order).
func WriteNPY(w io.Writer, rows, dim int, data []float32) error {
	if err := checkData(rows, dim, data); err != nil {
		return err
	}
	if _, err := w.Write(appendNPYHeader(nil, "<f4", int64(rows), int64(dim))); err != nil {
		return err
	}
	return writeFloats(w, data)
}

// WriteNPY64 writes numbers as WriteNPY does if float32 holds them all, and else as float64 ("<f8").
func WriteNPY64(w io.Writer, rows, dim int, data []float64) error {
	if rows < 0 || dim < 1 || len(data) != rows*dim {
		return fmt.Errorf("%d values are not %d rows of %d columns", len(data), rows, dim)
	}
	descr, size := "<f4", 4
	if !HoldsAll(data) {
		descr, size = "<f8", 8
	}
	if _, err := w.Write(appendNPYHeader(nil, descr, int64(rows), int64(dim))); err != nil {
		return err
	}
	b := make([]byte, 0, min(streamBuffer, len(data)*size))
	for i, x := range data {
		if size == 4 {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		} else {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		if len(b)+8 > cap(b) || i == len(data)-1 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	return nil
}

// writeNPY writes the one column of a table.
func writeNPY(out io.Writer, t *table) error {
	w := bufio.NewWriterSize(out, streamBuffer)
	w.Write(appendNPYHeader(nil, t.columns[0].descr(), t.shape(0)...)) // an error is kept until the flush
	if err := t.stream(w, 0); err != nil {
		return err
	}
	return w.Flush()
}

func checkData(rows, dim int, data []float32) error {
	if rows < 1 || dim < 1 || dim > math.MaxInt32 || uint64(rows) > math.MaxUint32 {
		return fmt.Errorf("matrix of %d rows and %d columns cannot be written", rows, dim)
	}
	if n, ok := product(int64(rows), int64(dim)); !ok || n != int64(len(data)) {
		return fmt.Errorf("%d elements are not %d rows of %d columns", len(data), rows, dim)
	}
	return nil
}

func writeFloats(w io.Writer, data []float32) error {
	buf := make([]byte, 0, min(4*len(data), 64<<10))
	for len(data) > 0 {
		n := min(len(data), cap(buf)/4)
		buf = buf[:0]
		for _, v := range data[:n] {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// appendNPYHeader pads to a multiple of 64 bytes, as NumPy does, so that the elements are
// aligned when the file is mapped.
func appendNPYHeader(dst []byte, descr string, shape ...int64) []byte {
	var tuple strings.Builder
	for _, n := range shape {
		fmt.Fprintf(&tuple, "%d, ", n)
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, strings.TrimSuffix(tuple.String(), " "))
	pad := (64 - (10+len(dict)+1)%64) % 64
	dst = append(dst, "\x93NUMPY\x01\x00"...)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(dict)+pad+1))
	dst = append(dst, dict...)
	for range pad {
		dst = append(dst, ' ')
	}
	return append(dst, '\n')
}
