//go:build cuda && cgo

package device

import (
	"errors"
	"slices"
)

// poolKept is the most buffers of a kind that a pool keeps.
const poolKept = 8

// Pool keeps memory that is no longer in use for later requests, since allocating and freeing wait
// for the device. It must be used within Do; its zero value is empty.
type Pool struct {
	// In the order of return: if there are too many, the least recently used one is freed.
	device []*Buffer[uint8]
	pinned []*Pinned[uint8]
}

// TakeDevice returns device memory of at least n bytes with undefined content. If there is no room it
// frees what the pool keeps, provided that makes enough; otherwise the error wraps
// ErrMemory.
func (p *Pool) TakeDevice(t *Thread, purpose string, n int) (*Buffer[uint8], error) {
	if i := bestFit(p.device, n); i >= 0 {
		b := p.device[i]
		p.device = slices.Delete(p.device, i, i+1)
		return b, nil
	}
	b, err := Alloc[uint8](t, purpose, n)
	if !errors.Is(err, ErrMemory) || !p.Covers(t, int64(n)) {
		return b, err
	}
	if err := p.FreeAll(t); err != nil {
		return nil, err
	}
	return Alloc[uint8](t, purpose, n)
}

// TakePinned is TakeDevice for page-locked host memory.
func (p *Pool) TakePinned(t *Thread, purpose string, n int) (*Pinned[uint8], error) {
	if i := bestFit(p.pinned, n); i >= 0 {
		b := p.pinned[i]
		p.pinned = slices.Delete(p.pinned, i, i+1)
		return b, nil
	}
	return AllocPinned[uint8](t, purpose, n)
}

// ReturnDevice takes back memory from TakeDevice, or nil. Work enqueued on one stream may still use it,
// if that of the next user is enqueued there too.
func (p *Pool) ReturnDevice(t *Thread, b *Buffer[uint8]) error {
	if b == nil || b.Len() == 0 {
		return nil
	}
	return keepBuffer(t, &p.device, b)
}

// keepBuffer appends b to all, and frees the first if there are too many.
func keepBuffer[B interface{ Free(*Thread) error }](t *Thread, all *[]B, b B) (err error) {
	if len(*all) == poolKept {
		err = (*all)[0].Free(t)
		*all = slices.Delete(*all, 0, 1)
	}
	*all = append(*all, b)
	return err
}

// ReturnAfter is ReturnPinned after work that ended with err. If err is not nil, a copy may still be
// writing to the memory, which is then freed.
func (p *Pool) ReturnAfter(t *Thread, b *Pinned[uint8], err error) error {
	if err != nil {
		return errors.Join(err, b.Free(t))
	}
	return p.ReturnPinned(t, b)
}

// ReturnPinned takes back memory from TakePinned, or nil, after all copies are complete.
func (p *Pool) ReturnPinned(t *Thread, b *Pinned[uint8]) error {
	if b == nil || b.Len() == 0 {
		return nil
	}
	return keepBuffer(t, &p.pinned, b)
}

// DeviceBytes returns how much of the device's budget the pool keeps.
func (p *Pool) DeviceBytes() (n int64) {
	for _, b := range p.device {
		n += b.held.bytes
	}
	return n
}

// Covers reports whether freeing what the pool keeps, if anything, makes room for n bytes.
func (p *Pool) Covers(t *Thread, n int64) bool {
	u, kept := t.d.Usage(), p.DeviceBytes()
	return kept > 0 && n <= u.Budget-u.Used+kept
}

// FreeAll frees everything in the pool.
func (p *Pool) FreeAll(t *Thread) error {
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

// bestFit returns the index of the smallest of all with at least n and at most 4n elements, -1 if there
// is none.
func bestFit[B interface{ Len() int }](all []B, n int) int {
	best := -1
	for i, b := range all {
		if b.Len() >= n && b.Len() <= 4*n && (best < 0 || b.Len() < all[best].Len()) {
			best = i
		}
	}
	return best
}
