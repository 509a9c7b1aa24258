//go:build cuda && cgo

package gpu

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"thresher/gpu/device"
	"thresher/gpu/device/emulator"
)

// forcePTX is the driver's own variable, which has it refuse assembled code and compile PTX. A driver reads it when a
// process begins to use it, the emulator at every load.
const forcePTX = "CUDA_FORCE_PTX_JIT"

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
		t.Setenv(forcePTX, c.jit)
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
			t.Errorf("%s, %s=%s: not one line with %q: %s", c.capability, forcePTX, c.jit, c.want, &log)
		}
		if err := m.close(); err != nil {
			t.Error(c.capability, err)
		}
	}
}

// TestPTXPath: under CUDA_FORCE_PTX_JIT every module is compiled from PTX, those of tests included.
func TestPTXPath(t *testing.T) {
	if emulator.Present() {
		t.Setenv(forcePTX, "1")
	}
	if os.Getenv(forcePTX) != "1" {
		t.Skip(forcePTX + " is not 1: bench/gpu sets it")
	}
	m := testMachine(t, Options{})
	err := m.onThread(t.Context(), func(thread *device.Thread) error {
		for _, name := range testModules {
			if err := m.loadModule(thread, name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, module := range m.modules {
		if module.Assembled {
			t.Errorf("module %d, with %v, is assembled", i, module.Kernels())
		}
		if emulator.Present() && (module.Refused == nil || !strings.Contains(module.Refused.Error(), "CUDA_ERROR_NO_BINARY_FOR_GPU (209)")) {
			t.Errorf("module %d, with %v, was refused with %v", i, module.Kernels(), module.Refused)
		}
	}
}
