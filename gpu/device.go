//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"

	"gorgonia.org/cu"

	"thresher/backend"
)

// The least compute capability: the kernels are compiled for 8.0, whose
// cp.async and mma shapes they use.
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

	jobs   chan *job
	stop   chan struct{} // closed by Close: no further job is taken
	ended  chan struct{} // closed by the device's goroutine when all is released
	closer sync.Once
	result error // of Close; written before ended is closed

	memory ledger

	mu   sync.Mutex
	lost error // the first sticky error
	last launchLog
}

// job is one function on its way through the device's thread.
type job struct {
	f    func(*Thread) error
	err  error
	done chan struct{} // closed once err is set
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
	d := &Device{
		info:  info,
		dev:   dev,
		jobs:  make(chan *job),
		stop:  make(chan struct{}),
		ended: make(chan struct{}),
	}
	ready := make(chan error)
	go d.run(opt, ready)
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("gpu: open device %d (%s): %w", index, info.Name, err)
	}
	return d, nil
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

// Do runs f on the device's thread, after those that came before, and returns
// its error. Handing over costs some 13 us, so f should be a whole round of
// work rather than a call.
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
	j := &job{f: f, done: make(chan struct{})}
	select {
	case d.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.stop:
		return fmt.Errorf("gpu: device %d (%s): %w", d.info.Index, d.info.Name, backend.ErrClosed)
	}
	<-j.done
	return j.err
}

// Close waits for the function that is running, frees what is still allocated
// and lets go of the context. The error names allocations, streams, events and
// modules that nobody had freed, unless the device is lost. Later calls return
// the same.
func (d *Device) Close() error {
	d.closer.Do(func() { close(d.stop) })
	<-d.ended
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

// run is the life of the device's goroutine: retain the primary context, serve
// jobs, release everything.
func (d *Device) run(opt DeviceOptions, ready chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	ctx, err := d.dev.RetainPrimaryCtx()
	if err != nil {
		ready <- &DriverError{Call: "cuDevicePrimaryCtxRetain()", Code: codeOf(err)}
		return
	}
	d.ctx = ctx
	if err := d.enter(opt); err != nil {
		ready <- errors.Join(err, d.leave())
		return
	}
	ready <- nil
	d.serve()
}

// enter makes the context current on this thread and sets the budget.
func (d *Device) enter(opt DeviceOptions) error {
	if err := cu.SetCurrentContext(d.ctx); err != nil {
		return &DriverError{Call: "cuCtxSetCurrent()", Code: codeOf(err)}
	}
	free, total, err := cu.MemInfo()
	if err != nil {
		return &DriverError{Call: "cuMemGetInfo()", Code: codeOf(err)}
	}
	return d.memory.open(opt.Memory, free, total)
}

// serve runs jobs until Close. A job that ends its goroutine, as
// testing.T.FailNow does, takes the thread with it; another one goes on.
func (d *Device) serve() {
	orderly := false
	defer func() {
		if orderly {
			return
		}
		go func() {
			runtime.LockOSThread()
			if err := cu.SetCurrentContext(d.ctx); err != nil {
				d.lose(&DriverError{Call: "cuCtxSetCurrent()", Code: codeOf(err)})
			}
			d.serve()
		}()
	}()
	for {
		select {
		case j := <-d.jobs:
			d.do(j)
		case <-d.stop:
			orderly = true
			d.release()
			return
		}
	}
}

// do runs one job and tells its sender.
func (d *Device) do(j *job) {
	defer close(j.done)
	if j.err = d.Lost(); j.err != nil {
		return
	}
	t := &Thread{d: d, id: syscall.Gettid()}
	returned := false
	defer func() {
		t.d = nil
		if returned {
			return
		}
		if r := recover(); r != nil {
			j.err = fmt.Errorf("gpu: panic on the thread of device %d: %v\n%s", d.info.Index, r, debug.Stack())
			return
		}
		j.err = fmt.Errorf("gpu: the function on the thread of device %d ended its goroutine", d.info.Index)
	}()
	j.err = j.f(t)
	returned = true
}

// release frees what is left and lets go of the context.
func (d *Device) release() {
	defer close(d.ended)
	left := d.memory.close(&Thread{d: d, id: syscall.Gettid()})
	gone := d.leave()
	if d.Lost() == nil { // of a lost device there is nothing left to report
		d.result = errors.Join(left, gone)
	}
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
