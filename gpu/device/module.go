//go:build cuda && cgo

package device

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorgonia.org/cu"
)

// Module is code that the driver has loaded on this device.
type Module struct {
	// Assembled is set if it is the cubin that Load was given, and not what the driver compiled from PTX.
	Assembled bool
	// Refused is why the driver did not take that cubin; nil if it did, or there was none.
	Refused error

	d         *Device
	name      string
	m         cu.Module
	ptx       ptxInfo
	functions map[string]*Function
	held      *allocation
}

// Load loads a cubin, which an assembler made of the PTX for this device, or if it is nil, or the driver
// refuses it, lets the driver compile the PTX; errors contain name. The driver caches what it
// compiled on disk, so the first run of a program takes longer than later ones.
//
// Whatever the driver's reason, the PTX may work: an older driver may know the device and not the format of the
// cubin, and CUDA_FORCE_PTX_JIT has it refuse all. Only after an error that loses the device nothing else is tried.
func (t *Thread) Load(name string, ptx, cubin []byte) (*Module, error) {
	if err := t.live(); err != nil {
		return nil, err
	}
	info, err := parsePTX(string(ptx))
	if err != nil {
		return nil, fmt.Errorf("gpu: %s: %w", name, err)
	}
	if info.major > ptxMajor || info.major == ptxMajor && info.minor > ptxMinor {
		return nil, fmt.Errorf("gpu: %s: PTX %d.%d, and drivers are checked for %d.%d", name, info.major, info.minor, ptxMajor, ptxMinor)
	}
	m := &Module{d: t.d, name: name, ptx: info, functions: make(map[string]*Function)}
	if cubin != nil {
		m.Refused = m.loadCubin(t, cubin)
		m.Assembled = m.Refused == nil
	}
	switch {
	case m.Assembled:
		return m, nil
	case errors.Is(m.Refused, ErrLost):
		return nil, m.Refused
	}
	if err := m.loadImage(t, ptx, fmt.Sprintf("PTX %d.%d for %s", info.major, info.minor, info.target)); err != nil {
		if m.Refused != nil {
			err = fmt.Errorf("%w; before that, %w", err, m.Refused)
		}
		return nil, err
	}
	return m, nil
}

// loadCubin loads assembled code and all its kernels, which a driver may put off until they are asked for.
func (m *Module) loadCubin(t *Thread, cubin []byte) error {
	if err := m.loadImage(t, cubin, "assembled"); err != nil {
		return err
	}
	for _, kernel := range m.Kernels() {
		if _, err := m.Function(t, kernel); err != nil {
			clear(m.functions)
			return errors.Join(err, m.Unload(t))
		}
	}
	return nil
}

// loadImage loads PTX or a cubin; what says in an error which.
func (m *Module) loadImage(t *Thread, image []byte, what string) error {
	log := &cu.JITErrorLogBuffer{Buffer: make([]byte, 8<<10)}
	h, err := cu.LoadDataEx(string(image), log)
	if err != nil {
		e := &DriverError{Call: fmt.Sprintf("cuModuleLoadDataEx(%s, %s)", m.name, what), Code: codeOf(err)}
		text, _, _ := bytes.Cut(log.Buffer, []byte{0})
		e.Log = strings.TrimSpace(string(text))
		return t.failed(e)
	}
	m.m = h
	m.held = &allocation{kind: "module", purpose: m.name, free: m.Unload}
	t.d.memory.add(m.held)
	return nil
}

// Unload waits for the device's work and releases the module and its functions. Further calls do
// nothing.
func (m *Module) Unload(t *Thread) error {
	if m == nil || m.held == nil {
		return nil
	}
	if err := t.owns(m.d); err != nil {
		return err
	}
	t.d.memory.remove(m.held)
	m.held = nil
	ready := errors.Join(t.enqueueCollected(), t.dropGraphs()) // graphs refer to the module's kernels
	return errors.Join(ready, t.freeAfterSync("cuModuleUnload("+m.name+")", m.m.Unload))
}

// Kernels returns the names of the module's kernels, sorted.
func (m *Module) Kernels() []string { return slices.Sorted(maps.Keys(m.ptx.entries)) }
