//go:build cuda && cgo

package gpu

import (
	"errors"
	"testing"

	"thresher/backend"
)

// A pool that is full of what nobody wants keeps what was given back last.
func TestPoolKeepsTheLatest(t *testing.T) {
	onThread(t, openTest(t, DeviceOptions{}), func(th *Thread) error {
		var p pool
		var large []*Buffer[uint8]
		var pinned []*Pinned[uint8]
		for range poolKept {
			b, err := p.take(th, "large", 1<<16)
			h, err2 := p.takePinned(th, "large", 1<<16)
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			large, pinned = append(large, b), append(pinned, h)
		}
		for i := range poolKept {
			if err := errors.Join(p.give(th, large[i]), p.givePinned(th, pinned[i])); err != nil {
				return err
			}
		}
		small, err := p.take(th, "small", 256)
		waits, err2 := p.takePinned(th, "small", 256)
		if err := errors.Join(err, err2, p.give(th, small), p.givePinned(th, waits)); err != nil {
			return err
		}
		again, err := p.take(th, "small", 256)
		still, err2 := p.takePinned(th, "small", 256)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if again != small || still != waits {
			t.Error("memory given back last was allocated anew")
		}
		if large[0].Len() != 0 || pinned[0].Len() != 0 || large[1].Len() == 0 || pinned[1].Len() == 0 {
			t.Error("not what lay there longest was freed")
		}
		if u := th.d.Usage(); u.Live != 2*poolKept {
			t.Errorf("%+v with %d buffers of either kind", u, poolKept)
		}
		return errors.Join(p.give(th, again), p.givePinned(th, still), p.drop(th))
	})
}

// What is kept is given up where that makes room, for runs and for collections, and
// nowhere else.
func TestPoolGivesWay(t *testing.T) {
	const all = 1 << 20
	onThread(t, openTest(t, DeviceOptions{Memory: all}), func(th *Thread) error {
		var p pool
		h := stores{pool: &p}
		half, err := p.take(th, "half", all/2)
		if err != nil {
			return err
		}
		if err := p.give(th, half); err != nil {
			return err
		}
		_, err = p.take(th, "too much", all+1)
		refused(t, err, backend.ErrMemory)
		_, err = onDevice[uint8](th, &h, "too much", all+1)
		refused(t, err, backend.ErrMemory)
		if half.Len() == 0 {
			t.Error("dropped in vain")
		}
		more, err := p.take(th, "more", all/4*3)
		if err != nil || half.Len() != 0 {
			t.Errorf("half of the memory was kept, three quarters asked for: %v", err)
		}
		if err := p.give(th, more); err != nil {
			return err
		}
		if _, err := onDevice[uint32](th, &h, "a collection", all/4); err != nil || more.Len() != 0 || p.bytes() != 0 {
			t.Errorf("three quarters of the memory were kept, all asked for: %v", err)
		}
		return h.free(th)
	})
}
