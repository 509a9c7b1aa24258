//go:build cuda && cgo

package gpu

import "testing"

// TestAssembledCode: a device of capability 9.0 is offered the cubins, which the emulator refuses; the
// kernels are then compiled from PTX.
func TestAssembledCode(t *testing.T) {
	needEmulator(t)
	t.Setenv("EMU_CC", "90")
	m := testMachine(t, Options{})
	if len(m.functions) < 25 || m.assembled() {
		t.Errorf("%d kernels, assembled is %v", len(m.functions), m.assembled())
	}
}
