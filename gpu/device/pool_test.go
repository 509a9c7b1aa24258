//go:build cuda && cgo

package device

import (
	"errors"
	"testing"
)

// TestPoolKeepsTheLatest: a full pool keeps the buffers returned last.
func TestPoolKeepsTheLatest(t *testing.T) {
	onThread(t, openTest(t, Options{}), func(th *Thread) error {
		var p Pool
		var large []*Buffer[uint8]
		var pinned []*Pinned[uint8]
		for range poolKept {
			b, err := p.TakeDevice(th, "large", 1<<16)
			h, err2 := p.TakePinned(th, "large", 1<<16)
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			large, pinned = append(large, b), append(pinned, h)
		}
		for i := range poolKept {
			if err := errors.Join(p.ReturnDevice(th, large[i]), p.ReturnPinned(th, pinned[i])); err != nil {
				return err
			}
		}
		small, err := p.TakeDevice(th, "small", 256)
		waits, err2 := p.TakePinned(th, "small", 256)
		if err := errors.Join(err, err2, p.ReturnDevice(th, small), p.ReturnPinned(th, waits)); err != nil {
			return err
		}
		again, err := p.TakeDevice(th, "small", 256)
		still, err2 := p.TakePinned(th, "small", 256)
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
		return errors.Join(p.ReturnDevice(th, again), p.ReturnPinned(th, still), p.FreeAll(th))
	})
}
