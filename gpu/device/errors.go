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

// kindError is an error of a kind that its text does not name.
type kindError struct {
	error
	kind error
}

func (e *kindError) Unwrap() []error { return []error{e.error, e.kind} }

// unavailable returns an error that wraps kind, which is ErrUnavailable or wraps it.
func unavailable(kind error, format string, args ...any) error {
	return &kindError{kind: kind, error: fmt.Errorf("gpu: "+ErrUnavailable.Error()+": "+format, args...)}
}
