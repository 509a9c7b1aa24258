package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// The npy format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
// A magic, a version, the length of a header, the header (a Python dictionary
// with descr, fortran_order and shape), the elements.

// npyHeader describes the array that follows it.
type npyHeader struct {
	descr   string // NumPy's type string, such as "<f4"
	big     bool
	fortran bool
	shape   []int64
	length  int64 // bytes from the magic to the first element
}

// maxNPYHeader is far above what NumPy writes, and accepts itself (10 000).
const maxNPYHeader = 1 << 20

func readNPYHeader(r io.Reader) (*npyHeader, error) {
	var fixed [12]byte
	if _, err := io.ReadFull(r, fixed[:8]); err != nil {
		return nil, fmt.Errorf("npy header: %w", cutShort(err))
	}
	if string(fixed[:6]) != "\x93NUMPY" {
		return nil, fmt.Errorf("not an npy file: it begins with %q", fixed[:6])
	}
	major, lengthSize := fixed[6], 2
	switch major {
	case 1:
	case 2, 3:
		lengthSize = 4
	default:
		return nil, fmt.Errorf("npy version %d.%d is not supported", major, fixed[7])
	}
	if _, err := io.ReadFull(r, fixed[8:8+lengthSize]); err != nil {
		return nil, fmt.Errorf("npy header: %w", cutShort(err))
	}
	n := int64(binary.LittleEndian.Uint32(fixed[8:]))
	if n > maxNPYHeader {
		return nil, fmt.Errorf("npy header of %d bytes exceeds the limit of %d", n, maxNPYHeader)
	}
	text, err := readGrowing(r, nil, n)
	if err != nil {
		return nil, fmt.Errorf("npy header: %w", cutShort(err))
	}
	h, err := parseNPYDict(text)
	if err != nil {
		return nil, fmt.Errorf("npy header: %w", err)
	}
	h.length = int64(8+lengthSize) + n
	return h, nil
}

// kind returns the kind of the elements, if they can be converted to float32.
func (h *npyHeader) kind() (kind, error) {
	if len(h.descr) < 2 {
		return 0, unsupportedType(h.descr)
	}
	switch h.descr {
	case "<V2": // NumPy's own types without meaning have no byte order
		return bf16, nil
	case "|V2":
		return 0, fmt.Errorf("dtype %q is two bytes without a meaning: they may be bfloat16, which the package ml_dtypes saves as \"<V2\" and array.view(ml_dtypes.bfloat16) makes them, or something else", h.descr)
	}
	switch h.descr[1:] {
	case "f2":
		return f16, nil
	case "f4":
		return f32, nil
	case "f8":
		return f64, nil
	case "i1":
		return i8, nil
	case "u1":
		return u8, nil
	case "i2":
		return i16, nil
	case "u2":
		return u16, nil
	case "i4":
		return i32, nil
	case "u4":
		return u32, nil
	case "i8":
		return i64, nil
	case "u8":
		return u64, nil
	}
	return 0, unsupportedType(h.descr)
}

func unsupportedType(descr string) error {
	return fmt.Errorf("dtype %q is not supported (float16, bfloat16, float32, float64 and integers of 8 to 64 bits are)", descr)
}

// wide reports whether the elements are integers of more than a byte, which are more often
// ids than vectors.
func (h *npyHeader) wide() bool {
	k, err := h.kind()
	return err == nil && k >= i32
}

// matrix returns rows and columns; one dimension is one row if the caller accepts that.
func (h *npyHeader) matrix(oneRow bool) (rows, dim int64, err error) {
	switch {
	case len(h.shape) == 2:
		return h.shape[0], h.shape[1], nil
	case len(h.shape) == 1 && oneRow:
		return 1, h.shape[0], nil
	case len(h.shape) == 1:
		n := h.shape[0]
		return 0, 0, fmt.Errorf("array is 1-dimensional with shape (%d,): it may be one vector of %d coordinates or %d vectors of one; reshape(1, -1) makes it the first, reshape(-1, 1) the second", n, n, n)
	}
	return 0, 0, fmt.Errorf("array is %d-dimensional with shape %v; a matrix is wanted", len(h.shape), h.shape)
}

func openNPY(src *source, opt Options) (Reader, error) {
	a := npyArray{name: src.name, r: src.r, at: src.at, size: src.size, memory: src.memory, shut: src, budget: src.budget, opt: opt}
	return a.open()
}

// npyArray is an npy file on its own or inside an npz.
type npyArray struct {
	name   string
	r      io.Reader
	at     io.ReaderAt   // nil for streams
	size   int64         // bytes from the magic on; -1 if unknown
	memory *bytes.Reader // of a stream in memory
	shut   io.Closer
	summed bool // the end of r verifies a checksum
	budget *Budget
	opt    Options
}

func (a *npyArray) open() (Reader, error) {
	h, err := readNPYHeader(a.r)
	if err != nil {
		return nil, located(a.name, -1, err)
	}
	if h.fortran && a.memory != nil {
		a.at, a.size = a.memory, a.memory.Size() // it must be read out of order
	}
	k, err := h.kind()
	if err != nil {
		return nil, located(a.name, -1, err)
	}
	rows, dim, err := h.matrix(a.opt.OneRow)
	if err != nil {
		return nil, located(a.name, -1, err)
	}
	if err := a.budget.checkShape(a.name, rows, dim); err != nil {
		return nil, err
	}
	have := int64(-1)
	if a.size >= 0 {
		have = a.size - h.length
	}
	if err := checkSize(a.name, rows, dim, k.size(), have); err != nil {
		return nil, err
	}
	d := &dense{
		name: a.name, r: a.r, shut: a.shut, kind: k, big: h.big,
		dim: int(dim), rows: rows, backed: a.size >= 0,
	}
	if h.fortran && rows > 1 && dim > 1 {
		return openFortran(a, d, h.length)
	}
	return newDense(d, a.opt)
}
