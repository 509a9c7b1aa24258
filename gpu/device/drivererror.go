//go:build cuda && cgo

package device

import (
	"fmt"
	"reflect"
	"strings"
)

// Driver codes (CUresult in cuda.h) that this package distinguishes.
const (
	codeOutOfMemory       = 2
	codeStubLibrary       = 34
	codeDeviceUnavailable = 46
	codeNoDevice          = 100
	codeInvalidImage      = 200
	codeNoBinary          = 209 // no code in the image is for this device
	codeNotReady          = 600
)

// DriverError is a failed call of the CUDA driver. By its code it wraps ErrLost if the device cannot be used
// afterwards, ErrMemory or ErrKernels.
type DriverError struct {
	Call string // the call with its arguments, such as "cuMemAlloc(4 MiB for queries)"
	Code int    // CUresult
	Log  string // additional information, such as the compiler's log or the last kernels; may be empty
}

func (e *DriverError) Error() string {
	var b strings.Builder
	name, text := codeName(e.Code), codeText(e.Code)
	if name == "" {
		name = "CUDA error"
	}
	fmt.Fprintf(&b, "%s: %s (%d)", e.Call, name, e.Code)
	if text != "" && text != name {
		b.WriteString(": " + text)
	}
	if e.Log != "" {
		b.WriteString("; " + e.Log)
	}
	return b.String()
}

// Unwrap returns what the code means.
func (e *DriverError) Unwrap() error {
	switch {
	case sticky(e.Code):
		return ErrLost
	case e.Code == codeOutOfMemory:
		return ErrMemory
	case refusesCode(e.Code):
		return ErrKernels
	}
	return nil
}

// refusesCode reports whether a code says that a module cannot be loaded.
func refusesCode(code int) bool {
	switch code {
	case codeInvalidImage, codeNoBinary,
		218, // invalid PTX
		221, // no compiler
		222, // PTX of a later version
		223: // compilation is disabled
		return true
	}
	return false
}

// sticky reports whether a code leaves the context corrupt: by the driver's manual the process
// cannot use the device after it.
func sticky(code int) bool {
	switch code {
	case 4, // deinitialized
		46,  // device unavailable
		214, // ECC uncorrectable
		220, // NVLink uncorrectable
		226, // contained by the device
		700, // illegal address
		702, // launch timeout
		709, // context is destroyed
		710, // assert
		714, // hardware stack error
		715, // illegal instruction
		716, // misaligned address
		717, // invalid address space
		718, // invalid program counter
		719, // launch failed
		721, // tensor memory leak
		812, // MPS client terminated
		911, // external device
		999: // unknown
		return true
	}
	return false
}

// driverCode is the error of a call made by this package directly.
type driverCode int

func (c driverCode) Error() string { return fmt.Sprintf("CUDA error %d", int(c)) }

func result(code int) error {
	if code == 0 {
		return nil
	}
	return driverCode(code)
}

// codeOf returns the CUresult in an error of gorgonia.org/cu, whose type is an unexported
// integer, or of calls.go; -1 if there is none.
func codeOf(err error) int {
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return int(v.Int())
	}
	return -1
}
