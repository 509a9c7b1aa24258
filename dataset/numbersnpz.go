package dataset

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// numbersNPZ reads arrays of one dimension in parallel.
type numbersNPZ struct {
	*source
	arrays     []numberArray
	rows, next int64
	list       []float64
	err        error
}

// numberArray is one array of numbers.
type numberArray struct {
	name string // with the file
	r    *bufio.Reader
	kind kind
	big  bool
	buf  []byte
}

func openNumbersNPZ(src *source, columns []string) (NumberReader, error) {
	entries, err := listNPZ(src)
	if err != nil {
		return nil, err
	}
	n := &numbersNPZ{source: src, rows: -1}
	for _, name := range columns {
		e, err := chooseArray(src.name, entries, []string{name})
		if err != nil {
			return nil, err
		}
		if e == nil {
			return nil, fail(src.name, "no array %q; the file holds %s", name, listed(entryNames(entries)))
		}
		a := numberArray{name: src.name + ":" + name, big: e.header.big}
		if len(e.header.shape) != 1 {
			return nil, fail(a.name, "array has shape %v, one number a row is wanted", e.header.shape)
		}
		if a.kind, err = e.header.kind(); err != nil {
			return nil, fail(a.name, "%w", err)
		}
		if n.rows >= 0 && n.rows != e.header.shape[0] {
			return nil, fail(a.name, "%d rows where %s has %d", e.header.shape[0], columns[0], n.rows)
		}
		n.rows = e.header.shape[0]
		r, err := e.file.Open()
		if err != nil {
			return nil, fail(a.name, "%w", err)
		}
		src.shut = append([]io.Closer{r}, src.shut...)
		a.r = bufio.NewReader(r)
		if _, err := readNPYHeader(a.r); err != nil {
			return nil, fail(a.name, "%w", err)
		}
		n.arrays = append(n.arrays, a)
	}
	return n, nil
}

func (n *numbersNPZ) Next() ([]float64, error) {
	if n.err == nil && n.next == n.rows {
		n.err = n.finish()
	}
	if n.err != nil {
		return nil, n.err
	}
	n.list = n.list[:0]
	for i := range n.arrays {
		a := &n.arrays[i]
		v, err := a.read()
		if err != nil {
			n.err = failAt(a.name, n.next, -1, "%w", err)
			return nil, n.err
		}
		n.list = append(n.list, v)
	}
	n.next++
	return n.list, nil
}

func (a *numberArray) read() (v float64, err error) {
	if a.buf, err = readGrowing(a.r, a.buf, int64(a.kind.size())); err != nil {
		return 0, cutShort(err)
	}
	if a.big {
		swapBytes(a.buf, a.kind.size())
	}
	switch a.kind {
	case f64:
		return finiteNumber(math.Float64frombits(binary.LittleEndian.Uint64(a.buf)))
	case f32, f16:
		var x [1]float32
		if a.kind.decode(x[:], a.buf) >= 0 {
			return 0, a.kind.refusal(a.buf)
		}
		return float64(x[0]), nil
	}
	return wholeNumber(a.kind.integer(a.buf))
}

// finish checks that nothing is left, and lets zip verify its checksums.
func (n *numbersNPZ) finish() error {
	for i := range n.arrays {
		a := &n.arrays[i]
		if _, err := a.r.ReadByte(); err == nil {
			return fail(a.name, "data goes on after the %d rows that the header announces", n.rows)
		} else if err != io.EOF {
			return fail(a.name, "%w", fmt.Errorf("after the last row: %w", cutShort(err)))
		}
	}
	return io.EOF
}
