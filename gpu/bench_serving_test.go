//go:build cuda && cgo

package gpu

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"thresher/device"
)

// TestServing makes every request on synthetic data, so that a benchmark does not fail because of
// its server.
func TestServing(t *testing.T) {
	needDriver(t)
	const n, m, dim, k = 2000, 16, 256, 5
	atoms, queries := benchData(t, n, m, dim)
	dump := t.TempDir() + "/answers"
	asked := []string{
		`{"do": "open"}`,
		fmt.Sprintf(`{"do": "build", "set": "a", "atoms": %q, "queries": %q, "dim": %d, "seed": 3}`, atoms, queries, dim),
		`{"do": "load", "set": "b", "of": "a", "memory": 8000000}`,
		`{"do": "plans", "set": "a", "m": 8, "k": 5, "delta": 0.01}`,
		fmt.Sprintf(`{"do": "search", "set": "a", "m": 8, "k": %d, "count": 3, "delta": 0.01, "dump": %q}`, k, dump),
		`{"do": "search", "set": "b", "m": 8, "k": 5, "first": 1, "count": 1, "delta": 0.01, "method": "exact"}`,
		`{"do": "split", "set": "a", "m": 8, "k": 5, "count": 2, "delta": 0.01, "plan": "64,whole,rescore", "stall": 65536}`,
		`{"do": "sweep", "set": "a", "m": 8, "k": 5, "count": 1, "delta": 0.01, "to": 64, "stall": 65536}`,
		`{"do": "costs", "size": 2048}`,
		`{"do": "ceilings", "count": 2, "bytes": 65536, "rounds": 2}`,
		`{"do": "search", "set": "c", "m": 1, "k": 1, "count": 1}`,
		`{"do": "search", "set": "a", "m": 99, "k": 1, "count": 1}`,
		`nonsense`,
		`{"do": "close", "set": "b"}`,
	}
	var out strings.Builder
	if err := serve(t.Context(), strings.NewReader(strings.Join(asked, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	said := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(said) != len(asked) {
		t.Fatalf("%d answers to %d requests: %v", len(said), len(asked), said)
	}
	for i, line := range said {
		bad := i >= 10 && i <= 12
		if failed := strings.HasPrefix(line, `{"error":`); failed != bad {
			t.Errorf("request %s: %s", asked[i], line)
		}
	}
	if t.Failed() {
		return
	}
	checkDump(t, dump, atoms, queries, dim, 3*8, k)
	var split splitting
	if err := json.Unmarshal([]byte(said[6]), &split); err != nil {
		t.Fatal(err)
	}
	var tried swept
	if err := json.Unmarshal([]byte(said[7]), &tried); err != nil {
		t.Fatal(err)
	}
	for _, c := range tried.Chunks { // the end of the first chunk and the number of further ones do not change what passes in the end
		if c.Seconds <= 0 || c.Overflows != 0 || c.Listed < k || c.Listed > n/2 {
			t.Errorf("a look by chunks: %+v", c)
		}
	}
	own := func(s shaped) bool { return s.Own }
	if len(tried.Chunks) == 0 || !slices.ContainsFunc(tried.Shapes, own) || !slices.ContainsFunc(tried.Chunks, func(c chunked) bool { return c.Own }) {
		t.Errorf("swept without the program's own: %+v", tried)
	}
	for _, p := range hostPhases {
		if len(split.Phases[p]) != 2 || split.Phases[p][1] < 0 || p == phaseWait && split.Phases[p][1] == 0 {
			t.Errorf("phase %s: %v", p, split.Phases[p])
		}
	}
	for _, p := range hostPhases {
		if len(split.Singly[p]) != 2 {
			t.Errorf("phase %s without graphs: %v", p, split.Singly[p])
		}
	}
	if split.Graphs == 0 {
		t.Error("no graph was launched")
	}
	sum, scans := 0., split.Kernels["scan_s8"]
	for _, of := range split.Kernels {
		sum += of.Seconds[1]
	}
	if len(split.Sum) != 2 || scans.Launches == 0 || len(scans.Seconds) != 2 || math.Abs(sum-split.Sum[1]) > 1e-9 || split.Sum[1] > split.Span[1] {
		t.Errorf("split of two batches: %+v", split)
	}
}

// TestServingEndsWithTheDevice: the loss of a device is reported and ends the process, so that
// another process can take over.
func TestServingEndsWithTheDevice(t *testing.T) {
	needEmulator(t)
	atoms, queries := benchData(t, 600, 4, 64)
	asked := []string{
		fmt.Sprintf(`{"do": "build", "set": "a", "atoms": %q, "queries": %q, "dim": 64, "seed": 3}`, atoms, queries),
		`{"do": "search", "set": "a", "m": 4, "k": 5, "count": 1, "delta": 0.01}`,
		`{"do": "open"}`,
	}
	t.Setenv(failVariable, "cuLaunchKernel:1:719")
	var out strings.Builder
	err := serve(t.Context(), strings.NewReader(strings.Join(asked, "\n")), &out)
	t.Setenv(failVariable, "")
	said := strings.Split(strings.TrimSpace(out.String()), "\n")
	if !errors.Is(err, device.ErrLost) || len(said) != 2 || strings.HasPrefix(said[0], `{"error":`) || !strings.HasPrefix(said[1], `{"error":`) {
		t.Errorf("%v after %v", err, said)
	}
}
