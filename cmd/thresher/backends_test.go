package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"thresher/gpu/device"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// TestBackendUnavailable checks the exit code and the reason on machines without a GPU, and
// that auto uses the CPU.
func TestBackendUnavailable(t *testing.T) {
	why := device.Driver()
	if why == nil {
		t.Skip("there is a driver")
	}
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 9, 3), vectorFile(t, dir, "q.npy", 2, 2, 3)
	r := thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--backend", "cuda")
	r.WantCode(t, cli.ExitBackend)
	if strings.Count(r.Err, "\n") != 1 || !strings.Contains(r.Err, "--backend cuda") || !strings.Contains(r.Err, why.Error()) {
		t.Error(r.Err)
	}
	r = thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--backend", "auto")
	r.WantCode(t, cli.ExitOK)
	if strings.Contains(r.Err, "gpu") {
		t.Errorf("a machine without a GPU is told of one: %s", r.Err)
	}
	r = thresher(t, "serve", "--backend", "cuda", "--listen", "127.0.0.1:0", "--data", t.TempDir())
	r.WantCode(t, cli.ExitBackend)
	if !strings.Contains(r.Err, why.Error()) || r.Out != "" {
		t.Errorf("serve: %s%s", r.Out, r.Err)
	}
	v := thresher(t, "version")
	v.WantCode(t, cli.ExitOK)
	if !strings.Contains(v.Out, "none: "+why.Error()) {
		t.Error(v.Out)
	}
}

// TestBackendCUDA searches on a GPU, or on the emulator: every method answers, on the CPU if
// the GPU lacks its looks, and the answers verify.
func TestBackendCUDA(t *testing.T) {
	if err := device.Driver(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 1500, 64), vectorFile(t, dir, "q.npy", 2, 4, 64)
	for m, by := range map[string]string{"certain": "cuda", "adaptive": "cuda", "exact": "cuda", "strict": "cpu"} {
		out := filepath.Join(dir, m+".jsonl")
		r := thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k3", "--method", m, "--backend", "cuda", "--costs", "builtin", "--out", out)
		r.WantCode(t, cli.ExitOK)
		if fell := strings.Contains(r.Err, "falling back to the CPU"); fell != (by == "cpu") {
			t.Errorf("%s: fell back %v: %s", m, fell, r.Err)
		}
		thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", out, "--strict-delta").WantCode(t, cli.ExitOK)
		for line := range strings.Lines(string(clitest.ReadFile(t, out))) {
			var answer struct {
				Certificate struct{ Backend string }
			}
			if err := json.Unmarshal([]byte(line), &answer); err != nil {
				t.Fatal(err)
			}
			if answer.Certificate.Backend != by {
				t.Errorf("%s: certificate by %q, want %q", m, answer.Certificate.Backend, by)
			}
		}
	}
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--backend", "auto", "--costs", "builtin").WantCode(t, cli.ExitOK)
}
