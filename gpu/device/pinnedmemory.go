//go:build cuda && cgo

package device

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"gorgonia.org/cu"
)

// Pinned is page-locked host memory of a fixed length, which asynchronous copies require. Kernels
// may access it in place, at the speed of the bus.
type Pinned[T any] struct {
	d       *Device
	purpose string
	data    []T
	device  cu.DevicePtr
	held    *allocation
	freed   bool
}

// AllocPinned allocates n elements with undefined content, outside the device's budget. If the
// driver refuses, the error wraps ErrMemory.
func AllocPinned[T any](t *Thread, purpose string, n int) (*Pinned[T], error) {
	if err := t.live(); err != nil {
		return nil, err
	}
	if err := plain(reflect.TypeFor[T]()); err != nil {
		return nil, fmt.Errorf("gpu: %s: %w", purpose, err)
	}
	if n < 0 || int64(n) > math.MaxInt64/Size[T]() {
		return nil, fmt.Errorf("gpu: %d pinned elements of %d bytes asked for %s", n, Size[T](), purpose)
	}
	p := &Pinned[T]{d: t.d, purpose: purpose}
	if n == 0 {
		return p, nil
	}
	bytes := int64(n) * Size[T]()
	mem, err := hostAlloc(bytes)
	if err != nil {
		err = t.fail(err, "cuMemHostAlloc(%d bytes for %s)", bytes, purpose)
		if de := new(DriverError); errors.As(err, &de) && de.Code == codeOutOfMemory {
			return nil, fmt.Errorf("gpu: %w: %s of pinned host memory asked for %s: %w", ErrMemory, FormatBytes(bytes), purpose, err)
		}
		return nil, err
	}
	if p.device, err = hostAddress(mem); err != nil {
		err = t.fail(err, "cuMemHostGetDevicePointer(%s)", purpose)
		return nil, errors.Join(err, t.freeAfterSync("cuMemFreeHost("+purpose+")", func() error { return cu.MemFreeHost(mem) }))
	}
	p.data = unsafe.Slice((*T)(mem), n)
	p.held = &allocation{kind: "pinned memory", purpose: purpose, host: bytes, free: p.Free}
	t.d.memory.add(p.held)
	return p, nil
}

// Slice returns the memory. It must not be accessed while an enqueued copy or kernel uses it, nor
// after Free or the device's Close.
func (p *Pinned[T]) Slice() []T { return p.data }

// Len returns the number of elements.
func (p *Pinned[T]) Len() int { return len(p.data) }

// Free waits for the device's work and releases the memory. It may be called again.
func (p *Pinned[T]) Free(t *Thread) error {
	if p == nil || p.d == nil || p.freed {
		return nil
	}
	if err := t.owns(p.d); err != nil {
		return err
	}
	p.freed = true
	if p.held == nil {
		return nil
	}
	mem := unsafe.Pointer(unsafe.SliceData(p.data))
	t.d.memory.remove(p.held)
	p.data, p.device, p.held = nil, 0, nil
	return t.freeAfterSync("cuMemFreeHost("+p.purpose+")", func() error { return cu.MemFreeHost(mem) })
}

// usable returns an error unless p can be used on d.
func (p *Pinned[T]) usable(d *Device) error {
	switch {
	case p == nil || p.d == nil:
		return errors.New("pinned memory was used that was never allocated")
	case p.freed:
		return fmt.Errorf("%s was used after it was freed", p.purpose)
	case p.d != d:
		return fmt.Errorf("%s is for device %d, not for device %d", p.purpose, p.d.info.Index, d.info.Index)
	}
	return nil
}

// Address returns the device's address of the first element, 0 if there is none.
func (p *Pinned[T]) Address() uint64 { return uint64(p.device) }

// pointer points to element at.
func (p *Pinned[T]) pointer(at int) Pointer[T] { return Pointer[T]{p, at} }

// address returns the device's address of element at.
func (p *Pinned[T]) address(d *Device, at int) (uint64, error) {
	if err := p.usable(d); err != nil {
		return 0, err
	}
	if at < 0 || at > len(p.data) {
		return 0, fmt.Errorf("element %d of %s, which has %d", at, p.purpose, len(p.data))
	}
	return uint64(p.device) + uint64(int64(at)*Size[T]()), nil
}

// span checks that p belongs to t and holds elements [at, at+n).
func (p *Pinned[T]) span(t *Thread, at, n int) (unsafe.Pointer, error) {
	if err := t.live(); err != nil {
		return nil, err
	}
	if err := p.usable(t.d); err != nil {
		return nil, fmt.Errorf("gpu: %w", err)
	}
	if at < 0 || n < 0 || n > len(p.data)-at {
		return nil, fmt.Errorf("gpu: elements [%d, %d) of %s, which has %d", at, at+n, p.purpose, len(p.data))
	}
	if n == 0 {
		return nil, nil
	}
	return unsafe.Pointer(&p.data[at]), nil
}
