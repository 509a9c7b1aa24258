//go:build cuda && cgo

package device

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"gorgonia.org/cu"
)

// Buffer is device memory for Len elements of T, which is a number, or an array
// or struct of numbers laid out as on the device, padding included. Its methods take the Thread they
// run on; a Buffer is used by one goroutine at a time.
type Buffer[T any] struct {
	d       *Device
	purpose string
	n       int
	ptr     cu.DevicePtr
	held    *allocation // nil if no memory is allocated
	freed   bool
}

// Size returns the bytes of an element.
func Size[T any]() int64 {
	var v T
	return int64(unsafe.Sizeof(v))
}

// Alloc allocates n elements with undefined content; errors mention purpose. n may be 0: such a
// buffer has no memory and is a null pointer to kernels. If there is no memory the error wraps
// ErrMemory.
func Alloc[T any](t *Thread, purpose string, n int) (*Buffer[T], error) {
	if err := t.live(); err != nil {
		return nil, err
	}
	if err := plain(reflect.TypeFor[T]()); err != nil {
		return nil, fmt.Errorf("gpu: %s: %w", purpose, err)
	}
	b := &Buffer[T]{d: t.d, purpose: purpose}
	if err := b.alloc(t, n); err != nil {
		return nil, err
	}
	return b, nil
}

// alloc allocates n elements for an empty b.
func (b *Buffer[T]) alloc(t *Thread, n int) error {
	if n < 0 || int64(n) > (math.MaxInt64-granule)/Size[T]() {
		return fmt.Errorf("gpu: %d elements of %d bytes asked for %s", n, Size[T](), b.purpose)
	}
	if n == 0 {
		return nil
	}
	bytes := int64(n) * Size[T]()
	charge := (bytes + granule - 1) / granule * granule
	if err := t.d.memory.admit(charge, b.purpose); err != nil {
		return err
	}
	ptr, err := cu.MemAlloc(bytes)
	if err != nil {
		err = t.fail(err, "cuMemAlloc(%d bytes for %s)", bytes, b.purpose)
		if de := new(DriverError); errors.As(err, &de) && de.Code == codeOutOfMemory {
			l := &t.d.memory
			l.mu.Lock()
			defer l.mu.Unlock()
			return fmt.Errorf("gpu: %w: %s: %w", ErrMemory, l.refusal(bytes, b.purpose), err)
		}
		return err
	}
	b.n, b.ptr = n, ptr
	b.held = &allocation{kind: "device memory", purpose: b.purpose, bytes: charge, free: b.Free}
	t.d.memory.add(b.held)
	return nil
}

// Len returns the number of elements.
func (b *Buffer[T]) Len() int { return b.n }

// Free waits for the device's work and releases the memory; the buffer then has no elements.
// It may be called again.
func (b *Buffer[T]) Free(t *Thread) error {
	if b == nil || b.d == nil || b.freed {
		return nil
	}
	if err := t.owns(b.d); err != nil {
		return err
	}
	b.freed = true
	return b.release(t)
}

// release releases the memory, if there is any.
func (b *Buffer[T]) release(t *Thread) error {
	if b.held == nil {
		return nil
	}
	ptr := b.ptr
	t.d.memory.remove(b.held)
	b.n, b.ptr, b.held = 0, 0, nil
	return t.freeAfterSync("cuMemFree("+b.purpose+")", func() error { return cu.MemFree(ptr) })
}

// Grow makes room for n elements, with undefined content if the buffer had fewer. If possible
// it allocates a quarter more, so that growing demand rarely allocates. After an error the
// buffer has no elements.
func (b *Buffer[T]) Grow(t *Thread, n int) error {
	if err := t.live(); err != nil {
		return err
	}
	if err := b.usable(t.d); err != nil {
		return fmt.Errorf("gpu: %w", err)
	}
	if n <= b.n {
		return nil
	}
	if err := b.release(t); err != nil {
		return err
	}
	if err := b.alloc(t, n+n/4); err == nil || !errors.Is(err, ErrMemory) {
		return err
	}
	return b.alloc(t, n)
}

// usable returns an error unless b can be used on d.
func (b *Buffer[T]) usable(d *Device) error {
	switch {
	case b == nil || b.d == nil:
		return errors.New("a buffer was used that was never allocated")
	case b.freed:
		return fmt.Errorf("%s was used after it was freed", b.purpose)
	case b.d != d:
		return fmt.Errorf("%s is on device %d, not on device %d", b.purpose, b.d.info.Index, d.info.Index)
	}
	return nil
}

// Address returns the device's address of the first element, 0 if there is none.
func (b *Buffer[T]) Address() uint64 {
	if b == nil {
		return 0
	}
	return uint64(b.ptr)
}

// pointer points to element at.
func (b *Buffer[T]) pointer(at int) Pointer[T] { return Pointer[T]{b, at} }

// address returns the address of element at; at may be Len, one past the end.
func (b *Buffer[T]) address(d *Device, at int) (uint64, error) {
	if err := b.usable(d); err != nil {
		return 0, err
	}
	if at < 0 || at > b.n {
		return 0, fmt.Errorf("element %d of %s, which has %d", at, b.purpose, b.n)
	}
	return uint64(b.ptr) + uint64(int64(at)*Size[T]()), nil
}

// span checks that b belongs to t and holds elements [at, at+n).
func (b *Buffer[T]) span(t *Thread, at, n int) (cu.DevicePtr, int64, error) {
	if err := t.live(); err != nil {
		return 0, 0, err
	}
	if err := b.usable(t.d); err != nil {
		return 0, 0, fmt.Errorf("gpu: %w", err)
	}
	if at < 0 || n < 0 || n > b.n-at {
		return 0, 0, fmt.Errorf("gpu: elements [%d, %d) of %s, which has %d", at, at+n, b.purpose, b.n)
	}
	return b.ptr + cu.DevicePtr(int64(at)*Size[T]()), int64(n) * Size[T](), nil
}

// Upload copies src to elements [at, at+len(src)). It runs after all work enqueued before and
// before all work enqueued later, on every stream. src may be changed when it returns.
func (b *Buffer[T]) Upload(t *Thread, at int, src []T) error {
	p, count, err := b.span(t, at, len(src))
	if err != nil || count == 0 {
		return err
	}
	if err := t.enqueueCollected(); err != nil {
		return err
	}
	if err := cu.MemcpyHtoD(p, unsafe.Pointer(unsafe.SliceData(src)), count); err != nil {
		return t.fail(err, "cuMemcpyHtoD(%s, %d bytes at %d)", b.purpose, count, int64(at)*Size[T]())
	}
	return nil
}

// Download copies elements [at, at+len(dst)) to dst, after all work enqueued before on every
// stream.
func (b *Buffer[T]) Download(t *Thread, dst []T, at int) error {
	p, count, err := b.span(t, at, len(dst))
	if err != nil || count == 0 {
		return err
	}
	if err := t.enqueueCollected(); err != nil {
		return err
	}
	if err := cu.MemcpyDtoH(unsafe.Pointer(unsafe.SliceData(dst)), p, count); err != nil {
		return t.fail(err, "cuMemcpyDtoH(%s, %d bytes at %d)", b.purpose, count, int64(at)*Size[T]())
	}
	return nil
}

// UploadAsync enqueues a copy of src's elements [from, from+n) to b's from at on. src must not
// be changed or freed before the stream has completed it.
func (b *Buffer[T]) UploadAsync(t *Thread, s *Stream, at int, src *Pinned[T], from, n int) error {
	p, count, err := b.span(t, at, n)
	if err != nil {
		return err
	}
	h, err := src.span(t, from, n)
	if err != nil {
		return err
	}
	if err := s.inOrder(t); err != nil || n == 0 {
		return err
	}
	if err := cu.MemcpyHtoDAsync(p, h, count, s.s); err != nil {
		return t.fail(err, "cuMemcpyHtoDAsync(%s from %s, %d bytes)", b.purpose, src.purpose, count)
	}
	return nil
}

// DownloadAsync enqueues a copy of b's elements [at, at+n) to dst's from to on. dst must not be
// read, changed or freed before the stream has completed it.
func (b *Buffer[T]) DownloadAsync(t *Thread, s *Stream, dst *Pinned[T], to, at, n int) error {
	p, count, err := b.span(t, at, n)
	if err != nil {
		return err
	}
	h, err := dst.span(t, to, n)
	if err != nil {
		return err
	}
	if err := s.inOrder(t); err != nil || n == 0 {
		return err
	}
	if err := cu.MemcpyDtoHAsync(h, p, count, s.s); err != nil {
		return t.fail(err, "cuMemcpyDtoHAsync(%s to %s, %d bytes)", b.purpose, dst.purpose, count)
	}
	return nil
}

// CopyAsync enqueues a copy of src's elements [from, from+n) to b's from at on.
// The ranges must not overlap.
func (b *Buffer[T]) CopyAsync(t *Thread, s *Stream, at int, src *Buffer[T], from, n int) error {
	p, count, err := b.span(t, at, n)
	if err != nil {
		return err
	}
	q, _, err := src.span(t, from, n)
	if err != nil {
		return err
	}
	if err := s.inOrder(t); err != nil || n == 0 {
		return err
	}
	if err := cu.MemcpyDtoDAsync(p, q, count, s.s); err != nil {
		return t.fail(err, "cuMemcpyDtoDAsync(%s from %s, %d bytes)", b.purpose, src.purpose, count)
	}
	return nil
}

// Fill enqueues setting elements [at, at+n) to v. v's bytes must repeat after one, two or four,
// like those of zero and of every number of up to four bytes: the driver has no other fills.
func (b *Buffer[T]) Fill(t *Thread, s *Stream, at, n int, v T) error {
	p, count, err := b.span(t, at, n)
	if err != nil {
		return err
	}
	if err := s.inOrder(t); err != nil || n == 0 {
		return err
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&v)), Size[T]())
	var call string
	switch {
	case repeats(raw, 1):
		call, err = "cuMemsetD8Async", cu.MemsetD8Async(p, raw[0], count, s.s)
	case repeats(raw, 2):
		call, err = "cuMemsetD16Async", cu.MemsetD16Async(p, binary.NativeEndian.Uint16(raw), count/2, s.s)
	case repeats(raw, 4):
		call, err = "cuMemsetD32Async", cu.MemsetD32Async(p, uint(binary.NativeEndian.Uint32(raw)), count/4, s.s)
	default:
		return fmt.Errorf("gpu: fill %s with %v: its bytes do not repeat after one, two or four", b.purpose, v)
	}
	if err != nil {
		return t.fail(err, call+"(%s, %d bytes)", b.purpose, count)
	}
	return nil
}

// repeats reports whether raw is a repetition of its first n bytes.
func repeats(raw []byte, n int) bool {
	return len(raw)%n == 0 && bytes.Equal(raw[n:], raw[:len(raw)-n])
}

// plain rejects types that contain pointers and types without a size.
func plain(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return nil
	case reflect.Array:
		if t.Len() > 0 {
			return plain(t.Elem())
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if err := plain(t.Field(i).Type); err != nil {
				return err
			}
		}
		if t.Size() > 0 {
			return nil
		}
	}
	return fmt.Errorf("device memory cannot hold a %v", t)
}
