//go:build cuda && cgo

package device

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"gorgonia.org/cu"
)

// Devices describes the devices of this machine in the driver's order, including unusable ones. The
// error is Driver's, or wraps ErrAbsent if there is none.
func Devices() ([]Info, error) {
	if err := Driver(); err != nil {
		return nil, err
	}
	n, err := countDevices()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, unavailable(ErrAbsent, "the driver has no device")
	}
	infos := make([]Info, n)
	for i := range infos {
		if _, infos[i], err = describe(i); err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// Options configure Open; the zero value is the defaults.
type Options struct {
	// Memory is the number of bytes of device memory that may be allocated; 0 is what is free when the
	// device opens, less a reserve for the driver.
	Memory int64
}

// Device is one GPU with its primary context. Its methods are safe for concurrent use. Close must be
// called.
type Device struct {
	info Info
	dev  cu.Device
	ctx  cu.CUContext

	busy      chan struct{} // full while a function runs, and after Close
	stop      chan struct{} // closed by Close: no further function starts
	closeOnce sync.Once
	closeErr  error // of Close

	memory   ledger
	sequence launchSequence

	mu   sync.Mutex
	lost error // the first sticky error
	last launchLog
}

// Open opens the device with this index. The error wraps ErrUnavailable if there is no such device,
// ErrOldDevice if its compute capability is below 8.0, ErrBusy if another process has it, and ErrMemory if
// others leave too little memory. Two Devices of the same index share the GPU's
// context and memory, and each has a budget of its own.
func Open(index int, opt Options) (*Device, error) {
	if err := Driver(); err != nil {
		return nil, err
	}
	n, err := countDevices()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= n {
		return nil, unavailable(ErrUnavailable, "there is no device %d: the driver has %d", index, n)
	}
	dev, info, err := describe(index)
	if err != nil {
		return nil, err
	}
	if err := info.Usable(); err != nil {
		return nil, err
	}
	d := &Device{info: info, dev: dev, busy: make(chan struct{}, 1), stop: make(chan struct{})}
	if err := d.retainContext(opt); err != nil {
		return nil, fmt.Errorf("gpu: open device %d (%s): %w", index, info.Name, err)
	}
	return d, nil
}

// retainContext retains the primary context and sets the budget.
func (d *Device) retainContext(opt Options) (err error) {
	if d.ctx, err = d.dev.RetainPrimaryCtx(); err != nil {
		return refusedContext(&DriverError{Call: "cuDevicePrimaryCtxRetain()", Code: codeOf(err)})
	}
	err = d.withContext(func(*Thread) error {
		free, total, err := cu.MemInfo()
		if err != nil {
			return &DriverError{Call: "cuMemGetInfo()", Code: codeOf(err)}
		}
		return d.memory.setBudget(opt.Memory, free, total)
	})
	if err != nil {
		return errors.Join(err, d.releaseContext())
	}
	return nil
}

// refusedContext returns what the driver says where it makes no context: it loses none, but the device
// may be another process's.
func refusedContext(e *DriverError) error {
	if e.Code == codeDeviceUnavailable {
		return &kindError{e, ErrBusy}
	}
	return e
}

func countDevices() (int, error) {
	n, err := cu.NumDevices()
	if err != nil {
		return 0, fmt.Errorf("gpu: %w", &DriverError{Call: "cuDeviceGetCount()", Code: codeOf(err)})
	}
	return n, nil
}

// describe returns the properties of a device; it needs no context.
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
	uuid, err := dev.UUID()
	if err != nil {
		return fail(err, "cuDeviceGetUuid()")
	}
	info.UUID = "GPU-" + uuid.String()
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

// Do calls f once no other function is running on the device, and returns its error. f runs on the
// caller's goroutine, locked to its OS thread, with the device's context current. That costs less than
// a microsecond if the device is free; concurrent callers wait until f returns and must be woken, so f
// should do a complete round of work.
//
// If ctx ends before f has started, Do returns ctx's error and f is not called. Once f has started, Do
// waits for it: f may check ctx itself, and Stream.Wait returns early when ctx ends while enqueued work
// continues. A panic in f is returned as an error. On a lost device Do returns the error that lost it,
// which wraps ErrLost; after Close, ErrClosed. f must not call Do of the same device.
func (d *Device) Do(ctx context.Context, f func(*Thread) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case d.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.stop:
		return fmt.Errorf("gpu: device %d (%s): %w", d.info.Index, d.info.Name, ErrClosed)
	}
	defer func() { <-d.busy }()
	if err := d.Lost(); err != nil {
		return err
	}
	return d.withContext(f)
}

// TryDo is Do unless the device is busy, lost or closed; then it does nothing. It reports whether f was
// called.
func (d *Device) TryDo(f func(*Thread) error) (called bool, err error) {
	select {
	case d.busy <- struct{}{}:
	default:
		return false, nil
	}
	defer func() { <-d.busy }()
	if d.Lost() != nil {
		return false, nil
	}
	return true, d.withContext(f)
}

// withContext calls f with the context current on its OS thread, and restores the thread afterwards.
func (d *Device) withContext(f func(*Thread) error) (err error) {
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
	defer func() { err = t.endCollecting(err) }()
	return f(t)
}

// Close waits for the running function, frees what is still allocated and releases the context. Unless
// the device is lost, the error lists allocations, streams, events and modules that were not freed.
// Later calls return the same error.
func (d *Device) Close() error {
	d.closeOnce.Do(func() {
		close(d.stop)
		d.busy <- struct{}{} // never released
		left := d.withContext(func(t *Thread) error { return errors.Join(t.dropGraphs(), d.memory.freeAll(t)) })
		gone := d.releaseContext()
		if d.Lost() == nil { // a lost device has nothing left to free
			d.closeErr = errors.Join(left, gone)
		}
	})
	return d.closeErr
}

// Lost returns the error that lost the device, or nil.
func (d *Device) Lost() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == nil {
		return nil
	}
	return fmt.Errorf("gpu: device %d (%s) was lost: %w", d.info.Index, d.info.Name, d.lost)
}

// releaseContext releases the primary context, which ends with its last user.
func (d *Device) releaseContext() error {
	if err := d.dev.ReleasePrimaryCtx(); err != nil {
		return fmt.Errorf("gpu: close device %d: %w", d.info.Index, &DriverError{Call: "cuDevicePrimaryCtxRelease()", Code: codeOf(err)})
	}
	return nil
}

// markLost marks the device as failed by err, unless it already is.
func (d *Device) markLost(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == nil {
		d.lost = err
	}
}
