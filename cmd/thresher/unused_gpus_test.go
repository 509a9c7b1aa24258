//go:build cuda && cgo

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"thresher/gpu/device"
	"thresher/gpu/device/emulator"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/service/api"
)

// cardFault is a fault of the emulated card or driver, and what is said of it.
type cardFault struct {
	name string
	env  []string
	said []string // parts of a sentence; nil if there is nothing to be said
	args []string
}

// cardFaults are the ways in which a card that is there cannot be used, and machines without one.
func cardFaults(t *testing.T) []cardFault {
	return []cardFault{
		{"old driver", []string{"EMU_VERSION=11080"}, []string{"driver 520 is too old", "install a newer NVIDIA driver"}, nil},
		{"old card", []string{"EMU_CC=75"}, []string{"device 0 (", "compute capability 7.5 is below 8.0", "a newer GPU is needed"}, nil},
		{"no memory for a context", []string{"EMU_FAIL=cuDevicePrimaryCtxRetain:1:2"}, []string{"device 0 (", "CUDA_ERROR_OUT_OF_MEMORY", "free memory"}, nil},
		{"full", []string{"EMU_MEM=67108864"}, []string{"device 0 (", "64 MiB of 64 MiB are free", "free memory"}, nil},
		{"busy", []string{"EMU_FAIL=cuDevicePrimaryCtxRetain:1:46"}, []string{"device 0 (", "CUDA_ERROR_DEVICE_UNAVAILABLE", "end the process"}, nil},
		{"kernels refused", []string{"EMU_FAIL=cuModuleLoadDataEx:1+:222"}, []string{"device 0", "UNSUPPORTED_PTX_VERSION", "newer NVIDIA driver"}, nil},
		{"lost while costs are measured", []string{"EMU_FAIL=kernel:1:719", "XDG_CACHE_HOME=" + t.TempDir()}, []string{"measuring costs", "CUDA_ERROR_LAUNCH_FAILED", "Xid"}, []string{"--costs", "auto"}},
		{"no card", []string{"EMU_DEVICES=0"}, nil, nil},
		{"no driver", []string{"THRESHER_LIBCUDA=/nowhere/libcuda.so.1"}, nil, nil},
	}
}

// of reports whether text says everything of the fault.
func (f *cardFault) of(text string) bool {
	return !slices.ContainsFunc(f.said, func(part string) bool { return !strings.Contains(text, part) })
}

// inChild runs the command in a process of its own, because a process has one driver.
func inChild(t *testing.T, env []string, args ...string) clitest.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = slices.Concat(os.Environ(), []string{clitest.ChildVariable + "=1"}, env)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return clitest.Result{Code: cmd.ProcessState.ExitCode(), Out: out.String(), Err: errs.String()}
}

// needEmulator skips a test without the emulator.
func needEmulator(t *testing.T) {
	t.Helper()
	if err := device.Driver(); err != nil || !emulator.Present() {
		t.Skip("needs the emulator: make test-cuda")
	}
}

// TestBackendUnused has a card that cannot be used, for each reason: by --backend auto the CPU answers, and the
// summary says why the card does not; by --backend cuda the search fails with exit code 4. Where there is
// no card, or none is wanted, nothing is said.
func TestBackendUnused(t *testing.T) {
	needEmulator(t)
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 9, 3), vectorFile(t, dir, "q.npy", 2, 2, 3)
	for _, f := range cardFaults(t) {
		t.Run(f.name, func(t *testing.T) {
			search := func(more ...string) clitest.Result {
				return inChild(t, f.env, slices.Concat([]string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries}, f.args, more)...)
			}
			r := search("--backend", "auto")
			r.WantCode(t, cli.ExitOK)
			if rows := strings.Count(r.Err, "unused gpu"); !f.of(r.Err) || rows != min(1, len(f.said)) || f.said == nil && strings.Contains(r.Err, "level=") {
				t.Errorf("%q is wanted: %s", f.said, r.Err)
			}
			r = search("--json", "--out", filepath.Join(t.TempDir(), "out.jsonl"))
			r.WantCode(t, cli.ExitOK)
			var s summary
			if err := json.Unmarshal([]byte(r.Out), &s); err != nil {
				t.Fatal(err, r.Out)
			}
			if len(s.GPUUnused) != min(1, len(f.said)) || !f.of(strings.Join(s.GPUUnused, "")) || strings.Contains(strings.Join(s.GPUUnused, ""), "\n") || s.Backend != "cpu" {
				t.Errorf("--json: on %s, %q", s.Backend, s.GPUUnused)
			}
			r = search("--backend", "cuda")
			r.WantCode(t, cli.ExitBackend)
			if r.Out != "" || !strings.Contains(r.Err, "--backend cuda: ") || !strings.Contains(r.Err, "--backend cpu needs no device") {
				t.Errorf("--backend cuda: %s", r.Err)
			}
			r = search("--backend", "cpu")
			r.WantCode(t, cli.ExitOK)
			if strings.Contains(r.Err, "unused gpu") {
				t.Errorf("--backend cpu: %s", r.Err)
			}
		})
	}
}

// TestBackendUnusedByVerb: each verb whose backend is chosen says in its summary why a card is not used.
func TestBackendUnusedByVerb(t *testing.T) {
	needEmulator(t)
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 60, 8), vectorFile(t, dir, "q.npy", 2, 5, 8)
	answers := filepath.Join(dir, "answers.jsonl")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k", "3", "--backend", "cpu", "--out", answers).WantCode(t, cli.ExitOK)
	for _, args := range [][]string{
		{"search", "--queries", queries, "--out", filepath.Join(dir, "a.jsonl")},
		{"truth", "--queries", queries, "-k", "5", "--out", filepath.Join(dir, "b.ibin")},
		{"certify", "--queries", queries, "--answers", answers, "--out", filepath.Join(dir, "c.jsonl")},
		{"recall", "--queries", queries, "--answers", answers},
		{"graph", "-k", "3", "--out", filepath.Join(dir, "d.jsonl")},
		{"pairs", "--min-score", "9", "--out", filepath.Join(dir, "e.jsonl")},
	} {
		for _, more := range [][]string{nil, {"--json", "--overwrite"}} {
			if args[0] == "recall" && more != nil {
				more = []string{"--json"}
			}
			r := inChild(t, []string{"EMU_CC=75"}, slices.Concat(args, []string{"--vectors", atoms, "--metric", "ip"}, more)...)
			r.WantCode(t, cli.ExitOK)
			label := "unused gpu"
			if more != nil {
				label = `"gpu_unused":["device 0 (`
			}
			if text := r.Out + r.Err; strings.Count(text, label) != 1 || !strings.Contains(text, "compute capability 7.5 is below 8.0; a newer GPU is needed") {
				t.Errorf("%v: %s", slices.Concat(args[:1], more), text)
			}
		}
	}
}

// TestBackendUnusedAfterOpening has auto choose a card that lacks the memory for the collection, or is lost: the
// CPU answers, and the summary says why.
func TestBackendUnusedAfterOpening(t *testing.T) {
	needEmulator(t)
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 3000, 128), vectorFile(t, dir, "q.npy", 2, 600, 128)
	for _, f := range []cardFault{
		{"too large", []string{"EMU_MEM=67373056"}, []string{"loading 3000 vectors of dimension 128", "not enough device memory", "free memory"}, nil},
		{"lost", []string{"EMU_FAIL=cuLaunchKernel:1:719"}, []string{"device 0", "CUDA_ERROR_LAUNCH_FAILED", "Xid"}, nil},
	} {
		r := inChild(t, f.env, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--method", "exact", "--threads", "1", "--json", "--out", filepath.Join(dir, f.name+".jsonl"))
		r.WantCode(t, cli.ExitOK)
		var s summary
		if err := json.Unmarshal([]byte(r.Out), &s); err != nil {
			t.Fatal(err, r.Out)
		}
		if len(s.GPUUnused) != 1 || !f.of(s.GPUUnused[0]) || !strings.Contains(r.Err, "falling back to the CPU") {
			t.Errorf("%s: %q, logged %s", f.name, s.GPUUnused, r.Err)
		}
	}
}

// TestBackendFullBesideGood: a card that is full does not keep another one from answering.
func TestBackendFullBesideGood(t *testing.T) {
	needEmulator(t)
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 1500, 64), vectorFile(t, dir, "q.npy", 2, 4, 64)
	for _, fault := range []string{"EMU_FAIL=cuDevicePrimaryCtxRetain:1:2", "EMU_MEM=67108864,1073741824", "EMU_CC=75,80"} {
		out := filepath.Join(t.TempDir(), "out.jsonl")
		r := inChild(t, []string{"EMU_DEVICES=2", fault}, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k3", "--backend", "cuda", "--json", "--out", out)
		r.WantCode(t, cli.ExitOK)
		var s summary
		if err := json.Unmarshal([]byte(r.Out), &s); err != nil {
			t.Fatal(err, r.Out)
		}
		if s.Backend != "cuda" || len(s.GPUUnused) != 1 || !strings.Contains(s.GPUUnused[0], "device 0 (") || !strings.Contains(r.Err, "a GPU is left out") {
			t.Errorf("%s: on %s, %q, logged %s", fault, s.Backend, s.GPUUnused, r.Err)
		}
		if text := string(clitest.ReadFile(t, out)); strings.Count(text, `"backend":"cuda"`) != 4 {
			t.Errorf("%s: %.2000s", fault, text)
		}
	}
}

// TestBackendOfNamedDevice: --device chooses among cards, and one that is named must be usable; what has another form
// is refused.
func TestBackendOfNamedDevice(t *testing.T) {
	needEmulator(t)
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 60, 8), vectorFile(t, dir, "q.npy", 2, 5, 8)
	for _, c := range []struct {
		device, backend string
		code            int
		said            string
	}{
		{"1", "cuda", cli.ExitOK, `device="device 1: `},
		{"GPU-e1e1", "cuda", cli.ExitOK, `device="device 1: `},
		{"0", "cuda", cli.ExitBackend, "--backend cuda: gpu: device unavailable: device 0 (emulated card): compute capability 7.5"},
		{"0", "auto", cli.ExitOK, "unused gpu  device 0 (emulated card): compute capability 7.5"},
		{"5", "auto", cli.ExitOK, "unused gpu  0 of the 2 devices are called 5"},
		{"first", "cpu", cli.ExitInput, `device: "first" is neither one, all, nor a list of indexes and UUIDs`},
	} {
		r := inChild(t, []string{"EMU_DEVICES=2", "EMU_CC=75,80"}, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--backend", c.backend, "--device", c.device, "--log-level", "info")
		r.WantCode(t, c.code)
		if !strings.Contains(r.Err, c.said) {
			t.Errorf("--device %s --backend %s: %s", c.device, c.backend, r.Err)
		}
	}
}

// TestBackendUnusedByServer has a server start on each machine: it is ready, says why the card is not used,
// and logs it once.
func TestBackendUnusedByServer(t *testing.T) {
	needEmulator(t)
	for _, f := range cardFaults(t) {
		t.Run(f.name, func(t *testing.T) {
			ready, log := readiness(t, f.env, f.args...)
			if ready.Status != "ready" || !slices.Equal(ready.Backends, []string{"cpu"}) || len(ready.GPUUnused) != min(1, len(f.said)) || !f.of(strings.Join(ready.GPUUnused, "")) {
				t.Errorf("%+v", ready)
			}
			if strings.Count(log, "level=WARN") != min(1, len(f.said)) || !f.of(log) {
				t.Errorf("logged %s", log)
			}
		})
	}
	ready, _ := readiness(t, []string{"EMU_DEVICES=2", "EMU_CC=80,75", "THRESHER_DEVICE=all"})
	if !slices.Equal(ready.Backends, []string{"cuda"}) || len(ready.GPUUnused) != 1 || !strings.Contains(ready.GPUUnused[0], "device 1 (") {
		t.Errorf("an old card beside a good one: %+v", ready)
	}
}

// readiness starts a server in a process of its own and returns what /readyz answers, and its log.
func readiness(t *testing.T, env []string, more ...string) (ready api.Readiness, log string) {
	t.Helper()
	args := append([]string{"serve", "--listen=127.0.0.1:0", "--data=" + t.TempDir(), "--drain-lame-duck=0"}, more...)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = slices.Concat(os.Environ(), []string{clitest.ChildVariable + "=1"}, env)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		url := strings.TrimSuffix(strings.Fields(line)[2], ",")
		ready, err = whenReady(ctx, url)
	}
	if stop := cmd.Process.Signal(syscall.SIGTERM); stop != nil {
		t.Error(stop)
	}
	if ended := cmd.Wait(); err != nil || ended != nil {
		t.Fatalf("%v, %v: %s", err, ended, said.String())
	}
	return ready, said.String()
}
