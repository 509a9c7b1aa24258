//go:build cuda && cgo

package device

import (
	"testing"
)

func TestBudget(t *testing.T) {
	d := openTest(t, Options{Memory: 10 << 20})
	onThread(t, d, func(th *Thread) error {
		panels, err := Alloc[int8](th, "panels", 4<<20)
		if err != nil {
			return err
		}
		rows, err := Alloc[float32](th, "rows", 1<<20)
		if err != nil {
			return err
		}
		_, err = Alloc[uint64](th, "survivors", 1<<18+1)
		if want := "gpu: not enough device memory: 2 MiB asked for survivors, 8 MiB of a budget of 10 MiB in use (panels 4 MiB, rows 4 MiB)"; err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
		refused(t, err, ErrMemory)
		rest, err := Alloc[uint64](th, "survivors", 1<<18) // to the last byte of the budget
		if err != nil {
			return err
		}
		if u := d.Usage(); u != (Usage{Budget: 10 << 20, Used: 10 << 20, Live: 3}) {
			t.Errorf("%+v", u)
		}
		_, err = Alloc[int8](th, "one more", 1)
		refused(t, err, ErrMemory, "512 B asked for one more, 10 MiB of a budget of 10 MiB")
		for _, b := range []interface{ Free(*Thread) error }{panels, rows, rest, rest} {
			if err := b.Free(th); err != nil {
				return err
			}
		}
		if u := d.Usage(); u != (Usage{Budget: 10 << 20}) {
			t.Errorf("%+v", u)
		}
		return nil
	})
}

// The message names the purposes that hold most and counts the others.
func TestBudgetNamesHolders(t *testing.T) {
	d := openTest(t, Options{Memory: 1 << 20})
	onThread(t, d, func(th *Thread) error {
		var all []*Buffer[uint8]
		for i, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "b"} {
			b, err := Alloc[uint8](th, name, 1024*(i+1))
			if err != nil {
				return err
			}
			all = append(all, b)
		}
		_, err := Alloc[uint8](th, "x", 1<<20)
		refused(t, err, ErrMemory, "45 KiB of a budget of 1 MiB in use (b 11 KiB, h 8 KiB, g 7 KiB, f 6 KiB, e 5 KiB, d 4 KiB, 2 more)")
		for _, b := range all {
			if err := b.Free(th); err != nil {
				return err
			}
		}
		return nil
	})
}

// The default budget leaves a reserve for the driver.
func TestDefaultBudget(t *testing.T) {
	var l ledger
	for _, c := range []struct{ want, free, total, budget int64 }{
		{0, 140 << 30, 141 << 30, 140<<30 - 141<<30/64},
		{0, 900 << 20, 1 << 30, 836 << 20},
		{0, 64<<20 + 1, 1 << 30, 1},
		{5, 10 << 20, 1 << 30, 5},
		{10 << 20, 10 << 20, 1 << 30, 10 << 20},
	} {
		if err := l.setBudget(c.want, c.free, c.total); err != nil || l.budget != c.budget {
			t.Errorf("asked for %d of %d free of %d: %d, %v; want %d", c.want, c.free, c.total, l.budget, err, c.budget)
		}
	}
	refused(t, l.setBudget(0, 64<<20, 1<<30), ErrMemory, "64 MiB of 1 GiB are free, and 64 MiB are the driver's")
	refused(t, l.setBudget(11<<20, 10<<20, 1<<30), ErrMemory, "a budget of 11 MiB was asked for, 10 MiB of 1 GiB are free")
}

// Memory that the driver refuses within the budget is reported as ErrMemory, too.
func TestDriverIsOutOfMemory(t *testing.T) {
	needEmulator(t)
	t.Setenv("EMU_MEM", "268435456")
	first := openTest(t, Options{})
	second := openTest(t, Options{})
	var most *Buffer[uint8]
	onThread(t, first, func(th *Thread) (err error) {
		most, err = Alloc[uint8](th, "most", int(first.Usage().Budget))
		return err
	})
	onThread(t, second, func(th *Thread) error {
		_, err := Alloc[uint8](th, "as much", int(second.Usage().Budget))
		refused(t, err, ErrMemory, "asked for as much, 0 B of a budget of", "cuMemAlloc(", "(2)")
		if u := second.Usage(); u.Used != 0 || u.Live != 0 {
			t.Errorf("%+v", u)
		}
		return th.Synchronize() // the device is not lost
	})
	onThread(t, first, most.Free)
}
