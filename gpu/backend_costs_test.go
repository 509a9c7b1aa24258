//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
)

// TestMeasure checks that costs can be measured, on little, and that nothing of it
// stays on the device.
func TestMeasure(t *testing.T) {
	b := open(t, Options{}).(*Backend)
	defer shut(t, "backend", b.Close)
	m := b.machines[0]
	before := m.d.Usage()
	small := trialSize{atoms: 2048, near: 1024, m: 8, rounds: 1}
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
	builtin := b.Costs()
	if err := builtin.Check(); err != nil {
		t.Error(err)
	}
	var _ backend.Coster = b
}
