package dataset

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// npzNamed is a matrix of an npz with the ids of its rows from another array.
type npzNamed struct {
	Reader
	source string // name of the array of ids
	name   string // the same with the file
	r      *bufio.Reader
	shut   io.Closer
	big    bool
	size   int // bytes of one id
	unit   int // bytes of the unit that has a byte order
	print  func(b []byte) (string, error)
	buf    []byte
	ids    []string
	meter  idMeter
	row    int64
	err    error
}

// named adds the ids of an array to the rows of r.
func (e *npzEntry) named(src *source, r Reader) (Reader, error) {
	name := src.name + ":" + e.name
	h := e.header
	if len(h.shape) != 1 || r.Len() >= 0 && h.shape[0] != r.Len() {
		return nil, fail(name, "ids are one a row, an array of shape (%d,); this one's is %v", r.Len(), h.shape)
	}
	n := &npzNamed{Reader: r, source: e.name, name: name, big: h.big, meter: idMeter{budget: src.budget}}
	if err := n.kind(h); err != nil {
		return nil, located(name, -1, err)
	}
	f, err := e.file.Open()
	if err != nil {
		return nil, fail(name, "%w", err)
	}
	n.shut, n.r = f, bufio.NewReaderSize(f, streamBuffer)
	if _, err := n.r.Discard(int(h.length)); err != nil {
		f.Close()
		return nil, fail(name, "%w", cutShort(err))
	}
	return n, nil
}

// kind determines how the ids are formatted.
func (n *npzNamed) kind(h *npyHeader) error {
	k, err := h.kind()
	if err == nil && (k >= i32 || k == i8 || k == u8) {
		n.size, n.unit = k.size(), k.size()
		n.print = func(b []byte) (string, error) {
			size, negative := k.integer(b)
			if negative {
				return "-" + strconv.FormatUint(size, 10), nil
			}
			return strconv.FormatUint(size, 10), nil
		}
		return nil
	}
	length, err := strconv.Atoi(strings.TrimLeft(h.descr, "<>|=US"))
	if err != nil || length < 1 || len(h.descr) < 2 {
		return fmt.Errorf("dtype %q: ids are integers or texts of fixed length", h.descr)
	}
	if b := n.meter.budget; int64(length) > b.IDBytes {
		return &LimitError{fmt.Sprintf("dtype %q: ids of %d characters, at most %d", h.descr, length, b.IDBytes), b.IDBytes, b.IDWord}
	}
	switch h.descr[1] {
	case 'S':
		n.size, n.unit, n.print = length, 1, func(b []byte) (string, error) {
			b = bytes.TrimRight(b, "\x00")
			if !utf8.Valid(b) {
				return "", fmt.Errorf("id %.40q is no UTF-8", b)
			}
			return string(b), nil
		}
	case 'U':
		n.size, n.unit, n.print = 4*length, 4, ucs4
	default:
		return fmt.Errorf("dtype %q: ids are integers or texts of fixed length", h.descr)
	}
	return nil
}

// ucs4 decodes a NumPy text: code points of four bytes, padded with zeros.
func ucs4(b []byte) (string, error) {
	var s strings.Builder
	for ; len(b) > 0; b = b[4:] {
		c := binary.LittleEndian.Uint32(b)
		if c == 0 {
			break
		}
		if c > utf8.MaxRune || !utf8.ValidRune(rune(c)) {
			return "", fmt.Errorf("id has %#x, no character", c)
		}
		s.WriteRune(rune(c))
	}
	return s.String(), nil
}

func (n *npzNamed) IDs() []string { return n.ids }

func (n *npzNamed) Read(dst []float32) (int, error) {
	n.ids = n.ids[:0]
	n.meter.begin()
	if n.err != nil {
		return 0, n.err
	}
	rows, err := n.Reader.Read(dst[:min(len(dst), n.most())])
	for i := range rows {
		id, e := n.id()
		if e != nil {
			n.err = failAt(n.name, n.row, -1, "%w", cutShort(e))
			return i, n.err
		}
		n.ids = append(n.ids, id)
		n.row++
	}
	return rows, err
}

// most returns how many values Read may read, so that the ids of their rows take no more than they may.
func (n *npzNamed) most() int {
	rows := max(1, n.meter.budget.Flight/int64(n.size+idHeader))
	return int(min(rows, math.MaxInt32)) * n.Dim()
}

func (n *npzNamed) id() (string, error) {
	var err error
	if n.buf, err = readGrowing(n.r, n.buf, int64(n.size)); err != nil {
		return "", err
	}
	if n.big {
		swapBytes(n.buf, n.unit)
	}
	text, err := n.print(n.buf)
	if err == nil {
		err = n.meter.add(len(text))
	}
	return text, err
}

func (n *npzNamed) layout() Layout {
	l := LayoutOf(n.Reader)
	l.IDs = n.source
	return l
}
func (n *npzNamed) narrowing() *narrowed { return narrowingOf(n.Reader) }

func (n *npzNamed) Close() error {
	n.shut.Close()
	return n.Reader.Close()
}
