package main

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// TestFewQueriesBuildNothing searches, certifies and measures with few queries: rows are scanned as they lie, of a file
// that holds them so without a copy of them in memory.
func TestFewQueriesBuildNothing(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	const n, dim = 20000, 256
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, n, dim), vectorFile(t, dir, "q.npy", 2, 3, dim)
	answers := filepath.Join(dir, "r.jsonl")
	for _, verb := range []string{"search", "truth", "certify"} {
		args := []string{verb, "--vectors", atoms, "--queries", queries, "--metric", "ip", "-k5", "--out", answers, "--overwrite"}
		if verb == "certify" {
			args = append(args, "--answers", filepath.Join(dir, "given.jsonl"))
			clitest.WriteFile(t, dir, "given.jsonl", clitest.ReadFile(t, answers))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		thresher(t, args...).WantCode(t, cli.ExitOK)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 4*n*dim/2 {
			t.Errorf("%s of %d bytes of vectors allocated %d bytes", verb, 4*n*dim, took)
		}
		if plans := strings.Count(string(clitest.ReadFile(t, answers)), `"plan":"dense, no building"`); plans != 3 {
			t.Errorf("%s: %d of 3 answers built nothing", verb, plans)
		}
	}
	r := thresher(t, "recall", "--vectors", atoms, "--queries", queries, "--metric", "ip", "--answers", answers)
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, "plan dense, no building") {
		t.Error(r.Out)
	}
	for _, method := range []string{"adaptive", "strict"} { // which need what is built
		r := thresher(t, "search", "--vectors", atoms, "--queries", queries, "--metric", "ip", "--method", method, "-k5")
		r.WantCode(t, cli.ExitOK)
		if strings.Contains(r.Out, "no building") {
			t.Errorf("%s built nothing: %s", method, r.Out)
		}
	}
}
