//go:build cuda && cgo

package device

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/cu"

	"thresher/gpu/device/emulator"
	"thresher/kernels"
)

// needDriver skips a test if there is no driver.
func needDriver(t *testing.T) {
	t.Helper()
	if err := Driver(); err != nil {
		t.Skipf("needs a GPU, or the emulator named by %s (make test-cuda): %v", libraryVariable, err)
	}
}

// onEmulator reports whether the driver is the emulator, which runs enqueued work only when
// something waits for it.
func onEmulator() bool { return Driver() == nil && emulator.Present() }

// openTest opens device 0; at the end of the test it closes the device and fails if something was
// not freed.
func openTest(t *testing.T, opt Options) *Device {
	t.Helper()
	needDriver(t)
	d, err := Open(0, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// onThread runs f by the device's Do and fails the test on its error.
func onThread(t *testing.T, d *Device, f func(*Thread) error) {
	t.Helper()
	if err := d.Do(context.Background(), f); err != nil {
		t.Fatal(err)
	}
}

// refused fails the test unless err wraps target, if that is not nil, and contains every want.
func refused(t *testing.T, err, target error, want ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one that says %q", want)
		return
	}
	if target != nil && !errors.Is(err, target) {
		t.Errorf("%v: does not wrap %q", err, target)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q lacks %q", err, w)
		}
	}
}

// copyKernel loads copy16: copy16(const uint4* src, uint4* dst, long long n).
func copyKernel(th *Thread) (*Module, *Function, error) {
	text, err := kernels.PTX("copy")
	if err != nil {
		return nil, nil, err
	}
	m, err := th.Load("copy", text, nil)
	if err != nil {
		return nil, nil, err
	}
	f, err := m.Function(th, "copy16")
	return m, f, err
}

func TestDevices(t *testing.T) {
	needDriver(t)
	infos, err := Devices()
	if err != nil || len(infos) == 0 {
		t.Fatal(infos, err)
	}
	d := openTest(t, Options{})
	got := d.Info()
	if got != infos[0] {
		t.Errorf("opened %+v, listed %+v", got, infos[0])
	}
	if got.Name == "" || got.Major < minMajor || got.Memory <= 0 || got.Multiprocessors <= 0 || got.WarpSize != 32 ||
		got.SharedPerBlock < plainShared || got.SharedPerSM < got.SharedPerBlock || got.ThreadsPerSM < 1024 || len(got.PCI) != len("0000:00:00") {
		t.Errorf("%+v", got)
	}
}

func TestOpenRefusals(t *testing.T) {
	needDriver(t)
	for _, index := range []int{-1, 1 << 20} {
		_, err := Open(index, Options{})
		refused(t, err, ErrUnavailable, "there is no device", "the driver has")
	}
	_, err := Open(0, Options{Memory: 1 << 60})
	refused(t, err, ErrMemory, "a budget of 1 EiB was asked for", "are free")
	_, err = Open(0, Options{Memory: -1})
	refused(t, err, nil, "-1 bytes")
}

// Functions run one at a time, whichever goroutine calls Do: the counter below is unguarded, and
// the race detector would report it.
func TestDoSerializes(t *testing.T) {
	d := openTest(t, Options{})
	const senders, each = 16, 25
	n := 0
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for range each {
				if err := d.Do(context.Background(), func(th *Thread) error {
					n++
					if th.Device() != d {
						return errors.New("another device")
					}
					return th.Synchronize()
				}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n != senders*each {
		t.Errorf("%d functions ran of %d", n, senders*each)
	}
}

func TestDoReturnsTheError(t *testing.T) {
	d := openTest(t, Options{})
	want := errors.New("of the function")
	if err := d.Do(context.Background(), func(*Thread) error { return want }); err != want {
		t.Error(err)
	}
}

// busy occupies the device until release is called, which waits until it is free again.
func busy(t *testing.T, d *Device) (release func()) {
	t.Helper()
	started, gate, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- d.Do(context.Background(), func(*Thread) error {
			close(started)
			<-gate
			return nil
		})
	}()
	<-started
	return func() {
		t.Helper()
		close(gate)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// askedContext reports when its error is first requested, and returns nil.
type askedContext struct {
	context.Context
	once  sync.Once
	asked chan struct{}
}

func (c *askedContext) Err() error {
	first := false
	c.once.Do(func() { first = true; close(c.asked) })
	if first {
		return nil
	}
	return c.Context.Err()
}

// A context that ends while the device is busy ends the wait at once, and the function never runs.
func TestDoGivesUpWaiting(t *testing.T) {
	d := openTest(t, Options{})
	release := busy(t, d)
	ended, cancel := context.WithCancel(context.Background())
	ctx := &askedContext{Context: ended, asked: make(chan struct{})}
	ran := false
	result := make(chan error)
	go func() { result <- d.Do(ctx, func(*Thread) error { ran = true; return nil }) }()
	<-ctx.asked // Do has begun, with a context that has not ended
	cancel()
	if err := <-result; err != context.Canceled { // while the device is still busy
		t.Error(err)
	}
	release()
	onThread(t, d, func(*Thread) error { return nil })
	if ran {
		t.Error("the function ran after Do had given up")
	}
	for range 64 { // with an idle device select would choose at random, if Do did not check the context first
		if err := d.Do(ctx, func(*Thread) error { ran = true; return nil }); err != context.Canceled || ran {
			t.Fatal("a context that had ended before: ", err, ran)
		}
	}
}

// Once its function runs, Do waits for it even if the context ends: the function may use the
// caller's memory.
func TestDoWaitsForWhatRuns(t *testing.T) {
	d := openTest(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := false
	if err := d.Do(ctx, func(*Thread) error {
		cancel()
		for range 100 {
			runtime.Gosched()
		}
		ended = true
		return nil
	}); err != nil || !ended {
		t.Error(err, ended)
	}
}

func TestDoSurvivesPanics(t *testing.T) {
	d := openTest(t, Options{})
	var b *Buffer[int32]
	onThread(t, d, func(th *Thread) (err error) { b, err = Alloc[int32](th, "kept", 4); return err })
	err := d.Do(context.Background(), func(*Thread) error { panic("split milk") })
	refused(t, err, nil, "panic in a function on device 0: split milk", "TestDoSurvivesPanics")

	var wg sync.WaitGroup // waits for a goroutine that exits within f, as with testing.T.FailNow
	wg.Go(func() { d.Do(context.Background(), func(*Thread) error { runtime.Goexit(); return nil }) })
	wg.Wait()

	onThread(t, d, func(th *Thread) error {
		if err := b.Upload(th, 0, []int32{1, 2, 3, 4}); err != nil {
			return err
		}
		return b.Free(th)
	})
}

// A function finds its device's context current, whatever else runs, and leaves the thread as it
// was.
func TestDoRestoresTheContext(t *testing.T) {
	needEmulator(t)
	t.Setenv("EMU_DEVICES", "2")
	a := openTest(t, Options{})
	b, err := Open(1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	current := func(want cu.CUContext) {
		t.Helper()
		if got, err := cu.CurrentContext(); err != nil || got != want {
			t.Errorf("context %v is current, want %v: %v", got, want, err)
		}
	}
	onThread(t, a, func(*Thread) error {
		current(a.ctx)
		onThread(t, b, func(*Thread) error { current(b.ctx); return nil })
		current(a.ctx)
		return nil
	})
	current(cu.CUContext{})
}

// A Thread is invalid after its function returned.
func TestThreadIsBound(t *testing.T) {
	d := openTest(t, Options{})
	var kept *Thread
	onThread(t, d, func(th *Thread) error {
		kept = th
		result := make(chan error)
		go func() { result <- th.Synchronize() }()
		refused(t, <-result, nil, "cuCtxSynchronize(): CUDA_ERROR_INVALID_CONTEXT")
		return nil
	})
	refused(t, kept.Synchronize(), nil, "after the function given to Do returned")
	_, err := Alloc[int8](kept, "late", 1)
	refused(t, err, nil, "after the function given to Do returned")
	refused(t, (*Thread)(nil).Synchronize(), nil, "after the function")
}

func TestCloseEndsWaiting(t *testing.T) {
	d := openTest(t, Options{})
	release := busy(t, d)
	const waiting = 4
	results := make(chan error, waiting)
	for range waiting {
		go func() {
			results <- d.Do(context.Background(), func(*Thread) error { return errors.New("ran after Close") })
		}()
	}
	closed := make(chan error)
	go func() { closed <- d.Close() }()
	for range waiting { // while the device is still busy
		refused(t, <-results, ErrClosed, "device 0")
	}
	for range 1000 {
		runtime.Gosched()
	}
	select {
	case err := <-closed:
		t.Fatal("closed while a function ran: ", err)
	default:
	}
	release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	refused(t, d.Do(context.Background(), func(*Thread) error { return errors.New("ran after Close") }), ErrClosed)
	if err := d.Close(); err != nil {
		t.Error("closed again: ", err)
	}
}

// Close frees what was not freed and lists it.
func TestCloseReportsLeaks(t *testing.T) {
	needDriver(t)
	free := func() int64 {
		d, err := Open(0, Options{})
		if err != nil {
			t.Fatal(err)
		}
		budget := d.Usage().Budget
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		return budget
	}
	before := free()
	d, err := Open(0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	onThread(t, d, func(th *Thread) error {
		_, _, err := copyKernel(th)
		for range 2 {
			_, e := Alloc[float64](th, "rows", 1000)
			err = errors.Join(err, e)
		}
		_, e1 := AllocPinned[float64](th, "staging", 1000)
		_, e2 := th.NewStream("work")
		_, e3 := th.NewEvent("mark")
		return errors.Join(err, e1, e2, e3)
	})
	if u := d.Usage(); u.Live != 6 || u.Used != 2*8192 || u.Pinned != 8000 {
		t.Errorf("%+v", u)
	}
	want := "gpu: close device 0: not freed before: device memory rows (2 times), event mark, module copy, pinned memory staging, stream work"
	if err := d.Close(); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if u := d.Usage(); u.Live != 0 || u.Used != 0 || u.Pinned != 0 {
		t.Errorf("after Close: %+v", u)
	}
	if after := free(); onEmulator() && after != before {
		t.Errorf("%d bytes free before, %d after", before, after)
	}
}

// Two Devices of one index share its memory, each with its own budget; what belongs to one is
// refused by the other.
func TestTwoDevicesOfOneIndex(t *testing.T) {
	a, b := openTest(t, Options{Memory: 1 << 20}), openTest(t, Options{Memory: 1 << 20})
	var of *Buffer[int32]
	onThread(t, a, func(th *Thread) (err error) { of, err = Alloc[int32](th, "a's", 8); return err })
	onThread(t, b, func(th *Thread) error {
		refused(t, of.Upload(th, 0, []int32{1}), nil, "a's is on device 0")
		refused(t, of.Free(th), nil, "of device 0")
		return nil
	})
	onThread(t, a, func(th *Thread) error { return of.Upload(th, 0, []int32{1}) }) // as if nothing had been refused
	if u := b.Usage(); u.Used != 0 {
		t.Errorf("%+v", u)
	}
	onThread(t, a, of.Free)
}

// TestTryDo: it calls a function only if the device is free, open and not lost.
func TestTryDo(t *testing.T) {
	if err := Driver(); err != nil {
		t.Skip(err)
	}
	d, err := Open(0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	try := func(want bool) {
		t.Helper()
		before := calls
		called, err := d.TryDo(func(th *Thread) error { calls++; return th.Synchronize() })
		if called != want || err != nil || calls > before != want {
			t.Errorf("called %v, error %v, want %v", called, err, want)
		}
	}
	try(true)
	if err := d.Do(t.Context(), func(*Thread) error { try(false); return nil }); err != nil {
		t.Error(err)
	}
	failed := errors.New("failed")
	if called, err := d.TryDo(func(*Thread) error { return failed }); !called || !errors.Is(err, failed) {
		t.Errorf("called %v, error %v", called, err)
	}
	try(true)
	d.markLost(failed)
	try(false)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	try(false)
}
