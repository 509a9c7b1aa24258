//go:build !(cuda && cgo)

package gpu

import (
	"fmt"

	"thresher/backend"
)

// Driver says why no device can be used: this build has no CUDA in it. The
// error wraps backend.ErrUnavailable.
func Driver() error {
	return fmt.Errorf("gpu: %w: this binary was built without CUDA (go build -tags cuda, with cgo)", backend.ErrUnavailable)
}

// Devices describes the devices of this machine; here it returns Driver's error.
func Devices() ([]Info, error) { return nil, Driver() }

// DriverVersion returns Driver's error.
func DriverVersion() (string, error) { return "", Driver() }
