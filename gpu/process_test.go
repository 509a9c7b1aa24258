//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"thresher/gpu/device"
	"thresher/gpu/device/emulator"
)

const (
	// failVariable makes the n-th call of a name from now on fail on the emulator: name:n:code.
	failVariable = "EMU_FAIL"
	// codeOutOfMemory is the driver's code for an allocation that it refuses.
	codeOutOfMemory = 2
)

func TestMain(m *testing.M) {
	holdContext()
	goleak.VerifyTestMain(m)
}

// holdContext keeps the first GPU open until the process ends: more than a hundred tests open it,
// and making a context takes longer than most of them. On the emulator each test makes its own, so
// that tests detect leaks.
func holdContext() {
	if os.Getenv(serveVariable) != "" || device.Driver() != nil || emulator.Present() { // benchmarks time the opening
		return
	}
	_, _ = device.Open(0, device.Options{}) // if it fails, the tests report why
}

// needDriver skips a test if there is no driver.
func needDriver(t *testing.T) {
	t.Helper()
	if err := device.Driver(); err != nil {
		t.Skipf("needs a GPU, or the emulator (make test-cuda): %v", err)
	}
}

// needEmulator skips tests that make a driver fail.
func needEmulator(t *testing.T) {
	t.Helper()
	needDriver(t)
	if !emulator.Present() {
		t.Skip("needs the emulator: make test-cuda")
	}
}

// onThread runs f on device 0, which has so many bytes of memory (0 for the default), and fails the
// test on f's error and if it leaves anything on the device.
func onThread(t *testing.T, memory int64, f func(*device.Thread) error) {
	t.Helper()
	needDriver(t)
	d, err := device.Open(0, device.Options{Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Do(context.Background(), f), d.Close()); err != nil {
		t.Fatal(err)
	}
}

// refused fails the test unless err wraps target and contains every want.
func refused(t *testing.T, err, target error, want ...string) {
	t.Helper()
	if err == nil || !errors.Is(err, target) {
		t.Errorf("%v: does not wrap %q", err, target)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q lacks %q", err, w)
		}
	}
}
