package device

import (
	"errors"
	"fmt"
)

var (
	// ErrUnavailable: there is no driver or device that can be used.
	ErrUnavailable = errors.New("device unavailable")
	// ErrAbsent: there is no driver, or it has no device. Other errors that wrap ErrUnavailable are of
	// a device, or of a driver that may have one.
	ErrAbsent = fmt.Errorf("%w: none is there", ErrUnavailable)
	// ErrOldDriver: the driver is too old for the kernels.
	ErrOldDriver = fmt.Errorf("%w: old driver", ErrUnavailable)
	// ErrOldDevice: the device is too old for the kernels.
	ErrOldDevice = fmt.Errorf("%w: old device", ErrUnavailable)
	// ErrBusy: another process has the device for itself, or its compute mode forbids its use.
	ErrBusy = fmt.Errorf("%w: device busy", ErrUnavailable)
	// ErrLost: the driver reported an error after which this process cannot use the device again.
	ErrLost = fmt.Errorf("%w: device lost", ErrUnavailable)
	// ErrKernels: the driver refused the kernels, as assembled code and as PTX.
	ErrKernels = errors.New("kernels not loaded")
	// ErrMemory: an allocation exceeds the device's budget, or the driver refused it.
	ErrMemory = errors.New("not enough device memory")
	// ErrClosed: the device was used after Close.
	ErrClosed = errors.New("device closed")
)

// unavailableError is why there is no device that can be used. kind, which is ErrUnavailable or wraps it, is
// not in the text.
type unavailableError struct{ kind, why error }

func (e *unavailableError) Error() string {
	return "gpu: " + ErrUnavailable.Error() + ": " + e.why.Error()
}
func (e *unavailableError) Unwrap() []error { return []error{e.kind, e.why} }

// unavailable returns an error that wraps kind, which is ErrUnavailable or wraps it.
func unavailable(kind error, format string, args ...any) error {
	return &unavailableError{kind, fmt.Errorf(format, args...)}
}
