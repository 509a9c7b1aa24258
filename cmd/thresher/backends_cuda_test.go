//go:build cuda && cgo

package main

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"thresher/dataset"
	"thresher/gpu/device"
	"thresher/gpu/device/emulator"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// TestBackendRefused checks the report about devices that cannot be used: with --backend cuda
// a search exits with 4 and a line with the reason, with auto it answers.
func TestBackendRefused(t *testing.T) {
	if err := device.Driver(); err != nil || !emulator.Present() {
		t.Skip("needs the emulator: make test-cuda")
	}
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 9, 3), vectorFile(t, dir, "q.npy", 2, 2, 3)
	for _, c := range []struct{ variable, value, why string }{
		{"EMU_DEVICES", "0", "no device"},
		{"EMU_CC", "75", "compute capability 7.5 is below 8.0"},
		{"EMU_FAIL", "cuDevicePrimaryCtxRetain:1:2", "CUDA_ERROR_OUT_OF_MEMORY"},
		{"EMU_FAIL", "cuModuleLoadDataEx:1+:222", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
	} {
		t.Setenv(c.variable, c.value)
		r := thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--backend", "cuda", "--costs", "builtin")
		r.WantCode(t, cli.ExitBackend)
		if strings.Count(r.Err, "\n") != 1 || !strings.Contains(r.Err, "--backend cuda: ") || !strings.Contains(r.Err, c.why) || !strings.Contains(r.Err, "--backend cpu") {
			t.Errorf("%s=%s: %s", c.variable, c.value, r.Err)
		}
		if r.Out != "" {
			t.Errorf("%s=%s: on stdout: %s", c.variable, c.value, r.Out)
		}
		t.Setenv(c.variable, "")
		t.Setenv(c.variable, c.value) // restarts the count of injected failures
		thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--backend", "auto", "--costs", "builtin").WantCode(t, cli.ExitOK)
		t.Setenv(c.variable, "")
	}
}

// TestBackendLost loses the device in the middle of a search: the CPU answers, the reason is
// logged once, and the answers verify.
func TestBackendLost(t *testing.T) {
	if err := device.Driver(); err != nil || !emulator.Present() {
		t.Skip("needs the emulator: make test-cuda")
	}
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 1500, 64), vectorFile(t, dir, "q.npy", 2, 4, 64)
	for _, fail := range []string{"cuMemAlloc:5:2", "kernel:3:719", "cuStreamSynchronize:1:700"} {
		out := filepath.Join(t.TempDir(), "out.jsonl")
		t.Setenv("EMU_FAIL", fail)
		r := thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k3", "--method", "certain", "--backend", "cuda", "--costs", "builtin", "--out", out)
		t.Setenv("EMU_FAIL", "")
		r.WantCode(t, cli.ExitOK)
		if strings.Count(r.Err, "falling back to the CPU") != 1 {
			t.Errorf("%s: %s", fail, r.Err)
		}
		thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", out, "--strict-delta").WantCode(t, cli.ExitOK)
	}
	for _, name := range []string{"allocations", "host_allocations", "contexts", "streams", "events", "modules"} {
		if n, ok := emulator.Count(name); n != 0 || !ok {
			t.Errorf("%d %s are left", n, name)
		}
	}
}

// TestBackendDriftedPTX builds a binary with PTX that differs from the manifest: it is not
// loaded on any device.
func TestBackendDriftedPTX(t *testing.T) {
	if err := device.Driver(); err != nil {
		t.Skip(err)
	}
	command, err := exec.LookPath("go")
	if err != nil || testing.Short() {
		t.Skip("builds a binary", err)
	}
	dir := t.TempDir()
	const file = "../../kernels/ptx/scan.ptx"
	drifted := filepath.Join(dir, "scan.ptx")
	if err := os.WriteFile(drifted, append(clitest.ReadFile(t, file), "// more\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	original, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: drifted}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "thresher")
	build := exec.CommandContext(t.Context(), command, "build", "-tags", "cuda", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 9, 3), vectorFile(t, dir, "q.npy", 2, 2, 3)
	said, err := exec.CommandContext(t.Context(), binary, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--backend", "cuda", "--costs", "builtin").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitBackend || !strings.Contains(string(said), "scan.ptx has SHA-256") {
		t.Errorf("%v: %s", err, said)
	}
}

// TestBackendFloat64: vectors kept as float64 are searched on the CPU, whether a device is asked for or may be chosen,
// and the summary says why the device was not used.
func TestBackendFloat64(t *testing.T) {
	if err := device.Driver(); err != nil || !emulator.Present() {
		t.Skip("needs the emulator: make test-cuda")
	}
	dir := t.TempDir()
	atoms, queries := filepath.Join(dir, "a.npy"), filepath.Join(dir, "q.npy")
	for name, rows := range map[string]int{atoms: 300, queries: 4} {
		values := make([]float64, rows*8)
		for i := range values {
			values[i] = 1e6 + math.Sin(float64(i))/3
		}
		f, err := os.Create(name)
		if err == nil {
			err = errors.Join(dataset.WriteNPY64(f, rows, 8, values), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"auto", "cuda"} {
		out := filepath.Join(dir, name+".jsonl")
		r := thresher(t, "search", "--vectors", atoms, "--queries", queries, "--metric", "l2", "--dtype", "float64", "-k", "1", "--backend", name, "--costs", "builtin", "--out", out, "--json")
		r.WantCode(t, cli.ExitOK)
		var summary struct {
			Backend, DType string
			GPUUnused      []string `json:"gpu_unused"`
		}
		if err := json.Unmarshal([]byte(r.Out), &summary); err != nil {
			t.Fatal(err)
		}
		if summary.Backend != "cpu" || summary.DType != "float64" || !strings.Contains(strings.Join(summary.GPUUnused, " "), "kept as float64") {
			t.Errorf("%s: %s", name, r.Out)
		}
	}
}
