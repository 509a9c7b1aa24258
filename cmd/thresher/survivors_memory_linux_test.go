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

// noise writes 40,000 vectors of 384 dimensions that are alike in nothing as prepared vectors, and 1,024 queries. It skips tests for which that
// is too much.
func noise(t *testing.T, dir, metric string) (atoms, queries string) {
	t.Helper()
	if testing.Short() {
		t.Skip("writes 90 MB")
	}
	if race.Enabled {
		t.Skip("the race detector takes more than the limit")
	}
	const n, m, dim = 40_000, 1024, 384
	rows, queries := vectorFile(t, dir, "a.npy", 1, n, dim), vectorFile(t, dir, "q.npy", 2, m, dim)
	atoms = filepath.Join(dir, "a.thresher")
	thresher(t, "build", "--vectors", rows, "--metric", metric, "--out", atoms).WantCode(t, 0)
	return atoms, queries
}

// within runs a command by method certain on two threads within a limit on private memory, in KiB, and returns what it says.
func within(t *testing.T, limit string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -s 1024 && ulimit -d "$0" && exec "$@"`, limit, self)
	cmd.Args = append(append(cmd.Args, args...), "--method", "certain", "--costs", "builtin", "--threads", "2")
	cmd.Env = append(os.Environ(), clitest.ChildVariable+"=1", "GOMEMLIMIT=", "GOMAXPROCS=2")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("within %s KiB: %v\n%.600s", limit, err, text)
	}
	return string(text)
}

// TestSurvivorsMemory: queries whose looks keep most of the vectors are searched few at a time where private memory is
// short, with the same answers.
func TestSurvivorsMemory(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := noise(t, dir, "ip")
	var want []dataset.Result
	for _, limit := range []string{"unlimited", "125000"} { // KiB, of which the runtime takes 100 MB
		out := filepath.Join(dir, limit+".jsonl")
		text := within(t, limit, "search", "--vectors", atoms, "--queries", queries, "-k", "3", "--out", out)
		found := answersOf(t, out)
		if want == nil {
			want = found
		} else if diff := cmp.Diff(want, found); diff != "" {
			t.Error(diff)
		} else if !strings.Contains(text, " queries at a time, k = 3 of 40000") || strings.Contains(text, " 1024 queries at") {
			t.Errorf("the summary states no memory:\n%s", text)
		}
	}
}

// TestPursuitMemory: the searches of a pursuit, which divide their queries by what looks before them kept, and its signals stay within a limit on
// private memory too.
func TestPursuitMemory(t *testing.T) {
	dir := t.TempDir()
	atoms, signals := noise(t, dir, "cosine")
	var want []byte
	for _, limit := range []string{"unlimited", "125000", "115000"} { // KiB; the last leaves less than what 1,024 signals take
		out := filepath.Join(dir, limit+".csv")
		within(t, limit, "pursuit", "--vectors", atoms, "--signals", signals, "--terms", "1", "--out", out)
		if found := read(t, out); want == nil {
			want = found
		} else if string(found) != string(want) {
			t.Errorf("within %s KiB other terms are found", limit)
		}
	}
}
