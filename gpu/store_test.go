//go:build cuda && cgo

package gpu

import (
	"testing"

	"thresher/gpu/device"
)

// TestPoolGivesWay: buffers in the pool are freed if that makes enough room, for runs and for collections, and
// otherwise kept.
func TestPoolGivesWay(t *testing.T) {
	const all = 1 << 20
	onThread(t, all, func(th *device.Thread) error {
		var p device.Pool
		h := stores{pool: &p}
		half, err := p.TakeDevice(th, "half", all/2)
		if err != nil {
			return err
		}
		if err := p.ReturnDevice(th, half); err != nil {
			return err
		}
		_, err = p.TakeDevice(th, "too much", all+1)
		refused(t, err, device.ErrMemory)
		_, err = allocOnDevice[uint8](th, &h, "too much", all+1)
		refused(t, err, device.ErrMemory)
		if half.Len() == 0 {
			t.Error("dropped in vain")
		}
		more, err := p.TakeDevice(th, "more", all/4*3)
		if err != nil || half.Len() != 0 {
			t.Errorf("half of the memory was kept, three quarters asked for: %v", err)
		}
		if err := p.ReturnDevice(th, more); err != nil {
			return err
		}
		if _, err := allocOnDevice[uint32](th, &h, "a collection", all/4); err != nil || more.Len() != 0 || p.DeviceBytes() != 0 {
			t.Errorf("three quarters of the memory were kept, all asked for: %v", err)
		}
		return h.freeAll(th)
	})
}
