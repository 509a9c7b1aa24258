//go:build cuda && cgo

package gpu

import (
	"errors"
	"slices"

	"thresher/backend"
)

// poolKept is how many buffers of a kind a pool keeps: those of two batches of
// different sizes, dense scans included.
const poolKept = 8

// pool keeps the memory that runs gave back for runs to come: allocating and freeing
// wait for the device. It is used within Do alone.
type pool struct {
	// Those given back last are last: when there are too many the first is freed, which
	// nobody has wanted for longest.
	device []*Buffer[uint8]
	pinned []*Pinned[uint8]
}

// take returns device memory of at least n bytes, with undefined contents. When
// there is no room it frees what the pool keeps, if that makes any; else the error
// wraps backend.ErrMemory.
func (p *pool) take(t *Thread, purpose string, n int) (*Buffer[uint8], error) {
	if i := fitting(p.device, n); i >= 0 {
		b := p.device[i]
		p.device = slices.Delete(p.device, i, i+1)
		return b, nil
	}
	b, err := Alloc[uint8](t, purpose, n)
	if !errors.Is(err, backend.ErrMemory) || !p.covers(t, int64(n)) {
		return b, err
	}
	if err := p.drop(t); err != nil {
		return nil, err
	}
	return Alloc[uint8](t, purpose, n)
}

// takePinned is take for page-locked host memory.
func (p *pool) takePinned(t *Thread, purpose string, n int) (*Pinned[uint8], error) {
	if i := fitting(p.pinned, n); i >= 0 {
		b := p.pinned[i]
		p.pinned = slices.Delete(p.pinned, i, i+1)
		return b, nil
	}
	return AllocPinned[uint8](t, purpose, n)
}

// give takes back what take returned, or nil. What is enqueued may use it still:
// all work of a device is on one stream.
func (p *pool) give(t *Thread, b *Buffer[uint8]) error {
	if b == nil || b.Len() == 0 {
		return nil
	}
	return keep(t, &p.device, b)
}

// keep puts b behind all and frees the first of too many.
func keep[B freer](t *Thread, all *[]B, b B) (err error) {
	if len(*all) == poolKept {
		err = (*all)[0].Free(t)
		*all = slices.Delete(*all, 0, 1)
	}
	*all = append(*all, b)
	return err
}

// back is givePinned after work that ended with err: if that is an error a copy may
// still be on its way into the memory, which is freed then.
func (p *pool) back(t *Thread, b *Pinned[uint8], err error) error {
	if err != nil {
		return errors.Join(err, b.Free(t))
	}
	return p.givePinned(t, b)
}

// givePinned takes back what takePinned returned, or nil, when all copies are done.
func (p *pool) givePinned(t *Thread, b *Pinned[uint8]) error {
	if b == nil || b.Len() == 0 {
		return nil
	}
	return keep(t, &p.pinned, b)
}

// bytes is how much of the device's budget is kept.
func (p *pool) bytes() (n int64) {
	for _, b := range p.device {
		n += b.held.bytes
	}
	return n
}

// covers reports whether dropping what is kept, of which there is some, makes room
// for n bytes.
func (p *pool) covers(t *Thread, n int64) bool {
	u, kept := t.d.Usage(), p.bytes()
	return kept > 0 && n <= u.Budget-u.Used+kept
}

// drop frees all that is kept.
func (p *pool) drop(t *Thread) error {
	var errs []error
	for _, b := range p.device {
		errs = append(errs, b.Free(t))
	}
	for _, b := range p.pinned {
		errs = append(errs, b.Free(t))
	}
	p.device, p.pinned = nil, nil
	return errors.Join(errs...)
}

// fitting is the index of the smallest of all that holds n, and not more than
// four times as much: -1 if there is none.
func fitting[B interface{ Len() int }](all []B, n int) int {
	best := -1
	for i, b := range all {
		if b.Len() >= n && b.Len() <= 4*n && (best < 0 || b.Len() < all[best].Len()) {
			best = i
		}
	}
	return best
}
