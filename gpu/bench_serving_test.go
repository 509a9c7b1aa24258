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
	"time"

	"thresher/gpu/device"
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
	var out, log strings.Builder
	if err := serve(t.Context(), strings.NewReader(strings.Join(asked, "\n")), &out, &log); err != nil {
		t.Fatal(err)
	}
	said := answersOf(out.String())
	if len(said) != len(asked) {
		t.Fatalf("%d answers to %d requests: %v", len(said), len(asked), said)
	}
	for i, line := range said {
		bad := i >= 10 && i <= 12
		if failed := strings.HasPrefix(line, `{"error":`); failed != bad {
			t.Errorf("request %s: %s", asked[i], line)
		}
		if logged := strings.Contains(log.String(), "failed: "+asked[i]+": "); logged != bad {
			t.Errorf("request %s is in the log as failed: %v", asked[i], logged)
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

// answersOf returns the answers in what a server printed.
func answersOf(printed string) []string {
	said := strings.Split(strings.TrimSpace(printed), "\n")
	return slices.DeleteFunc(said, func(line string) bool { return !strings.HasPrefix(line, "{") && !strings.HasPrefix(line, "[") })
}

// TestServingEndsWithTheDevice: the loss of a device is reported, with what the driver said and the last kernels, and
// ends the process, so that another process can take over. That holds for a fault while costs are measured, too.
func TestServingEndsWithTheDevice(t *testing.T) {
	needEmulator(t)
	atoms, queries := benchData(t, 600, 4, 64)
	build := fmt.Sprintf(`{"do": "build", "set": "a", "atoms": %q, "queries": %q, "dim": 64, "seed": 3}`, atoms, queries)
	for last, fail := range map[string]string{ // counts begin anew with another value
		`{"do": "search", "set": "a", "m": 4, "k": 5, "count": 1, "delta": 0.01}`: "kernel:1:700",
		`{"do": "costs", "size": 2048}`:                                           "kernel:2:700",
	} {
		asked := []string{build, last, `{"do": "open"}`}
		t.Setenv(failVariable, fail)
		var out, log strings.Builder
		err := serve(t.Context(), strings.NewReader(strings.Join(asked, "\n")), &out, &log)
		t.Setenv(failVariable, "")
		said := answersOf(out.String())
		if !errors.Is(err, device.ErrLost) || len(said) != 2 || strings.HasPrefix(said[0], `{"error":`) {
			t.Fatalf("%v after %v", err, said)
		}
		var f failure
		if err := json.Unmarshal([]byte(said[1]), &f); err != nil {
			t.Fatal(err)
		}
		if !f.Lost || f.Driver == nil || f.Driver.Code != 700 || !strings.HasPrefix(f.Driver.Log, "last kernels launched: ") || !strings.Contains(f.Error, f.Driver.Log) {
			t.Errorf("%s: %s", last, said[1])
		}
		if !strings.Contains(log.String(), "failed: "+last+": "+f.Error) {
			t.Errorf("the log lacks the failure of %s: %s", last, log.String())
		}
	}
}

// TestSigns: who waits is told of long work every second, and of short work nothing.
func TestSigns(t *testing.T) {
	var out strings.Builder
	s := signs{out: &out, last: time.Now()}
	s.working("short")
	s.during("short", func() {})
	if out.Len() > 0 {
		t.Errorf("printed %q", out.String())
	}
	s.last = s.last.Add(-time.Minute)
	s.working("long")
	s.working("long")
	s.last = s.last.Add(-time.Minute)
	if err := (telling{t.Context(), &s, "loading"}).Err(); err != nil {
		t.Error(err)
	}
	if want := "working: long\nworking: loading\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
