//go:build cuda && cgo

package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"thresher/gpu/device/emulator"
)

// failVariable makes the n-th call of a name from now on fail: name:n:code.
const failVariable = "EMU_FAIL"

// needEmulator skips tests that make a driver fail.
func needEmulator(t *testing.T) {
	t.Helper()
	needDriver(t)
	if !onEmulator() {
		t.Skip("needs the emulator: make test-cuda")
	}
}

// life uses each kind of call of a device, from opening to closing. It returns Close's error
// separately, and the budget that the device had.
func life() (budget int64, used, closed error) {
	d, err := Open(0, Options{})
	if err != nil {
		return 0, err, nil
	}
	budget = d.Usage().Budget
	used = d.Do(context.Background(), use)
	return budget, used, d.Close()
}

func use(th *Thread) error {
	c, err := newCopying(th)
	if err != nil {
		return err
	}
	p, err := newPipeline(th)
	if err != nil {
		return err
	}
	big := shape(copyLen)
	big.Shared = 64 << 10
	if _, err := c.f.BlocksPerSM(th, 256, 0); err != nil {
		return err
	}
	ended, cancel := context.WithCancel(context.Background())
	defer cancel()
	out := make([]quad, copyLen)
	for _, step := range []func() error{
		func() error { return c.dst.Fill(th, c.s, 0, 1, quad{}) },
		func() error { return c.dst.Fill(th, c.s, 1, 1, quad{1 << 16, 1 << 16, 1 << 16, 1 << 16}) },
		func() error { return c.f.Launch(th, c.s, big, Ptr(c.src).Arg(), Ptr(c.dst).Arg(), I64(copyLen)) },
		func() error { return c.src.CopyAsync(th, c.s, 0, c.dst, 500, 500) },
		func() error { return c.s.Wait(ended, th) },
		func() error { return c.dst.Download(th, out, 0) },
		func() error { return p.enqueue(th) },
		func() error { return p.over.Wait(ended, th) },
		func() error { return p.over.Sync(th) },
		func() error { return p.down.Sync(th) },
		func() error { _, err := p.over.Since(th, p.start); return err },
		func() error { return th.Synchronize() },
		func() error { return p.free(th) },
		func() error { return c.free(th) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if !slices.Equal(out, quads(copyLen)) {
		return errors.New("the copy differs")
	}
	return nil
}

// Each call of a device's life fails once, at each place where it is made, with a code that leaves
// the device usable and with one that does not. Each time the error names the call and the code,
// Close returns in order, and nothing stays allocated: the next life has as much memory and
// succeeds.
func TestEveryCallFails(t *testing.T) {
	needEmulator(t)
	fresh, err, closed := life()
	if err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	calls := []string{
		"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid", "cuDeviceTotalMem", "cuDeviceGetAttribute",
		"cuDevicePrimaryCtxRetain", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuMemGetInfo", "cuCtxSynchronize",
		"cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncGetAttribute", "cuFuncSetAttribute", "cuModuleUnload",
		"cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuLaunchKernel",
		"cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuMemHostGetDevicePointer", "cuMemFreeHost",
		"cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuMemsetD8Async", "cuMemsetD32Async",
		"cuStreamCreate", "cuStreamDestroy", "cuStreamSynchronize", "cuStreamQuery", "cuStreamWaitEvent",
		"cuEventCreate", "cuEventDestroy", "cuEventRecord", "cuEventSynchronize", "cuEventQuery", "cuEventElapsedTime",
	}
	for _, call := range calls {
		t.Run(call, func(t *testing.T) {
			for _, code := range []int{codeOutOfMemory, 719} {
				n := 0
				for ; n < 100; n++ {
					t.Setenv(failVariable, fmt.Sprintf("%s:%d:%d", call, n+1, code))
					_, used, closed := life()
					t.Setenv(failVariable, "")
					if used == nil && closed == nil {
						break // there is no n-th call
					}
					said := errors.Join(used, closed)
					if text := said.Error(); !strings.Contains(text, "gpu: ") || !strings.Contains(text, fmt.Sprintf("(%d)", code)) || !strings.Contains(text, call+"(") {
						t.Errorf("call %d fails with %d: %v", n+1, code, said)
					}
					if lost := errors.Is(said, ErrLost); lost != (code == 719) {
						t.Errorf("call %d fails with %d: a loss is %v: %v", n+1, code, lost, said)
					}
					if errors.Is(said, ErrLost) && !errors.Is(said, ErrUnavailable) {
						t.Errorf("a lost device is available: %v", said)
					}
					if call == "cuMemAlloc" || call == "cuMemHostAlloc" {
						if full := errors.Is(said, ErrMemory); full != (code == codeOutOfMemory) {
							t.Errorf("call %d fails with %d: out of memory is %v: %v", n+1, code, full, said)
						}
					}
					budget, used, closed := life()
					if used != nil || closed != nil {
						t.Fatalf("after call %d failed with %d, another life: %v, %v", n+1, code, used, closed)
					}
					if budget != fresh {
						t.Errorf("call %d fails with %d: %d bytes are left of %d", n+1, code, budget, fresh)
					}
				}
				if n == 0 || n == 100 {
					t.Errorf("made to fail with %d, it did so at %d places", code, n)
				}
			}
		})
	}
}

// Freeing waits for the device's work first. If that wait fails, its error is returned, and the
// memory is freed nevertheless.
func TestFreeingWaits(t *testing.T) {
	needEmulator(t)
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		b, err1 := Alloc[int32](th, "b", 1)
		p, err2 := AllocPinned[int32](th, "p", 1)
		s, err3 := th.NewStream("s")
		e, err4 := th.NewEvent("e")
		m, _, err5 := copyKernel(th)
		if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
			return err
		}
		for i, free := range []func(*Thread) error{b.Free, p.Free, s.Close, e.Close, m.Unload} {
			t.Setenv(failVariable, fmt.Sprintf("cuCtxSynchronize:1:1,unique%d:1", i)) // a new value restarts the counts
			refused(t, free(th), nil, "cuCtxSynchronize(): CUDA_ERROR_INVALID_VALUE (1)")
			if err := free(th); err != nil { // nothing is left to free
				t.Error(err)
			}
		}
		return nil
	})
	if u := d.Usage(); u.Live != 0 {
		t.Errorf("%+v", u)
	}
}

// Every code that ends the emulator's context is known to lose the device; the other codes that do
// are those that the emulator lacks.
func TestStickyCodes(t *testing.T) {
	needEmulator(t)
	elsewhere := []int{4, 226, 709, 721, 812, 911, 999}
	for code := 1; code <= 999; code++ {
		if code == codeNotReady {
			continue
		}
		d, err := Open(0, Options{})
		if err != nil {
			t.Fatal(code, err)
		}
		var first, second error
		onThread(t, d, func(th *Thread) error {
			t.Setenv(failVariable, fmt.Sprintf("cuCtxSynchronize:1:%d", code))
			first = th.Synchronize()
			t.Setenv(failVariable, "")
			second = th.Synchronize()
			return nil
		})
		refused(t, first, nil, fmt.Sprintf("(%d)", code))
		if ended := second != nil; sticky(code) != (ended || slices.Contains(elsewhere, code)) || errors.Is(first, ErrLost) != sticky(code) {
			t.Errorf("code %d: sticky is %v, the next call said %v", code, sticky(code), second)
		}
		if err := d.Close(); err != nil {
			t.Error(code, err)
		}
	}
}

// Calls made once a process fail in processes of their own.
func TestBeginningAndEndFail(t *testing.T) {
	needEmulator(t)
	for _, c := range []struct{ env, want string }{
		{"EMU_FAIL=cuInit:1:100", "device unavailable: THRESHER_LIBCUDA=" + os.Getenv(libraryVariable) + ": cuInit(): CUDA_ERROR_NO_DEVICE (100)"},
		{"EMU_DEVICES=0", "CUDA_ERROR_NO_DEVICE (100)"},
		{"EMU_FAIL=cuDriverGetVersion:1:1", "cuDriverGetVersion failed"},
		{"EMU_VERSION=11080", "driver 520 is too old: PTX 8.0 needs 525 (CUDA 12.0; this one has 11.8)"},
		{"EMU_VERSION=12000", "nil"},
		{"EMU_FAIL=cuDevicePrimaryCtxRelease:1:2", "gpu: close device 0: cuDevicePrimaryCtxRelease(): CUDA_ERROR_OUT_OF_MEMORY (2)"},
	} {
		if got := inProcess(t, "life", c.env); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q lacks %q", c.env, got, c.want)
		}
	}
}

// Open's errors say by their kind why a device that is there cannot be used.
func TestDeviceIsUnusable(t *testing.T) {
	needEmulator(t)
	for _, c := range []struct{ variable, value, want string }{
		{"EMU_CC", "75", "old device"},
		{failVariable, "cuDevicePrimaryCtxRetain:1:46", "busy"},
		{failVariable, "cuDevicePrimaryCtxRetain:1:2", "memory"},
		{"EMU_MEM", "67108864", "memory"},
		{failVariable, "cuMemGetInfo:1:719", "lost"},
	} {
		t.Run(c.variable+"="+c.value, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			d, err := Open(0, Options{})
			if err == nil {
				t.Fatal("opened", d.Close())
			}
			if got := kindOf(err); got != c.want {
				t.Errorf("%s, want %s: %v", got, c.want, err)
			}
		})
	}
	for env, want := range map[string]string{"EMU_DEVICES=0": "absent", "EMU_VERSION=11080": "old driver", "EMU_FAIL=cuInit:1:999": "unavailable"} {
		if got := inProcess(t, "kind", env); got != want {
			t.Errorf("%s: %s, want %s", env, got, want)
		}
	}
}

// The emulator counts no live allocations when a context ends, whichever allocating call fails and
// whether or not the caller frees what it got.
func TestNothingLeaks(t *testing.T) {
	needEmulator(t)
	count := func(name string) uint64 {
		t.Helper()
		n, ok := emulator.Count(name)
		if !ok {
			t.Errorf("the emulator does not count %s", name)
		}
		return n
	}
	for _, fail := range []string{"", "cuModuleGetFunction:1:2", "cuMemAlloc:3:2", "cuMemHostAlloc:2:2", "cuMemHostGetDevicePointer:1:2", "cuStreamCreate:2:2", "cuEventCreate:2:2", "cuLaunchKernel:1:1"} {
		leaks, calls := count("leaks"), count("calls")
		t.Setenv(failVariable, fail)
		_, used, closed := life()
		if (fail == "") != (used == nil && closed == nil) {
			t.Errorf("EMU_FAIL=%s: %v, %v", fail, used, closed)
		}
		for _, name := range []string{"allocations", "bytes", "host_allocations", "contexts", "streams", "events", "modules"} {
			if n := count(name); n != 0 {
				t.Errorf("EMU_FAIL=%s: %d %s are left", fail, n, name)
			}
		}
		if n := count("leaks"); n != leaks || count("calls") == calls {
			t.Errorf("EMU_FAIL=%s: %d leaks in %d calls", fail, n-leaks, count("calls")-calls)
		}
	}
}

// A kernel's fault is returned by the next wait, loses the device, and is returned by every later
// Do; the other device continues.
func TestLostDevice(t *testing.T) {
	needEmulator(t)
	t.Setenv("EMU_DEVICES", "2")
	a := openTest(t, Options{})
	b, err := Open(1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if got := b.Info(); got.Index != 1 || got.PCI == a.Info().PCI {
		t.Errorf("%+v beside %+v", got, a.Info())
	}
	var kept *Buffer[quad]
	var atWait error
	err = a.Do(context.Background(), func(th *Thread) error {
		c, err := newCopying(th)
		if err != nil {
			return err
		}
		kept = c.src
		if a.Lost() != nil {
			t.Error("lost before anything happened")
		}
		// Access beyond the ends of both buffers.
		if err := c.f.Launch(th, c.s, shape(4*copyLen), Ptr(c.src).Arg(), Ptr(c.dst).Arg(), I64(4*copyLen)); err != nil {
			t.Error("an error before the kernel ran: ", err)
		}
		atWait = c.s.Sync(th)
		_, err = Alloc[quad](th, "more", 1)
		refused(t, err, ErrLost)
		if err := errors.Join(c.dst.Free(th), c.s.Close(th)); err != nil {
			t.Error("freeing what the device has lost: ", err)
		}
		return atWait
	})
	refused(t, err, ErrLost, "cuStreamSynchronize(launches): CUDA_ERROR_", "last kernels launched: copy16")
	if why := emulator.LastFault(); !strings.Contains(why, "copy16") || !strings.Contains(why, "read of") {
		t.Errorf("the emulator says %q", why)
	}
	var de *DriverError
	if !errors.As(err, &de) || !sticky(de.Code) {
		t.Errorf("%v holds %+v", err, de)
	}
	for range 2 {
		ran := false
		err := a.Do(context.Background(), func(*Thread) error { ran = true; return nil })
		refused(t, err, ErrLost, "device 0", "was lost", "cuStreamSynchronize(launches)")
		if ran || !errors.Is(err, ErrUnavailable) {
			t.Error(ran, err)
		}
	}
	refused(t, a.Lost(), ErrLost, "cuStreamSynchronize(launches)")
	if b.Lost() != nil {
		t.Error("the other device: ", b.Lost())
	}
	onThread(t, b, func(th *Thread) error {
		refused(t, kept.Upload(th, 0, nil), nil, "src is on device 0, not on device 1")
		return use(th)
	})
	if err := a.Close(); err != nil { // nothing left to free
		t.Error(err)
	}
}

// Both devices work at the same time: the function on each waits for the other's.
func TestDevicesAtOnce(t *testing.T) {
	needEmulator(t)
	t.Setenv("EMU_DEVICES", "2")
	var errs [2]chan error
	var met [2]chan struct{}
	for i := range errs {
		errs[i], met[i] = make(chan error, 1), make(chan struct{})
	}
	for i := range errs {
		d, err := Open(i, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		go func() {
			errs[i] <- d.Do(context.Background(), func(th *Thread) error {
				close(met[i])
				<-met[1-i]
				return use(th)
			})
		}()
	}
	for i := range errs {
		if err := <-errs[i]; err != nil {
			t.Errorf("device %d: %v", i, err)
		}
	}
}

func TestLowComputeCapability(t *testing.T) {
	needEmulator(t)
	t.Setenv("EMU_CC", "75")
	_, err := Open(0, Options{})
	refused(t, err, ErrUnavailable, "compute capability 7.5 is below 8.0", "device 0")
	if infos, err := Devices(); err != nil || infos[0].Major != 7 || infos[0].Minor != 5 {
		t.Error(infos, err)
	}
	for _, cc := range []string{"80", "86", "90"} {
		t.Setenv("EMU_CC", cc)
		if _, used, closed := life(); used != nil || closed != nil {
			t.Error(cc, used, closed)
		}
	}
}

// The error of the driver's compiler includes its log.
func TestDriverRefusesPTX(t *testing.T) {
	needEmulator(t)
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		_, err := th.Load("for nobody", []byte(".version 8.0\n.target sm_121\n.address_size 64\n"), nil)
		refused(t, err, nil, "cuModuleLoadDataEx(for nobody, PTX 8.0 for sm_121): CUDA_ERROR_")
		var de *DriverError
		if !errors.As(err, &de) || !strings.Contains(de.Log, "sm_121") || !strings.HasSuffix(err.Error(), "; "+de.Log) {
			t.Errorf("%v has the log %q", err, de.Log)
		}
		if errors.Is(err, ErrLost) {
			t.Error("a refused module loses the device: ", err)
		}
		return use(th)
	})
}
