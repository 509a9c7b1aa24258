package device

import (
	"errors"
	"fmt"
)

var (
	// ErrUnavailable: there is no driver or device that can be used.
	ErrUnavailable = errors.New("device unavailable")
	// ErrLost: the driver reported an error after which this process cannot use the device again.
	ErrLost = fmt.Errorf("%w: device lost", ErrUnavailable)
	// ErrMemory: an allocation exceeds the device's budget, or the driver refused it.
	ErrMemory = errors.New("not enough device memory")
	// ErrClosed: the device was used after Close.
	ErrClosed = errors.New("device closed")
)
