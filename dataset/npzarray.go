package dataset

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// npzArray streams the elements of one array of an npz, or of an npy, in C order.
type npzArray struct {
	name   string // with the file
	header *npyHeader
	r      *bufio.Reader
	form   byte // NumPy's: b, i, u, f, S or U
	kind   kind // of numbers
	size   int  // bytes of an element
	unit   int  // bytes of what has a byte order
	cols   int64
	buf    []byte
	ints   []int64 // of elements
	meter  idMeter
}

// newNPZArray describes an array, which begins at r once its checks are made.
func newNPZArray(name string, h *npyHeader, b *Budget) *npzArray {
	a := &npzArray{name: name, header: h, cols: 1, meter: idMeter{budget: b, passing: true}}
	if len(h.descr) > 2 {
		a.form = h.descr[1]
		if n, err := strconv.Atoi(h.descr[2:]); err == nil && n > 0 && n <= math.MaxInt32 {
			a.size, a.unit = n, n // 0 is refused by every check
		}
	}
	switch a.form {
	case 'S':
		a.unit = 1
	case 'U':
		a.size, a.unit = 4*a.size, 4
	}
	a.kind, _ = h.kind() // 0 for what are no numbers
	return a
}

// array describes the array of an entry.
func (e *npzEntry) array(src *source) *npzArray {
	if e.file == nil { // an npy
		return newNPZArray(src.name, e.header, src.budget)
	}
	return newNPZArray(src.name+":"+e.name, e.header, src.budget)
}

// open goes to the first element of the array of e, which src closes.
func (a *npzArray) open(src *source, e *npzEntry) error {
	if a.r = src.r; e.file == nil { // an npy, whose header was read
		if src.size < 0 {
			return nil
		}
		return checkSize(a.name, e.header.shape[0], a.cols, a.size, src.size-e.header.length)
	}
	r, err := e.file.Open()
	if err != nil {
		return fail(a.name, "%w", err)
	}
	src.shut = append([]io.Closer{r}, src.shut...)
	a.r = bufio.NewReaderSize(r, 64<<10)
	if _, err := a.r.Discard(int(e.header.length)); err != nil {
		return fail(a.name, "%w", cutShort(err))
	}
	return nil
}

// idTypes are the dtypes of ids that are integers.
const idTypes = "i8 i4 u4 u8"

// checkType refuses other dtypes than those listed.
func (a *npzArray) checkType(types string) error {
	if d := a.header.descr; len(d) != 3 || !strings.Contains(" "+types+" ", " "+d[1:]+" ") {
		return fail(a.name, "dtype %q is not one of %s", d, types)
	}
	return nil
}

// checkShape refuses other arrays than those of dims dimensions in C order whose rows fit the budget, and notes what
// a row has.
func (a *npzArray) checkShape(dims int) error {
	h := a.header
	if len(h.shape) != dims || h.fortran && dims > 1 {
		return fail(a.name, "array has shape %v (Fortran order %v), %d dimensions in C order are wanted", h.shape, h.fortran, dims)
	}
	if dims == 2 {
		a.cols = h.shape[1]
	}
	if _, ok := product(h.shape[0], a.cols, int64(a.size)); !ok || a.cols < 1 {
		return fail(a.name, "shape %v cannot be that of results", h.shape)
	}
	if err := a.meter.budget.checkRow("a row", a.cols*int64(a.size)); err != nil {
		return fail(a.name, "%w", err)
	}
	return nil
}

// isText reports whether the elements are texts.
func (a *npzArray) isText() bool { return a.form == 'S' || a.form == 'U' }

// isInteger reports whether the elements are integers.
func (a *npzArray) isInteger() bool { return a.kind == i8 || a.kind == u8 || a.kind >= i32 }

// checkIDs refuses elements that cannot be ids: others than integers and texts, or longer ones than there may be.
func (a *npzArray) checkIDs() error {
	if a.isInteger() {
		return nil
	}
	if a.size < 1 || !a.isText() {
		return fmt.Errorf("dtype %q: ids are integers or texts of fixed length", a.header.descr)
	}
	if b, length := a.meter.budget, int64(a.size/a.unit); length > b.IDBytes {
		return &LimitError{fmt.Sprintf("dtype %q: ids of %d characters, at most %d", a.header.descr, length, b.IDBytes), b.IDBytes, b.IDWord}
	}
	return nil
}

// read reads n elements into buf, little-endian.
func (a *npzArray) read(n int64) (err error) {
	if a.size*int(min(n, 8)) <= 8 { // a number a row: the call of a reader would take longer than the number
		var b []byte
		b, err = a.r.Peek(a.size * int(n))
		a.buf = append(a.buf[:0], b...)
		_, _ = a.r.Discard(len(b)) // they are there
	} else {
		a.buf, err = readGrowing(a.r, a.buf, n*int64(a.size))
	}
	if err != nil {
		return cutShort(err)
	}
	if a.header.big {
		swapBytes(a.buf, a.unit)
	}
	return nil
}

// elements reads n integers, of which the first is element at; the slice is valid until the
// following call.
func (a *npzArray) elements(at, n int64) (list []int64, err error) {
	if err := a.meter.budget.checkRow("a row", n*int64(a.size)); err != nil {
		return nil, failAt(a.name, at, -1, "%w", err)
	}
	if err := a.read(n); err != nil {
		return nil, failAt(a.name, at, -1, "%w", err)
	}
	a.ints = sized(a.ints, int(n))
	for j := range a.ints {
		if a.ints[j] = a.int(j); a.form == 'u' && a.ints[j] < 0 {
			return nil, failAt(a.name, at+int64(j), -1, "the integer does not fit int64, or is the padding -1")
		}
	}
	return a.ints, nil
}

// id reads the next element as an id.
func (a *npzArray) id() (string, error) {
	if err := a.read(1); err != nil {
		return "", err
	}
	text, err := a.text(a.buf)
	if err == nil {
		err = a.meter.add(len(text))
	}
	return text, err
}

// text returns an element as a text, in digits if it is an integer.
func (a *npzArray) text(b []byte) (string, error) {
	switch a.form {
	case 'S':
		if b = bytes.TrimRight(b, "\x00"); !utf8.Valid(b) {
			return "", fmt.Errorf("id %.40q is no UTF-8", b)
		}
		return string(b), nil
	case 'U':
		return ucs4(b)
	}
	size, negative := a.kind.integer(b)
	if negative {
		return "-" + strconv.FormatUint(size, 10), nil
	}
	return strconv.FormatUint(size, 10), nil
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

// number reads the next element as a finite number.
func (a *npzArray) number() (float64, error) {
	if err := a.read(1); err != nil {
		return 0, err
	}
	switch a.kind {
	case f64:
		return finiteNumber(a.double(0))
	case f32, f16:
		var x [1]float32
		if a.kind.decode(x[:], a.buf) >= 0 {
			return 0, a.kind.refusal(a.buf)
		}
		return float64(x[0]), nil
	}
	return wholeNumber(a.kind.integer(a.buf))
}

// int returns element j of those read, of idTypes. The greatest unsigned integer is -1, the padding, as NumPy
// converts it.
func (a *npzArray) int(j int) int64 {
	if a.size == 8 {
		return int64(binary.LittleEndian.Uint64(a.buf[8*j:]))
	}
	v := binary.LittleEndian.Uint32(a.buf[4*j:])
	if a.form == 'u' && v != math.MaxUint32 {
		return int64(v)
	}
	return int64(int32(v))
}

// float returns element j of those read, of float32 or float64.
func (a *npzArray) float(j int) float32 {
	if a.size == 4 {
		return math.Float32frombits(binary.LittleEndian.Uint32(a.buf[4*j:]))
	}
	return float32(a.double(j))
}

// double returns element j of those read, of float64.
func (a *npzArray) double(j int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(a.buf[8*j:]))
}

// finish checks that nothing follows the elements that were read, and lets zip verify its checksum. after says
// what these are.
func (a *npzArray) finish(after string) error {
	switch _, err := a.r.ReadByte(); err {
	case nil:
		return fail(a.name, "data goes on after the %s that the header announces", after)
	case io.EOF:
		return nil
	default:
		return fail(a.name, "after the last row: %w", cutShort(err))
	}
}

// errNoText is why an array is no fact.
var errNoText = errors.New("a text is wanted")

// undamaged verifies the checksum of an array that is not read because its header says that it is another's. An array of more than one element
// is taken for such.
func (e *npzEntry) undamaged(src *source) error {
	if e.file == nil || len(e.header.shape) > 0 || e.file.UncompressedSize64 > streamBuffer {
		return nil
	}
	a := e.array(src)
	if err := a.open(src, e); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, a.r); err != nil {
		return fail(a.name, "%w", cutShort(err))
	}
	return nil
}

// text returns the one text or integer of an array without dimensions. JSON may take a row of the budget.
func (e *npzEntry) text(src *source) (string, error) {
	a := e.array(src)
	if len(e.header.shape) > 0 || !a.isText() && !a.isInteger() {
		if err := e.undamaged(src); err != nil { // then it may be one
			return "", err
		}
		return "", fmt.Errorf("dtype %q, shape %v: %w", e.header.descr, e.header.shape, errNoText)
	}
	if err := src.budget.checkRow("the text", int64(a.size)); err != nil {
		return "", err
	}
	if err := a.open(src, e); err != nil {
		return "", err
	}
	if err := a.read(1); err != nil {
		return "", err
	}
	text, err := a.text(a.buf)
	if err != nil {
		return "", err
	}
	return text, a.finish("text")
}
