//go:build cuda && cgo

package device

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gorgonia.org/cu"

	"thresher/gpu/device/emulator"
)

// scenarioVariable names the scenario that a process of this test binary runs instead of its tests.
// A process has one driver, and the emulator reads some settings at its start, so tests with other
// settings need processes of their own.
const scenarioVariable = "THRESHER_GPU_SCENARIO"

// scenarios are functions whose error, or "nil", the parent process reads.
var scenarios = map[string]func() error{
	"driver": Driver,
	"kind": func() error {
		_, err := Devices()
		return errors.New(kindOf(err))
	},
	"open": func() error {
		d, err := Open(0, Options{})
		if err != nil {
			return err
		}
		return d.Close()
	},
	"life": func() error {
		_, used, closed := life()
		return errors.Join(used, closed)
	},
}

func TestMain(m *testing.M) {
	name := os.Getenv(scenarioVariable)
	if name == "" {
		holdContext()
		goleak.VerifyTestMain(m)
		return
	}
	f := scenarios[name]
	if f == nil {
		fmt.Println("no scenario", name)
		os.Exit(2)
	}
	err := f()
	if leak := goleak.Find(); leak != nil {
		err = errors.Join(err, leak)
	}
	if err == nil {
		fmt.Print("nil")
		return
	}
	fmt.Print(err)
}

// kindOf names what an error says of devices.
func kindOf(err error) string {
	switch {
	case err == nil:
		return "usable"
	case errors.Is(err, ErrAbsent):
		return "absent"
	case errors.Is(err, ErrOldDriver):
		return "old driver"
	case errors.Is(err, ErrOldDevice):
		return "old device"
	case errors.Is(err, ErrBusy):
		return "busy"
	case errors.Is(err, ErrLost):
		return "lost"
	case errors.Is(err, ErrMemory):
		return "memory"
	case errors.Is(err, ErrKernels):
		return "kernels"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	}
	return "another: " + err.Error()
}

// holdContext retains the first GPU's context until the process ends: more than a hundred tests
// open the device, and making a context takes longer than most of them. On the emulator each test
// makes its own, so that tests detect leaks.
func holdContext() {
	if Driver() != nil || emulator.Present() {
		return
	}
	if d, err := cu.GetDevice(0); err == nil {
		_, _ = d.RetainPrimaryCtx() // if it fails, the tests report why
	}
}

// inProcess runs a scenario in a process of its own, with these environment variables added, and
// returns the error that it printed.
func inProcess(t *testing.T, scenario string, env ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), scenarioVariable+"="+scenario, "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, env...)
	var out, log strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("scenario %s with %v: %v\n%s%s", scenario, env, err, out.String(), log.String())
	}
	return out.String()
}

// buildDriver compiles testdata/driver.c with these flags and returns the library's path.
func buildDriver(t *testing.T, flags ...string) string {
	t.Helper()
	lib := filepath.Join(t.TempDir(), "libcuda.so.1")
	args := append([]string{"-shared", "-fPIC", "-o", lib, filepath.Join("testdata", "driver.c")}, flags...)
	compiler := "cc"
	if v := os.Getenv("CC"); v != "" {
		compiler = v
	}
	if out, err := exec.CommandContext(t.Context(), compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", compiler, args, err, out)
	}
	return lib
}
