//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
)

// TestMeasure checks that costs can be measured, with small sizes, and that nothing of it stays on
// the device.
func TestMeasure(t *testing.T) {
	b := open(t, Options{}).(*Backend)
	defer shut(t, "backend", b.Close)
	m := b.machines[0]
	before := m.d.Usage()
	small := trialSize{atoms: 512, near: 512, m: 8, rounds: 1, warm: 1}
	c, err := m.measure(t.Context(), small)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	if after := m.d.Usage(); after != before {
		t.Errorf("%+v before, %+v after", before, after)
	}
	for n := 0; ; n += 1 + n/3 {
		ctx := backendtest.NewCountdown(n, context.Canceled)
		_, err := m.measure(ctx, small)
		if after := m.d.Usage(); after != before {
			t.Fatalf("stopped after %d: %+v before, %+v after", n, before, after)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	builtin := b.Describe().Costs
	if err := builtin.Check(); err != nil {
		t.Error(err)
	}
	var _ backend.Describer = b
}

// TestListTrial checks that the trial that times listing lists all pairs: no list overflows, which
// would set flags instead; and that the one that times mixed codes scans all queries and lists none.
func TestListTrial(t *testing.T) {
	m := testMachine(t, Options{})
	err := m.do(t.Context(), func(q *queue) (err error) {
		x := &trial{queue: q, sizes: trialSize{atoms: 2048, near: 1024, m: 9, rounds: 1}}
		r := &resident{m: m}
		defer func() { err = errors.Join(err, x.freeMemory(r)) }()
		if err := x.allocate(r); err != nil {
			return err
		}
		if ns := x.listTime(t.Context()); !(ns > 0) {
			t.Errorf("%g ns a pair", ns)
		}
		if err := x.b.syncStates(q); err != nil {
			return err
		}
		for j, s := range x.b.states {
			if s.flags != 0 || int(s.listed) != x.sizes.near {
				t.Errorf("query %d lists %d of %d atoms, flags %#x", j, s.listed, x.sizes.near, s.flags)
			}
		}
		if ns := x.mixedTime(t.Context()); !(ns > 0) {
			t.Errorf("%g ns at mixed codes", ns)
		}
		if err := x.b.syncStates(q); err != nil {
			return err
		}
		for j, s := range x.b.states {
			if s.flags != flagMixed || s.listed != 0 {
				t.Errorf("query %d lists %d atoms at mixed codes, flags %#x", j, s.listed, s.flags)
			}
		}
		if x.g.lists != x.lists {
			t.Error("the lists are others afterwards")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
