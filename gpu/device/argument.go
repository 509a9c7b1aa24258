//go:build cuda && cgo

package device

import (
	"fmt"
	"math"
)

// Memory is a Buffer or a Pinned of elements of type T.
type Memory[T any] interface {
	addressed
	pointer(at int) Pointer[T]
}

// addressed is memory of which kernels take addresses.
type addressed interface {
	address(d *Device, at int) (uint64, error)
}

// Pointer is a kernel's argument that points to elements of type T; its zero value is a null pointer.
// Its address is taken at the launch, which fails if the memory cannot be used then.
type Pointer[T any] struct {
	mem addressed
	at  int // the element of mem
}

// Ptr points to m's first element, or is null if m has none.
func Ptr[T any](m Memory[T]) Pointer[T] { return m.pointer(0) }

// View points to elements of type T, which begin at m's element at.
func View[T, M any](m Memory[M], at int) Pointer[T] { return Pointer[T](m.pointer(at)) }

// Arg returns the pointer as an argument.
func (p Pointer[T]) Arg() Arg { return Arg{bytes: 8, mem: p.mem, at: p.at} }

// Arg is one argument of a kernel.
type Arg struct {
	bits  uint64
	bytes int
	float bool
	mem   addressed // of a pointer, whose address is taken at the launch; nil for null
	at    int       // the element of mem
	err   error     // returned by the launch
	words []uint64  // of a structure
}

// Struct passes a structure by value, as its words of 8 bytes. They must not change before the launch, which
// copies them.
func Struct(words []uint64) Arg { return Arg{bytes: 8 * len(words), words: words} }

// I32 passes a C int. If v does not fit, the launch fails.
func I32(v int) Arg {
	a := Arg{bits: uint64(uint32(int32(v))), bytes: 4}
	if int(int32(v)) != v {
		a.err = fmt.Errorf("%d does not fit an int", v)
	}
	return a
}

// U32 passes an unsigned int.
func U32(v uint32) Arg { return Arg{bits: uint64(v), bytes: 4} }

// I64 passes a long long.
func I64(v int64) Arg { return Arg{bits: uint64(v), bytes: 8} }

// F32 passes a float.
func F32(v float32) Arg { return Arg{bits: uint64(math.Float32bits(v)), bytes: 4, float: true} }

// F64 passes a double.
func F64(v float64) Arg { return Arg{bits: math.Float64bits(v), bytes: 8, float: true} }

// fit writes the argument's words, or returns an error if its size and kind are not those of p.
func (a *Arg) fit(d *Device, p ptxParam, words []uint64) error {
	if a.err != nil {
		return a.err
	}
	if got := (ptxParam{a.bytes, a.float}); got != p {
		return fmt.Errorf("%v for %v", got, p)
	}
	switch {
	case a.words != nil:
		copy(words, a.words)
	case a.mem != nil:
		address, err := a.mem.address(d, a.at)
		words[0] = address
		return err
	default:
		words[0] = a.bits
	}
	return nil
}
