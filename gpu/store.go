//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"

	"thresher/backend"
	"thresher/gpu/device"
)

// freer is memory or an object of a device that can be freed.
type freer interface{ Free(*device.Thread) error }

// stores holds the memory of a resident: device memory, and host memory visible to the device. It must
// be used within Do.
type stores struct {
	held []freer
	// pool, if not nil, is emptied if memory is short: collections take precedence over finished runs.
	pool *device.Pool
	// spare is the number of bytes of the device's budget kept free for runs, host the number of bytes
	// of page-locked memory that may still be allocated.
	spare, host int64
}

// freeAll releases everything, in reverse order.
func (h *stores) freeAll(t *device.Thread) error { return h.freeFrom(t, 0) }

// freeFrom releases everything allocated after the first n things.
func (h *stores) freeFrom(t *device.Thread, n int) error {
	var errs []error
	for i := len(h.held) - 1; i >= n; i-- {
		errs = append(errs, h.held[i].Free(t))
	}
	h.held = h.held[:min(n, len(h.held))]
	return errors.Join(errs...)
}

// allocOnDevice allocates n elements of device memory for h.
func allocOnDevice[T any](t *device.Thread, h *stores, purpose string, n int) (*device.Buffer[T], error) {
	b, err := device.Alloc[T](t, purpose, n)
	if errors.Is(err, device.ErrMemory) && h.pool != nil && h.pool.Covers(t, int64(n)*device.Size[T]()) {
		if err := h.pool.FreeAll(t); err != nil {
			return nil, err
		}
		b, err = device.Alloc[T](t, purpose, n)
	}
	if err == nil {
		h.held = append(h.held, b)
	}
	return b, err
}

// copyToDevice copies an array to new device memory.
func copyToDevice[T any](ctx context.Context, t *device.Thread, h *stores, purpose string, src []T) (*device.Buffer[T], error) {
	b, err := allocOnDevice[T](t, h, purpose, len(src))
	if err != nil {
		return nil, err
	}
	return b, uploadChecked(ctx, t, b, 0, src)
}

// store is an array on the device or, if that would leave too little for runs, in page-locked host
// memory, which kernels read over the bus.
type store[T any] struct {
	device *device.Buffer[T]
	host   *device.Pinned[T]
}

// allocNear allocates n elements on the device or, if that would leave less than spare, in page-locked
// host memory. The error wraps backend.ErrMemory and says why neither was possible.
func allocNear[T any](t *device.Thread, h *stores, purpose string, n int) (*store[T], error) {
	bytes := int64(n) * device.Size[T]()
	u := t.Device().Usage()
	if u.Used+bytes+h.spare <= u.Budget {
		b, err := allocOnDevice[T](t, h, purpose, n)
		if err == nil || !errors.Is(err, device.ErrMemory) {
			return &store[T]{device: b}, err
		}
	}
	if bytes > h.host {
		return nil, fmt.Errorf("gpu: %w: %s of %s beside %s in use of a budget of %s, of which %s are kept for searches; %s of host memory may be locked for them",
			backend.ErrMemory, device.FormatBytes(bytes), purpose, device.FormatBytes(u.Used), device.FormatBytes(u.Budget), device.FormatBytes(h.spare), device.FormatBytes(h.host))
	}
	p, err := device.AllocPinned[T](t, purpose, n)
	if err != nil {
		return nil, err
	}
	h.held = append(h.held, p)
	h.host -= bytes
	return &store[T]{host: p}, nil
}

// pointer points to the memory.
func (s *store[T]) pointer() device.Pointer[T] {
	if s.device != nil {
		return device.Ptr(s.device)
	}
	return device.Ptr(s.host)
}

// location returns "device", "host" or "none".
func (s *store[T]) location() string {
	switch {
	case s == nil:
		return "none"
	case s.device != nil:
		return "device"
	}
	return "host"
}

// copyFrom copies src to the elements from at on.
func (s *store[T]) copyFrom(ctx context.Context, t *device.Thread, at int, src []T) error {
	if s.device != nil {
		return uploadChecked(ctx, t, s.device, at, src)
	}
	return eachPiece(ctx, src, func(k int, part []T) error {
		copy(s.host.Slice()[at+k:], part)
		return nil
	})
}

// pieceBytes is the number of bytes copied between checks of the context.
const pieceBytes = 64 << 20

// uploadChecked copies src to b's elements from at on; it checks ctx between pieces.
func uploadChecked[T any](ctx context.Context, t *device.Thread, b *device.Buffer[T], at int, src []T) error {
	return eachPiece(ctx, src, func(k int, part []T) error { return b.Upload(t, at+k, part) })
}

// eachPiece calls f for pieces of src of at most pieceBytes, until ctx ends.
func eachPiece[T any](ctx context.Context, src []T, f func(at int, part []T) error) error {
	most := int(pieceBytes / device.Size[T]())
	for at := 0; at < len(src); at += most {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(at, src[at:min(at+most, len(src))]); err != nil {
			return err
		}
	}
	return nil
}
