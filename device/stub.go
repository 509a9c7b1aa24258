//go:build !(cuda && cgo)

package device

import (
	"fmt"
)

// Driver returns why no device can be used: this build lacks CUDA. The error wraps
// ErrUnavailable.
func Driver() error {
	return fmt.Errorf("gpu: %w: this binary was built without CUDA (go build -tags cuda, with cgo)", ErrUnavailable)
}

// Devices returns Driver's error: this build lacks CUDA.
func Devices() ([]Info, error) { return nil, Driver() }

// DriverVersion returns Driver's error.
func DriverVersion() (string, error) { return "", Driver() }
