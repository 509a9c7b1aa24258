//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"

	"thresher/backend"
)

// freer is a resource of a device.
type freer interface{ Free(*Thread) error }

// stores is what a resident holds of a device and of host memory visible to the device. It must be
// used within Do.
type stores struct {
	held []freer
	// pool, if not nil, is emptied first: a collection's needs take precedence.
	pool *pool
	// spare is how many bytes of the device's budget stay free for runs, host how many bytes of
	// page-locked memory may still be allocated.
	spare, host int64
}

// free releases everything, in reverse order.
func (h *stores) free(t *Thread) error { return h.freeFrom(t, 0) }

// freeFrom releases everything allocated since there were n things.
func (h *stores) freeFrom(t *Thread, n int) error {
	var errs []error
	for i := len(h.held) - 1; i >= n; i-- {
		errs = append(errs, h.held[i].Free(t))
	}
	h.held = h.held[:min(n, len(h.held))]
	return errors.Join(errs...)
}

// onDevice allocates n elements of device memory for h.
func onDevice[T any](t *Thread, h *stores, purpose string, n int) (*Buffer[T], error) {
	b, err := Alloc[T](t, purpose, n)
	if errors.Is(err, backend.ErrMemory) && h.pool != nil && h.pool.covers(t, int64(n)*size[T]()) {
		if err := h.pool.drop(t); err != nil {
			return nil, err
		}
		b, err = Alloc[T](t, purpose, n)
	}
	if err == nil {
		h.held = append(h.held, b)
	}
	return b, err
}

// put copies an array to the device.
func put[T any](ctx context.Context, t *Thread, h *stores, purpose string, src []T) (*Buffer[T], error) {
	b, err := onDevice[T](t, h, purpose, len(src))
	if err != nil {
		return nil, err
	}
	return b, upload(ctx, t, b, 0, src)
}

// store is an array on the device or, if that would leave too little for runs, in page-locked host
// memory, which kernels read over the bus.
type store[T any] struct {
	device *Buffer[T]
	host   *Pinned[T]
}

// somewhere allocates n elements where there is room. The error, which wraps backend.ErrMemory,
// says why neither place was possible.
func somewhere[T any](t *Thread, h *stores, purpose string, n int) (*store[T], error) {
	bytes := int64(n) * size[T]()
	u := t.d.Usage()
	if u.Used+bytes+h.spare <= u.Budget {
		b, err := onDevice[T](t, h, purpose, n)
		if err == nil || !errors.Is(err, backend.ErrMemory) {
			return &store[T]{device: b}, err
		}
	}
	if bytes > h.host {
		return nil, fmt.Errorf("gpu: %w: %s of %s beside %s in use of a budget of %s, of which %s are kept for searches; %s of host memory may be locked for them",
			backend.ErrMemory, formatBytes(bytes), purpose, formatBytes(u.Used), formatBytes(u.Budget), formatBytes(h.spare), formatBytes(h.host))
	}
	p, err := AllocPinned[T](t, purpose, n)
	if err != nil {
		return nil, err
	}
	h.held = append(h.held, p)
	h.host -= bytes
	return &store[T]{host: p}, nil
}

// memory is the kernels' argument.
func (s *store[T]) memory() Memory {
	if s.device != nil {
		return s.device
	}
	return s.host
}

// place names the array's location.
func (s *store[T]) place() string {
	switch {
	case s == nil:
		return "none"
	case s.device != nil:
		return "device"
	}
	return "host"
}

// fill copies src to the elements from at on.
func (s *store[T]) fill(ctx context.Context, t *Thread, at int, src []T) error {
	if s.device != nil {
		return upload(ctx, t, s.device, at, src)
	}
	return pieces(ctx, src, func(k int, part []T) error {
		copy(s.host.Slice()[at+k:], part)
		return nil
	})
}

// pieceBytes is how much is copied between checks of the context.
const pieceBytes = 64 << 20

// upload copies src to b's elements from at on.
func upload[T any](ctx context.Context, t *Thread, b *Buffer[T], at int, src []T) error {
	return pieces(ctx, src, func(k int, part []T) error { return b.Upload(t, at+k, part) })
}

func pieces[T any](ctx context.Context, src []T, f func(at int, part []T) error) error {
	most := int(pieceBytes / size[T]())
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
