package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// TestColumnsOfEveryFile: --ids and the columns of k and of limits are no coordinates in any file that
// has them, as where atoms and queries are one file.
func TestColumnsOfEveryFile(t *testing.T) {
	const n, dim = 30, 4
	dir := t.TempDir()
	rows := gaussian(41, n*dim)
	var with, bare strings.Builder
	with.WriteString("key,wanted,least,d0,d1,d2,d3\n")
	bare.WriteString("d0,d1,d2,d3\n")
	for i := range n {
		v := strings.Trim(strings.ReplaceAll(fmt.Sprint(rows[i*dim:(i+1)*dim]), " ", ","), "[]")
		fmt.Fprintf(&with, "%d,%d,-9,%s\n", 1000+i, 1+i%3, v)
		fmt.Fprintf(&bare, "%s\n", v)
	}
	full, plain := clitest.WriteFile(t, dir, "full.csv", []byte(with.String())), clitest.WriteFile(t, dir, "plain.csv", []byte(bare.String()))
	answers := filepath.Join(dir, "r.jsonl")
	thresher(t, "search", "--vectors", full, "--queries", full, "--ids", "key", "--metric", "cosine", "--method", "exact",
		"--k-column", "wanted", "--min-score-column", "least", "--out", answers).WantCode(t, cli.ExitOK)
	right := filepath.Join(dir, "right.jsonl")
	thresher(t, "search", "--vectors", plain, "--queries", plain, "--metric", "cosine", "--method", "exact", "-k3", "--out", right).WantCode(t, cli.ExitOK)
	got, want := readAnswers(t, answers), readAnswers(t, right)
	for j := range want {
		k := 1 + j%3
		if fmt.Sprint(got[j].Rows) != fmt.Sprint(want[j].Rows[:k]) || got[j].IDs[0] != fmt.Sprint(1000+got[j].Rows[0]) {
			t.Fatalf("query %d: %v %v, want %v", j, got[j].Rows, got[j].IDs, want[j].Rows[:k])
		}
	}
	files := []string{"--vectors", full, "--queries", full, "--ids", "key", "--metric", "cosine", "--k-column", "wanted", "--min-score-column", "least", "--answers", answers}
	thresher(t, append([]string{"verify", "--guarantee", "exact"}, files...)...).WantCode(t, cli.ExitOK)
	if r := recallOf(t, files...); r.Recall != 1 {
		t.Errorf("%+v", r.RecallReport)
	}
}
