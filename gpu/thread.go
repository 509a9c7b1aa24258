//go:build cuda && cgo

package gpu

import (
	"errors"
	"fmt"

	"gorgonia.org/cu"
)

// Thread is the OS thread of a function that Do runs, with the device's context
// current. It is good until the function returns, on its goroutine only: on others
// the driver refuses calls, for want of a context. Every driver call takes one, so
// that none can be made elsewhere.
type Thread struct{ d *Device }

// Device is the device whose context is current.
func (t *Thread) Device() *Device { return t.d }

// live says whether t may be used: its function has not returned.
func (t *Thread) live() error {
	if t == nil || t.d == nil {
		return errors.New("gpu: a Thread was used after the function given to Do returned")
	}
	return nil
}

// owns says whether t may be used and is the thread of d.
func (t *Thread) owns(d *Device) error {
	if err := t.live(); err != nil {
		return err
	}
	if t.d != d {
		return fmt.Errorf("gpu: something of device %d was used on the thread of device %d", d.info.Index, t.d.info.Index)
	}
	return nil
}

// Synchronize waits for everything enqueued on the device.
func (t *Thread) Synchronize() error {
	if err := t.live(); err != nil {
		return err
	}
	if err := cu.Synchronize(); err != nil {
		return t.fail(err, "cuCtxSynchronize()")
	}
	return nil
}

// giveBack waits for the device's work, for the driver promises no order between
// freeing and what is enqueued, and then frees. On a lost device there is
// nothing to be done: what it had ends with its context.
func (t *Thread) giveBack(call string, free func() error) error {
	if t.d.Lost() != nil {
		return nil
	}
	wait := t.Synchronize()
	if err := free(); err != nil && wait == nil {
		return t.fail(err, "%s", call)
	}
	return wait
}

// fail makes a *DriverError of what a driver call returned, and marks the
// device as lost when the code is sticky. The call's arguments are formatted
// here, so that a call that succeeds costs nothing more.
func (t *Thread) fail(err error, call string, args ...any) error {
	return t.failed(&DriverError{Call: fmt.Sprintf(call, args...), Code: codeOf(err)})
}

func (t *Thread) failed(e *DriverError) error {
	if sticky(e.Code) {
		if e.Log == "" {
			e.Log = t.d.last.String()
		}
		t.d.lose(e)
	}
	return fmt.Errorf("gpu: device %d: %w", t.d.info.Index, e)
}
