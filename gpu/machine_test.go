//go:build cuda && cgo

package gpu

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestAssembledCode: a device of each capability for which there is code is offered it. The emulator refuses it, as a
// driver does under CUDA_FORCE_PTX_JIT; the kernels are then compiled from PTX, and the reason is logged once.
func TestAssembledCode(t *testing.T) {
	needEmulator(t)
	for _, c := range []struct{ capability, jit, want string }{
		{"80", "", "CUDA_ERROR_INVALID_IMAGE (200)"},
		{"87", "", "CUDA_ERROR_INVALID_IMAGE (200)"},
		{"90", "", "CUDA_ERROR_INVALID_IMAGE (200)"},
		{"121", "", "CUDA_ERROR_INVALID_IMAGE (200)"},
		{"90", "1", "CUDA_ERROR_NO_BINARY_FOR_GPU (209)"},
		{"110", "", ""}, // no code to offer
	} {
		t.Setenv("EMU_CC", c.capability)
		t.Setenv("CUDA_FORCE_PTX_JIT", c.jit)
		var log bytes.Buffer
		m, err := openMachine(0, &Options{}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(c.capability, err)
		}
		if len(m.functions) < 25 || m.assembled() {
			t.Errorf("%s: %d kernels, assembled is %v", c.capability, len(m.functions), m.assembled())
		}
		lines := strings.Count(log.String(), "\n")
		if c.want == "" && lines != 0 || c.want != "" && (lines != 1 || !strings.Contains(log.String(), c.want)) {
			t.Errorf("%s, CUDA_FORCE_PTX_JIT=%s: not one line with %q: %s", c.capability, c.jit, c.want, &log)
		}
		if err := m.close(); err != nil {
			t.Error(c.capability, err)
		}
	}
}
