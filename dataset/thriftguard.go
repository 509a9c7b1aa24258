package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// thriftWalk validates a structure of Thrift's compact protocol without decoding it
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
type thriftWalk struct {
	b       []byte
	i       int
	structs int // list elements that are structures, which are expensive
}

const maxThriftDepth = 32

// thriftLength checks nesting, lengths and counts of the structure at the start of b and
// returns its length in bytes.
func thriftLength(b []byte) (int, error) {
	w := &thriftWalk{b: b}
	err := w.structure(0)
	return w.i, err
}

func (w *thriftWalk) skip(n uint64) error {
	if n > uint64(len(w.b)-w.i) {
		w.i = len(w.b)
		return io.ErrUnexpectedEOF
	}
	w.i += int(n)
	return nil
}

func (w *thriftWalk) byte() (byte, error) {
	if w.i == len(w.b) {
		return 0, io.ErrUnexpectedEOF
	}
	w.i++
	return w.b[w.i-1], nil
}

func (w *thriftWalk) varint() (uint64, error) {
	v, n := binary.Uvarint(w.b[w.i:])
	if n == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	if n < 0 {
		return 0, errors.New("thrift: integer is too long")
	}
	w.i += n
	return v, nil
}

func (w *thriftWalk) structure(depth int) error {
	if depth > maxThriftDepth {
		return fmt.Errorf("thrift: nested deeper than %d", maxThriftDepth)
	}
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 {
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if t := head & 15; t > 2 { // booleans are in the header
			if err := w.value(t, depth+1); err != nil {
				return err
			}
		}
	}
}

func (w *thriftWalk) value(t byte, depth int) error {
	switch t {
	case 1, 2, 3:
		return w.skip(1)
	case 4, 5, 6:
		_, err := w.varint()
		return err
	case 7:
		return w.skip(8)
	case 8:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case 9, 10:
		return w.list(depth)
	case 11:
		return w.pairs(depth)
	case 12:
		return w.structure(depth)
	case 13:
		return w.skip(16)
	}
	return fmt.Errorf("thrift: unknown type %d", t)
}

func (w *thriftWalk) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n, t := uint64(head>>4), head&15
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	return w.elements(n, depth, t)
}

func (w *thriftWalk) pairs(depth int) error {
	n, err := w.varint()
	if err != nil || n == 0 {
		return err
	}
	types, err := w.byte()
	if err != nil {
		return err
	}
	return w.elements(n, depth, types>>4, types&15)
}

func (w *thriftWalk) elements(n uint64, depth int, types ...byte) error {
	if depth > maxThriftDepth {
		return fmt.Errorf("thrift: nested deeper than %d", maxThriftDepth)
	}
	if n > uint64(len(w.b)-w.i) {
		return fmt.Errorf("thrift: list of %d elements: %w", n, io.ErrUnexpectedEOF)
	}
	// An empty structure takes one byte here and hundreds when decoded; Parquet's take at
	// least three.
	if types[0] == 12 {
		if w.structs += int(n); w.structs > 16+len(w.b)/3 {
			return fmt.Errorf("thrift: %d structures in %d bytes", w.structs, len(w.b))
		}
	}
	for range n {
		for _, t := range types {
			if err := w.value(t, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
