package gpu

import (
	"errors"

	"thresher/backend"
	"thresher/device"
)

// contractErrors are the errors of devices, each with what the contract of backends calls it.
var contractErrors = [...]struct{ device, contract error }{
	{device.ErrUnavailable, backend.ErrUnavailable},
	{device.ErrMemory, backend.ErrMemory},
	{device.ErrClosed, backend.ErrClosed},
}

// contractError is an error of a device that is also one of the contract's, with its own text.
type contractError struct {
	error
	is []error
}

// Unwrap returns the device's error and the contract's.
func (e *contractError) Unwrap() []error { return append([]error{e.error}, e.is...) }

// inContract returns err such that errors.Is finds what the contract calls it. Everything that this
// package returns of a device passes through it.
func inContract(err error) error {
	var is []error
	for _, e := range contractErrors {
		if errors.Is(err, e.device) && !errors.Is(err, e.contract) {
			is = append(is, e.contract)
		}
	}
	if len(is) == 0 {
		return err
	}
	return &contractError{err, is}
}
