package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
)

// TestSearchCSV: a column called id has the atoms' names, also if the same file contains the
// queries. Columns that are not kept are named where that loses them, and otherwise by the log alone.
func TestSearchCSV(t *testing.T) {
	dir := t.TempDir()
	films, out := filepath.Join(dir, "films.csv"), filepath.Join(dir, "near.jsonl")
	text := "id,title,x,y\na,One,1,0\nb,Two,0,1\n7,Three,-1,0\n"
	if err := os.WriteFile(films, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := thresher(t, "search", "--vectors", films, "--metric", "ip", "--queries", films, "-k", "1", "--out", out)
	r.WantCode(t, cli.ExitOK)
	lines := strings.Split(strings.TrimSpace(string(read(t, out))), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"a"`) || !strings.Contains(lines[2], `"7"`) {
		t.Errorf("%s", lines)
	}
	if strings.Contains(r.Err, "columns=") {
		t.Errorf("a search warns of columns that stay where they are: %s", r.Err)
	}
	r = thresher(t, "search", "--vectors", films, "--metric", "ip", "--queries", films, "-k", "1", "--out", out, "--overwrite", "--log-level", "info")
	if !strings.Contains(r.Err, "films.csv") || !strings.Contains(r.Err, "columns=title") {
		t.Errorf("nothing is said of what is dropped: %s", r.Err)
	}
	thresher(t, "verify", "--vectors", films, "--metric", "ip", "--queries", films, "--answers", out).WantCode(t, cli.ExitOK)
	r = thresher(t, "build", "--vectors", films, "--metric", "ip", "--out", filepath.Join(dir, "films.thresher"))
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Err, "columns=title\n") {
		t.Errorf("nothing is said of what is dropped: %s", r.Err)
	}
	thresher(t, "info", films).WantCode(t, cli.ExitOK)
}
