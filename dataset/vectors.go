package dataset

import (
	"fmt"
	"math"
	"strings"
	"unsafe"
)

// Elem is the type of the coordinates of vectors that are kept as they were given. The zero Elem
// is ElemFloat32, in which all vectors were kept once.
type Elem uint8

const (
	ElemFloat32 Elem = iota
	ElemFloat64
	ElemFloat16  // IEEE 754 binary16
	ElemBFloat16 // the upper half of a float32
	ElemInt8
	ElemUint8
)

// elemNames are the names of the types, by number, as numpy and ml_dtypes have them.
var elemNames = [...]string{"float32", "float64", "float16", "bfloat16", "int8", "uint8"}

// ParseElem returns the type of a name.
func ParseElem(name string) (Elem, error) {
	for e, s := range elemNames {
		if s == name {
			return Elem(e), nil
		}
	}
	return 0, fmt.Errorf("type %q is none of %s", name, strings.Join(elemNames[:], ", "))
}

func (e Elem) String() string {
	if e.valid() {
		return elemNames[e]
	}
	return fmt.Sprintf("Elem(%d)", uint8(e))
}

func (e Elem) valid() bool { return int(e) < len(elemNames) }

// Size returns the bytes of a coordinate.
func (e Elem) Size() int {
	switch e {
	case ElemInt8, ElemUint8:
		return 1
	case ElemFloat16, ElemBFloat16:
		return 2
	case ElemFloat64:
		return 8
	}
	return 4
}

// Narrow reports whether float32 holds all finite values of the type: all but ElemFloat64.
func (e Elem) Narrow() bool { return e != ElemFloat64 }

// Vectors are vectors of one dimension and type, row-major and without gaps, in memory that belongs
// to whoever made them and does not change. The zero Vectors are none. A coordinate is named by its
// index in all of them: coordinate j of row i is i*Dim() + j.
type Vectors struct {
	elem Elem
	dim  int
	data []byte // in the processor's byte order, aligned for elem
}

// VectorsOf returns values as vectors of dim coordinates; it retains them.
func VectorsOf[T float32 | float64 | int8 | uint8](values []T, dim int) (Vectors, error) {
	var zero T
	elem := ElemFloat32
	switch any(zero).(type) {
	case float64:
		elem = ElemFloat64
	case int8:
		elem = ElemInt8
	case uint8:
		elem = ElemUint8
	}
	return NewVectors(elem, dim, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*elem.Size()))
}

// NewVectors returns data, coordinates of a type in the processor's byte order, as vectors of dim
// coordinates. It retains data, which must be aligned for the type.
func NewVectors(elem Elem, dim int, data []byte) (Vectors, error) {
	size := elem.Size()
	switch {
	case !elem.valid():
		return Vectors{}, fmt.Errorf("%v is no type of coordinates", elem)
	case dim < 1 || len(data)%(size*dim) != 0:
		return Vectors{}, fmt.Errorf("%d bytes are no rows of %d columns of %v", len(data), dim, elem)
	case uintptr(unsafe.Pointer(unsafe.SliceData(data)))%uintptr(size) != 0:
		return Vectors{}, fmt.Errorf("memory of %v is not aligned to %d bytes", elem, size)
	}
	return Vectors{elem, dim, data}, nil
}

// Elem returns the type of the coordinates.
func (v Vectors) Elem() Elem { return v.elem }

// Dim returns the number of coordinates of a row, 0 for no vectors.
func (v Vectors) Dim() int { return v.dim }

// Len returns the number of rows.
func (v Vectors) Len() int {
	if v.dim == 0 {
		return 0
	}
	return len(v.data) / (v.dim * v.elem.Size())
}

// Bytes returns the memory of all rows.
func (v Vectors) Bytes() []byte { return v.data }

// Slice returns rows lo to hi-1, which share the memory.
func (v Vectors) Slice(lo, hi int) Vectors {
	row := v.dim * v.elem.Size()
	v.data = v.data[lo*row : hi*row : hi*row]
	return v
}

// Float32s returns the memory of ElemFloat32 vectors, nil for those of another type.
func (v Vectors) Float32s() []float32 { return viewOf[float32](v, ElemFloat32) }

// Float64s returns the memory of ElemFloat64 vectors, nil for those of another type.
func (v Vectors) Float64s() []float64 { return viewOf[float64](v, ElemFloat64) }

// Halves returns the memory of ElemFloat16 or ElemBFloat16 vectors, nil for those of another type.
func (v Vectors) Halves() []uint16 {
	if v.elem == ElemBFloat16 {
		return viewOf[uint16](v, ElemBFloat16)
	}
	return viewOf[uint16](v, ElemFloat16)
}

// viewOf returns the memory of vectors of type elem, whose coordinates are T, nil for those of another.
func viewOf[T any](v Vectors, elem Elem) []T {
	if v.elem != elem || len(v.data) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(v.data))), len(v.data)/elem.Size())
}

// Read32 writes the coordinates from index at on to dst. Those of ElemFloat64 are rounded, and infinite where
// float32 does not reach; those of other types are exact.
func (v Vectors) Read32(dst []float32, at int) {
	switch v.elem {
	case ElemFloat32:
		copy(dst, v.Float32s()[at:][:len(dst)])
	case ElemFloat64:
		for i, x := range v.Float64s()[at:][:len(dst)] {
			dst[i] = float32(x)
		}
	case ElemFloat16:
		for i, u := range v.Halves()[at:][:len(dst)] {
			dst[i] = half(u)
		}
	case ElemBFloat16:
		for i, u := range v.Halves()[at:][:len(dst)] {
			dst[i] = math.Float32frombits(uint32(u) << 16)
		}
	case ElemInt8:
		for i, u := range v.data[at:][:len(dst)] {
			dst[i] = float32(int8(u))
		}
	case ElemUint8:
		for i, u := range v.data[at:][:len(dst)] {
			dst[i] = float32(u)
		}
	}
}

// Read64 writes the coordinates from index at on to dst, exactly.
func (v Vectors) Read64(dst []float64, at int) {
	switch v.elem {
	case ElemFloat64:
		copy(dst, v.Float64s()[at:][:len(dst)])
	case ElemFloat32:
		for i, x := range v.Float32s()[at:][:len(dst)] {
			dst[i] = float64(x)
		}
	case ElemFloat16:
		for i, u := range v.Halves()[at:][:len(dst)] {
			dst[i] = float64(half(u))
		}
	case ElemBFloat16:
		for i, u := range v.Halves()[at:][:len(dst)] {
			dst[i] = float64(math.Float32frombits(uint32(u) << 16))
		}
	case ElemInt8:
		for i, u := range v.data[at:][:len(dst)] {
			dst[i] = float64(int8(u))
		}
	case ElemUint8:
		for i, u := range v.data[at:][:len(dst)] {
			dst[i] = float64(u)
		}
	}
}

// Unfit returns the index of the first coordinate that is not finite, or -1.
func (v Vectors) Unfit() int {
	switch v.elem {
	case ElemFloat32:
		for i, x := range v.Float32s() {
			if x-x != 0 {
				return i
			}
		}
	case ElemFloat64:
		for i, x := range v.Float64s() {
			if x-x != 0 {
				return i
			}
		}
	case ElemFloat16, ElemBFloat16:
		exponent := uint16(0x7c00)
		if v.elem == ElemBFloat16 {
			exponent = 0x7f80
		}
		for i, u := range v.Halves() {
			if u&exponent == exponent {
				return i
			}
		}
	}
	return -1
}

// TypedReader is what a Reader, or another source of rows, is besides if it hands them on in the type
// in which they are to be kept.
type TypedReader interface {
	// Elem returns the type.
	Elem() Elem
	// ReadTyped is Reader.Read of coordinates of that type, in the processor's byte order: dst, aligned for the
	// type, holds whole rows of Dim()*Elem().Size() bytes. All coordinates are finite, and no origin is
	// subtracted. A reader is read either by it or by Read.
	ReadTyped(dst []byte) (rows int, err error)
}
