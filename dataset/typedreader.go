package dataset

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
	"unsafe"
)

// elem returns the type in which elements of a kind are kept. That of wide integers is none: they are read
// as float64, which is rounded.
func (k kind) elem() (e Elem, ok bool) {
	switch k {
	case f16:
		return ElemFloat16, true
	case bf16:
		return ElemBFloat16, true
	case f32, i16, u16: // float32 holds the integers
		return ElemFloat32, true
	case f64:
		return ElemFloat64, true
	case i8:
		return ElemInt8, true
	case u8:
		return ElemUint8, true
	}
	return 0, false
}

// MarshalText returns the name of the type.
func (e Elem) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText is ParseElem.
func (e *Elem) UnmarshalText(name []byte) (err error) {
	*e, err = ParseElem(string(name))
	return err
}

// TypeOf returns the name of the type of the elements that a Reader of a file has read from it, such as
// float16 or int32, "text" for numbers in text, and "" for a Reader of another package.
func TypeOf(r Reader) string {
	if n := narrowingOf(r); n != nil {
		return typeName(n.reader())
	}
	if own, ok := r.(*typed); ok {
		return typeName(own.Reader)
	}
	return typeName(r)
}

func typeName(r Reader) string {
	if e, ok := r.(interface{ element() kind }); ok && e.element() != 0 {
		return e.element().String()
	}
	if w, ok := r.(wideReader); ok && w.isWide() {
		return "text"
	}
	return ""
}

// typed is a Reader of elements that float32 holds, which hands them on in their type.
type typed struct {
	Reader
	elem  Elem
	block []float32
}

// typedOf returns r as a TypedReader, if its elements are of a type.
func typedOf(r Reader) Reader {
	if e, ok := kindOf(r).elem(); ok {
		return &typed{Reader: r, elem: e}
	}
	return r
}

func (t *typed) layout() Layout { return LayoutOf(t.Reader) }

func (t *typed) justified() bool {
	p, ok := t.Reader.(interface{ justified() bool })
	return ok && p.justified()
}

// Elem is that of TypedReader.
func (t *typed) Elem() Elem { return t.elem }

// ReadTyped is that of TypedReader.
func (t *typed) ReadTyped(dst []byte) (int, error) {
	return readTyped(t.Reader, t.elem, dst, &t.block)
}

// readTyped is TypedReader.ReadTyped of a reader of a format; block is memory of the caller's for it.
func readTyped(r Reader, e Elem, dst []byte, block *[]float32) (int, error) {
	if c, ok := r.(*concatenated); ok {
		return c.read(len(dst)/e.Size(), func(part Reader) (int, error) { return readTyped(part, e, dst, block) })
	}
	if d, ok := r.(*dense); ok && d.kind.size() == e.Size() {
		return d.readRaw(dst)
	}
	dim := r.Dim()
	rows := min(len(dst)/(dim*e.Size()), max(1, narrowBlock/dim))
	if rows == 0 {
		return 0, io.ErrShortBuffer
	}
	if e == ElemFloat32 {
		return r.Read(unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)/4))
	}
	if len(*block) < rows*dim {
		*block = make([]float32, rows*dim)
	}
	n, err := r.Read((*block)[:rows*dim])
	e.Encode(dst, (*block)[:n*dim]) // values that are of the type
	return n, err
}

// readRaw is TypedReader.ReadTyped of elements that lie in the file as in memory, but for their byte order.
func (d *dense) readRaw(dst []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.next == d.rows {
		return 0, io.EOF
	}
	elem, _ := d.kind.elem()
	size := d.kind.size()
	n := int(min(int64(len(dst)/(d.dim*size)), d.rows-d.next))
	if n == 0 {
		return 0, io.ErrShortBuffer
	}
	b := dst[:n*d.dim*size]
	got, err := io.ReadFull(d.r, b)
	if d.big != isBigEndian() {
		swapBytes(b[:got], size)
	}
	v := Vectors{elem, d.dim, b[:got/size*size]}
	at := v.Unfit()
	switch {
	case at >= 0:
		e := slices.Clone(b[at*size : (at+1)*size])
		if isBigEndian() {
			swapBytes(e, size)
		}
		d.err = d.place(at, d.kind.refusal(e))
	case err != nil:
		at, d.err = got/size, d.place(got/size, cutShort(err))
	default:
		at = n * d.dim
	}
	n = at / d.dim
	d.next += int64(n)
	if d.err == nil && d.next == d.rows {
		d.err = d.finish()
	}
	return n, d.err
}

func isBigEndian() bool { return binary.NativeEndian.Uint16([]byte{0, 1}) == 1 }

// KeptAs returns r, whose rows have not been read, as a TypedReader if its elements are to be kept in another type than float32: in their
// own if they take fewer bytes, and else in float64 if wide is ElemFloat64, whether these values need it or not.
func KeptAs(r Reader, wide Elem) (TypedReader, bool) {
	t, ok := r.(TypedReader)
	switch {
	case ok && t.Elem().Size() < ElemFloat32.Size():
		return t, true
	case wide == ElemFloat64:
		return Doubled(r), true
	}
	return nil, false
}

// Doubled returns r, whose rows have not been read, as a TypedReader of float64: of the values given, whatever their type.
func Doubled(r Reader) TypedReader {
	if t, ok := r.(TypedReader); ok && t.Elem() == ElemFloat64 {
		return t
	}
	return &doubled{Reader: KeepGiven(r)}
}

// doubled reads rows in float64.
type doubled struct {
	Reader
	rows []float32
}

func (d *doubled) Elem() Elem { return ElemFloat64 }

// ReadTyped is that of TypedReader.
func (d *doubled) ReadTyped(dst []byte) (int, error) {
	n := len(dst) / ElemFloat64.Size()
	if cap(d.rows) < n {
		d.rows = make([]float32, n)
	}
	rows, err := d.Read(d.rows[:n])
	to := unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(dst))), n)
	AppendGiven(to[:0], d.Reader, d.rows[:rows*d.Dim()])
	return rows, err
}

// DrainVectors is Drain of a Reader in the type of its elements, where that is KeptAs, and else in float32.
func DrainVectors(ctx context.Context, r Reader, wide Elem) (Vectors, *IDs, error) {
	return DrainVectorsWithin(ctx, r, wide, nil)
}

// DrainVectorsWithin is DrainVectors within what room gives.
func DrainVectorsWithin(ctx context.Context, r Reader, wide Elem, room Room) (v Vectors, ids *IDs, err error) {
	t, ok := KeptAs(r, wide)
	if !ok {
		m, err := DrainWithin(ctx, r, room)
		if err != nil {
			return Vectors{}, nil, err
		}
		v, err = VectorsOf(m.Data, m.Dim)
		return v, m.IDs, err
	}
	d := draining[byte]{r: r, width: r.Dim() * t.Elem().Size(), read: t.ReadTyped, room: room}
	if ids, err = d.all(ctx); err != nil {
		return Vectors{}, nil, err
	}
	v, err = NewVectors(t.Elem(), r.Dim(), d.rows)
	return v, ids, err
}

// narrowed64 is a narrowed Reader of float64, which hands them on as they are if it is asked to.
type narrowed64 struct{ *narrowed }

// Elem is that of TypedReader.
func (narrowed64) Elem() Elem { return ElemFloat64 }

// ReadTyped is that of TypedReader.
func (n narrowed64) ReadTyped(dst []byte) (int, error) {
	rows, err := n.readWide(unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)/8))
	n.last = n.wideReader.IDs()
	return rows, err
}
