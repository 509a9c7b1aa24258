package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/dataset"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// TestSurvivorsMemory: queries whose looks keep most of the vectors are searched few at a time where private memory is
// short, with the same answers.
func TestSurvivorsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 90 MB")
	}
	if race.Enabled {
		t.Skip("the race detector takes more than the limit")
	}
	const n, m, dim = 40_000, 1024, 384
	dir := t.TempDir()
	rows, queries := vectorFile(t, dir, "a.npy", 1, n, dim), vectorFile(t, dir, "q.npy", 2, m, dim)
	atoms := filepath.Join(dir, "a.thresher")
	thresher(t, "build", "--vectors", rows, "--metric", "ip", "--out", atoms).WantCode(t, 0)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var want []dataset.Result
	for _, limit := range []string{"unlimited", "125000"} { // KiB, of which the runtime takes 100 MB
		out := filepath.Join(dir, limit+".jsonl")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -s 1024 && ulimit -d "$0" && exec "$@"`, limit, self,
			"search", "--vectors", atoms, "--queries", queries, "-k", "3", "--method", "certain", "--costs", "builtin", "--threads", "2", "--out", out)
		cmd.Env = append(os.Environ(), clitest.ChildVariable+"=1", "GOMEMLIMIT=", "GOMAXPROCS=2")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("within %s KiB: %v\n%.600s", limit, err, text)
		}
		found := answersOf(t, out)
		if want == nil {
			want = found
		} else if diff := cmp.Diff(want, found); diff != "" {
			t.Error(diff)
		} else if !strings.Contains(string(text), " queries at a time, k = 3 of 40000") || strings.Contains(string(text), " 1024 queries at") {
			t.Errorf("the summary states no memory:\n%s", text)
		}
	}
}

// TestPursuitMemory: the searches of a pursuit, which divide their queries by what looks before them kept, and its signals stay within a limit on
// private memory too.
func TestPursuitMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 90 MB")
	}
	if race.Enabled {
		t.Skip("the race detector takes more than the limit")
	}
	const n, m, dim = 40_000, 1024, 384
	dir := t.TempDir()
	rows, signals := vectorFile(t, dir, "a.npy", 1, n, dim), vectorFile(t, dir, "s.npy", 2, m, dim)
	atoms := filepath.Join(dir, "a.thresher")
	thresher(t, "build", "--vectors", rows, "--metric", "cosine", "--out", atoms).WantCode(t, 0)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for _, limit := range []string{"unlimited", "125000", "115000"} { // KiB; the last leaves less than what 1,024 signals take
		out := filepath.Join(dir, limit+".csv")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -s 1024 && ulimit -d "$0" && exec "$@"`, limit, self,
			"pursuit", "--vectors", atoms, "--signals", signals, "--terms", "1", "--method", "certain", "--costs", "builtin", "--threads", "2", "--out", out)
		cmd.Env = append(os.Environ(), clitest.ChildVariable+"=1", "GOMEMLIMIT=", "GOMAXPROCS=2")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("within %s KiB: %v\n%.600s", limit, err, text)
		}
		if found := read(t, out); want == nil {
			want = found
		} else if string(found) != string(want) {
			t.Errorf("within %s KiB other terms are found", limit)
		}
	}
}
