//go:build cuda && cgo

package device

import (
	"errors"
	"strings"
	"testing"

	"thresher/kernels"
)

// TestCubins: a cubin is loaded instead of PTX. If the driver refuses it, for whatever reason that does not lose the
// device, it compiles the PTX, and the module says why.
func TestCubins(t *testing.T) {
	needEmulator(t)
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		ptx, err := kernels.PTX("copy")
		if err != nil {
			return err
		}
		const elf = "\x7fELF"
		for _, c := range []struct {
			name, cubin, fail, jit string
			refused                string // in Refused; "" if the cubin is taken
			want                   string // in the error
		}{
			{name: "usable", cubin: string(ptx)}, // the emulator takes nothing but PTX
			{name: "no image", cubin: elf, refused: "cuModuleLoadDataEx(copy, assembled): CUDA_ERROR_INVALID_IMAGE (200)"},
			{name: "PTX asked for", cubin: elf, jit: "1", refused: "CUDA_ERROR_NO_BINARY_FOR_GPU (209)"},
			{name: "PTX not asked for", cubin: elf, jit: "0", refused: "(200)"},
			{name: "for another device", cubin: string(ptx), fail: "cuModuleLoadDataEx:1:209", refused: "(209)"},
			{name: "of a newer format", cubin: string(ptx), fail: "cuModuleLoadDataEx:1:223", refused: "(223)"},
			{name: "no memory for it", cubin: string(ptx), fail: "cuModuleLoadDataEx:1:2", refused: "CUDA_ERROR_OUT_OF_MEMORY (2)"},
			{name: "loaded late", cubin: string(ptx), fail: "cuModuleGetFunction:1:209", refused: "cuModuleGetFunction(copy, copy16): CUDA_ERROR_NO_BINARY_FOR_GPU (209)"},
			{name: "neither", cubin: string(ptx), fail: "cuModuleLoadDataEx:1+:2", want: "cuModuleLoadDataEx(copy, PTX 8.0 for sm_80): CUDA_ERROR_OUT_OF_MEMORY (2): out of memory; before that, gpu: device 0: cuModuleLoadDataEx(copy, assembled): CUDA_ERROR_OUT_OF_MEMORY (2)"},
			{name: "PTX alone", fail: "cuModuleLoadDataEx:1:2", want: "cuModuleLoadDataEx(copy, PTX 8.0 for sm_80): CUDA_ERROR_OUT_OF_MEMORY (2)"},
		} {
			t.Setenv(failVariable, c.fail)
			t.Setenv("CUDA_FORCE_PTX_JIT", c.jit)
			var cubin []byte
			if c.cubin != "" {
				cubin = []byte(c.cubin)
			}
			m, err := th.Load("copy", ptx, cubin)
			if c.want != "" {
				refused(t, err, nil, c.want)
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if m.Assembled != (c.refused == "") || (m.Refused == nil) != m.Assembled {
				t.Errorf("%s: assembled is %v, refused with %v", c.name, m.Assembled, m.Refused)
			}
			if c.refused != "" {
				refused(t, m.Refused, nil, c.refused)
			}
			if _, err := m.Function(th, "copy16"); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if err := m.Unload(th); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		t.Setenv(failVariable, "")
		if u := d.Usage(); u.Live != 0 {
			t.Errorf("after all modules were unloaded: %+v", u)
		}
		return nil
	})
}

// TestCubinLosesDevice: after an error that loses the device, the PTX is not tried.
func TestCubinLosesDevice(t *testing.T) {
	needEmulator(t)
	ptx, err := kernels.PTX("copy")
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"cuModuleLoadDataEx", "cuModuleGetFunction"} {
		d, err := Open(0, Options{})
		if err != nil {
			t.Fatal(call, err)
		}
		lost := d.Do(t.Context(), func(th *Thread) error {
			t.Setenv(failVariable, call+":1:719")
			m, err := th.Load("copy", ptx, ptx)
			t.Setenv(failVariable, "")
			if m != nil {
				t.Errorf("%s: a module is loaded, assembled is %v", call, m.Assembled)
			}
			return err
		})
		if !errors.Is(lost, ErrLost) || !strings.Contains(lost.Error(), call+"(copy, ") || strings.Contains(lost.Error(), "PTX") {
			t.Errorf("%s: %v", call, lost)
		}
		if err := d.Close(); err != nil { // the next device needs a new context
			t.Error(call, err)
		}
	}
}

// TestCubinRefusedHalfWay: after a refusal of its second kernel nothing of the assembled code is used.
func TestCubinRefusedHalfWay(t *testing.T) {
	needEmulator(t)
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		ptx, err := kernels.PTX("score")
		if err != nil {
			return err
		}
		t.Setenv(failVariable, "cuModuleGetFunction:2:209")
		m, err := th.Load("score", ptx, ptx)
		t.Setenv(failVariable, "")
		if err != nil {
			return err
		}
		if m.Assembled || len(m.Kernels()) < 2 {
			t.Errorf("%v, assembled is %v", m.Kernels(), m.Assembled)
		}
		for _, kernel := range m.Kernels() {
			f, err := m.Function(th, kernel)
			if err != nil {
				return err
			}
			if _, err := f.BlocksPerSM(th, 128, 0); err != nil {
				t.Error(err)
			}
		}
		return m.Unload(th)
	})
}
