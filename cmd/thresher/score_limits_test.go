package main

import (
	"path/filepath"
	"slices"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// TestDistanceLimits: limits of distances have names of their own, which are refused for other metrics by naming the right
// ones, and say the same as the names that scores have.
func TestDistanceLimits(t *testing.T) {
	dir := t.TempDir()
	vectors := clitest.WriteFile(t, dir, "v.npy", npy([]float32{0, 0, 3, 0, 0, 4, 3, 4}, 2))
	search := func(metric, out string, more ...string) clitest.Result {
		return thresher(t, append([]string{"search", "--vectors", vectors, "--queries", vectors, "--metric", metric, "--method", "exact", "--out", out}, more...)...)
	}
	byDistance, byColumns := filepath.Join(dir, "d.jsonl"), filepath.Join(dir, "s.jsonl")
	search("l2", byDistance, "--max-distance", "16", "--min-distance", "9").WantCode(t, cli.ExitOK)
	columns := clitest.WriteFile(t, dir, "q.csv", []byte("x,y,near,far\n0,0,16,9\n3,0,16,9\n0,4,16,9\n3,4,16,9\n"))
	search("l2", byColumns, "--queries", columns, "--max-distance-column", "near", "--min-distance-column", "far").WantCode(t, cli.ExitOK)
	for j, want := range answersOf(t, byColumns) {
		if got := answersOf(t, byDistance)[j]; !slices.Equal(got.Rows, want.Rows) || len(got.Rows) != 2 {
			t.Errorf("query %d: %v, by columns %v", j, got.Rows, want.Rows)
		}
	}
	out := filepath.Join(dir, "none.jsonl")
	search("l2", out, "--min-score", "16").WantError(t, "--min-score: the metric is l2", "--max-distance says it")
	search("l2", out, "--max-score", "16").WantError(t, "--max-score: the metric is l2", "--min-distance says it")
	search("l2", out, "--queries", columns, "--min-score-column", "near").WantError(t, "--min-score-column", "--max-distance-column says it")
	search("ip", out, "--queries", columns, "--min-distance-column", "near", "-k1").WantError(t, "--min-distance-column", "--max-score-column says it")
	search("cosine", out, "--max-distance", "1").WantError(t, "--max-distance", "cosine", "--min-score")
	search("ip", out, "--min-score", "1", "--min-distance", "1").WantError(t, "--min-distance", "ip", "--max-score")
	search("l2", out, "--min-score", "1", "--max-distance", "1").WantError(t, "--min-score", "--max-distance", "one limit")
	search("l2", out, "--max-distance", "1", "--min-distance", "2").WantError(t, "--max-distance 1", "--min-distance 2", "no score")
	search("l2", out, "--max-distance", "nan").WantError(t, "--max-distance", "not finite")
	pairs := func(metric string, more ...string) clitest.Result {
		return thresher(t, append([]string{"pairs", "--vectors", vectors, "--metric", metric, "--out", filepath.Join(dir, "p.csv"), "--overwrite"}, more...)...)
	}
	pairs("l2", "--max-distance", "9").WantCode(t, cli.ExitOK)
	if got := len(pairRows(t, filepath.Join(dir, "p.csv"), "a,b,score")); got != 2 {
		t.Errorf("%d pairs at most 3 apart, want 2", got)
	}
	pairs("cosine", "--max-distance", "1").WantError(t, "--max-distance", "--min-score")
	pairs("l2", "--min-score", "1").WantError(t, "--min-score: the metric is l2", "--max-distance says it")
	pairs("l2", "--max-distance", "-1").WantError(t, "--max-distance -1", "at least 0")
	pairs("l2").WantError(t, "--min-score", "--max-distance")
	pairs("l2", "--max-distance", "1e9", "--max-pairs", "1").WantError(t, "move --max-distance")
}
