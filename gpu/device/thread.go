//go:build cuda && cgo

package device

import (
	"errors"
	"fmt"

	"gorgonia.org/cu"
)

// Thread is the OS thread of a function called by Do, with the device's context current. It is valid on
// that function's goroutine until the function returns; on others the driver refuses calls for lack of a
// context. Everything that calls the driver takes a Thread, so that it cannot be called elsewhere.
type Thread struct{ d *Device }

// Device returns the device whose context is current.
func (t *Thread) Device() *Device { return t.d }

// live returns an error if the function that t was passed to has returned.
func (t *Thread) live() error {
	if t == nil || t.d == nil {
		return errors.New("gpu: a Thread was used after the function given to Do returned")
	}
	return nil
}

// owns returns an error unless t is valid and belongs to d.
func (t *Thread) owns(d *Device) error {
	if err := t.live(); err != nil {
		return err
	}
	if t.d != d {
		return fmt.Errorf("gpu: something of device %d was used on the thread of device %d", d.info.Index, t.d.info.Index)
	}
	return nil
}

// Synchronize waits for all work enqueued on the device.
func (t *Thread) Synchronize() error {
	if err := t.live(); err != nil {
		return err
	}
	ready := t.enqueueCollected()
	if err := cu.Synchronize(); err != nil { // it waits also for work that was enqueued before an error
		if err = t.fail(err, "cuCtxSynchronize()"); ready == nil {
			return err
		}
	}
	return ready
}

// freeAfterSync waits for the device's work, since the driver does not order freeing after it, and then
// calls free. On a lost device it does nothing: the memory ended with the context.
func (t *Thread) freeAfterSync(call string, free func() error) error {
	if t.d.Lost() != nil {
		return nil
	}
	wait := t.Synchronize()
	if err := free(); err != nil && wait == nil {
		return t.fail(err, "%s", call)
	}
	return wait
}

// fail returns the error of a driver call as a *DriverError, and marks the device as lost if the code
// is sticky. The call's arguments are formatted only here, so a call that succeeds does not pay for it.
func (t *Thread) fail(err error, call string, args ...any) error {
	return t.failed(&DriverError{Call: fmt.Sprintf(call, args...), Code: codeOf(err)})
}

func (t *Thread) failed(e *DriverError) error {
	if sticky(e.Code) {
		if e.Log == "" {
			e.Log = t.d.last.String()
		}
		t.d.markLost(e)
	}
	return fmt.Errorf("gpu: device %d: %w", t.d.info.Index, e)
}
