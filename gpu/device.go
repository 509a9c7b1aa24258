//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"gorgonia.org/cu"

	"thresher/backend"
)

// The least compute capability: the kernels are compiled for 8.0, whose cp.async and mma shapes
// they use.
const minMajor, minMinor = 8, 0

// Devices describes the devices of this machine in the driver's order, usable
// ones and others. The error is Driver's.
func Devices() ([]Info, error) {
	if err := Driver(); err != nil {
		return nil, err
	}
	n, err := countDevices()
	if err != nil {
		return nil, err
	}
	infos := make([]Info, n)
	for i := range infos {
		if _, infos[i], err = describe(i); err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// DeviceOptions are the choices at opening a device. The zero value is good.
type DeviceOptions struct {
	// Memory is how many bytes of device memory may be allocated; 0 takes
	// what is free at opening, less a reserve for the driver's own needs.
	Memory int64
}

// Device is one GPU with its primary context. Its methods are safe for
// concurrent use. Close must be called.
type Device struct {
	info Info
	dev  cu.Device
	ctx  cu.CUContext

	turn   chan struct{} // holds something while a function runs, and after Close
	stop   chan struct{} // closed by Close: no further function runs
	closer sync.Once
	result error // of Close

	memory ledger

	mu   sync.Mutex
	lost error // the first sticky error
	last launchLog
}

// OpenDevice opens the device with this index. Devices of compute capability
// below 8.0 are refused with an error that wraps backend.ErrUnavailable.
// Opening an index twice gives two Devices that share the GPU's context and
// memory, each with a budget of its own.
func OpenDevice(index int, opt DeviceOptions) (*Device, error) {
	if err := Driver(); err != nil {
		return nil, err
	}
	n, err := countDevices()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= n {
		return nil, unavailable("there is no device %d: the driver has %d", index, n)
	}
	dev, info, err := describe(index)
	if err != nil {
		return nil, err
	}
	if info.Major < minMajor || info.Major == minMajor && info.Minor < minMinor {
		return nil, unavailable("device %d (%s): compute capability %d.%d is below %d.%d", index, info.Name, info.Major, info.Minor, minMajor, minMinor)
	}
	d := &Device{info: info, dev: dev, turn: make(chan struct{}, 1), stop: make(chan struct{})}
	if err := d.open(opt); err != nil {
		return nil, fmt.Errorf("gpu: open device %d (%s): %w", index, info.Name, err)
	}
	return d, nil
}

// open retains the primary context and sets the budget.
func (d *Device) open(opt DeviceOptions) (err error) {
	if d.ctx, err = d.dev.RetainPrimaryCtx(); err != nil {
		return &DriverError{Call: "cuDevicePrimaryCtxRetain()", Code: codeOf(err)}
	}
	err = d.within(func(*Thread) error {
		free, total, err := cu.MemInfo()
		if err != nil {
			return &DriverError{Call: "cuMemGetInfo()", Code: codeOf(err)}
		}
		return d.memory.open(opt.Memory, free, total)
	})
	if err != nil {
		return errors.Join(err, d.leave())
	}
	return nil
}

func countDevices() (int, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return 0, fmt.Errorf("gpu: %w", &DriverError{Call: "cuDeviceGetCount()", Code: codeOf(err)})
	}
	return n, nil
}

// describe asks the driver for a device's properties; no context is needed.
func describe(index int) (dev cu.Device, info Info, err error) {
	fail := func(err error, call string) (cu.Device, Info, error) {
		return 0, Info{}, fmt.Errorf("gpu: device %d: %w", index, &DriverError{Call: call, Code: codeOf(err)})
	}
	if dev, err = cu.GetDevice(index); err != nil {
		return fail(err, "cuDeviceGet()")
	}
	info.Index = index
	if info.Name, err = dev.Name(); err != nil {
		return fail(err, "cuDeviceGetName()")
	}
	if info.Memory, err = dev.TotalMem(); err != nil {
		return fail(err, "cuDeviceTotalMem()")
	}
	var ecc, domain, bus, slot int
	for _, a := range []struct {
		to   *int
		what cu.DeviceAttribute
	}{
		{&info.Major, cu.ComputeCapabilityMajor}, {&info.Minor, cu.ComputeCapabilityMinor},
		{&info.Multiprocessors, cu.MultiprocessorCount}, {&info.L2, cu.L2CacheSize},
		{&info.SharedPerBlock, sharedOptIn}, {&info.SharedPerSM, cu.MaxSharedMemoryPerMultiprocessor},
		{&info.ThreadsPerSM, cu.MaxThreadsPerMultiprocessor}, {&info.WarpSize, cu.WarpSize},
		{&ecc, cu.EccEnabled}, {&domain, cu.PciDomainID}, {&bus, cu.PciBusID}, {&slot, cu.PciDeviceID},
	} {
		if *a.to, err = dev.Attribute(a.what); err != nil {
			return fail(err, fmt.Sprintf("cuDeviceGetAttribute(%d)", int(a.what)))
		}
	}
	info.ECC = ecc != 0
	info.PCI = fmt.Sprintf("%04x:%02x:%02x", domain, bus, slot)
	return dev, info, nil
}

// Info describes the device.
func (d *Device) Info() Info { return d.info }

// Do runs f, when those that came before have ended, and returns its error. f runs
// on the caller's goroutine, which is locked to its OS thread for so long: that
// costs less than a microsecond when nobody is at work, but others wait until f
// returns and have to be woken, so f should be a whole round of work.
//
// A ctx that ends before f has started returns its error, and f never runs.
// Once f has started Do waits for it: f may look at ctx itself, and
// Stream.Wait returns early when ctx ends, leaving what is enqueued to finish.
// A panic in f is returned as an error. On a device that is lost Do returns the
// error that lost it, which wraps ErrLost; after Close, backend.ErrClosed. f
// must not call Do of its own device.
func (d *Device) Do(ctx context.Context, f func(*Thread) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.stop:
		return fmt.Errorf("gpu: device %d (%s): %w", d.info.Index, d.info.Name, backend.ErrClosed)
	}
	defer func() { <-d.turn }()
	if err := d.Lost(); err != nil {
		return err
	}
	return d.within(f)
}

// within runs f with the context current on its OS thread, and leaves the thread
// as it was.
func (d *Device) within(f func(*Thread) error) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t := &Thread{d}
	defer func() { t.d = nil }()
	if err := cu.PushCurrentCtx(d.ctx); err != nil {
		return t.fail(err, "cuCtxPushCurrent()")
	}
	defer func() {
		if _, e := cu.PopCurrentCtx(); e != nil {
			err = errors.Join(err, t.fail(e, "cuCtxPopCurrent()"))
		}
	}()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("gpu: panic in a function on device %d: %v\n%s", d.info.Index, r, debug.Stack())
		}
	}()
	return f(t)
}

// Close waits for the function that is running, frees what is still allocated
// and lets go of the context. The error names allocations, streams, events and
// modules that nobody had freed, unless the device is lost. Later calls return
// the same.
func (d *Device) Close() error {
	d.closer.Do(func() {
		close(d.stop)
		d.turn <- struct{}{} // for good
		left, gone := d.within(d.memory.close), d.leave()
		if d.Lost() == nil { // of a lost device there is nothing left to report
			d.result = errors.Join(left, gone)
		}
	})
	return d.result
}

// Lost is the error that lost the device, or nil.
func (d *Device) Lost() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == nil {
		return nil
	}
	return fmt.Errorf("gpu: device %d (%s) was lost: %w", d.info.Index, d.info.Name, d.lost)
}

// leave lets go of the context; the last to do so ends it.
func (d *Device) leave() error {
	if err := d.dev.ReleasePrimaryCtx(); err != nil {
		return fmt.Errorf("gpu: close device %d: %w", d.info.Index, &DriverError{Call: "cuDevicePrimaryCtxRelease()", Code: codeOf(err)})
	}
	return nil
}

// lose marks the device as failed by err, unless it already is.
func (d *Device) lose(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == nil {
		d.lost = err
	}
}
