//go:build cuda && cgo

package gpu

import (
	"errors"
	"testing"

	"thresher/backend"
)

// TestPoolKeepsTheLatest: a full pool keeps the buffers returned last.
func TestPoolKeepsTheLatest(t *testing.T) {
	onThread(t, openTest(t, DeviceOptions{}), func(th *Thread) error {
		var p pool
		var large []*Buffer[uint8]
		var pinned []*Pinned[uint8]
		for range poolKept {
			b, err := p.takeDevice(th, "large", 1<<16)
			h, err2 := p.takePinned(th, "large", 1<<16)
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			large, pinned = append(large, b), append(pinned, h)
		}
		for i := range poolKept {
			if err := errors.Join(p.returnDevice(th, large[i]), p.returnPinned(th, pinned[i])); err != nil {
				return err
			}
		}
		small, err := p.takeDevice(th, "small", 256)
		waits, err2 := p.takePinned(th, "small", 256)
		if err := errors.Join(err, err2, p.returnDevice(th, small), p.returnPinned(th, waits)); err != nil {
			return err
		}
		again, err := p.takeDevice(th, "small", 256)
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
		return errors.Join(p.returnDevice(th, again), p.returnPinned(th, still), p.freeAll(th))
	})
}

// TestPoolGivesWay: buffers in the pool are freed if that makes enough room, for runs and for collections, and
// otherwise kept.
func TestPoolGivesWay(t *testing.T) {
	const all = 1 << 20
	onThread(t, openTest(t, DeviceOptions{Memory: all}), func(th *Thread) error {
		var p pool
		h := stores{pool: &p}
		half, err := p.takeDevice(th, "half", all/2)
		if err != nil {
			return err
		}
		if err := p.returnDevice(th, half); err != nil {
			return err
		}
		_, err = p.takeDevice(th, "too much", all+1)
		refused(t, err, backend.ErrMemory)
		_, err = allocOnDevice[uint8](th, &h, "too much", all+1)
		refused(t, err, backend.ErrMemory)
		if half.Len() == 0 {
			t.Error("dropped in vain")
		}
		more, err := p.takeDevice(th, "more", all/4*3)
		if err != nil || half.Len() != 0 {
			t.Errorf("half of the memory was kept, three quarters asked for: %v", err)
		}
		if err := p.returnDevice(th, more); err != nil {
			return err
		}
		if _, err := allocOnDevice[uint32](th, &h, "a collection", all/4); err != nil || more.Len() != 0 || p.deviceBytes() != 0 {
			t.Errorf("three quarters of the memory were kept, all asked for: %v", err)
		}
		return h.freeAll(th)
	})
}
