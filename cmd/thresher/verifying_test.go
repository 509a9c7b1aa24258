package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"thresher/internal/cli"
)

// TestSearchOfDamagedRows: rows are verified while they are searched, and no answer of damaged ones is written or printed.
func TestSearchOfDamagedRows(t *testing.T) {
	dir := t.TempDir()
	prepared, queries, out := filepath.Join(dir, "c.thresher"), vectorFile(t, dir, "q.npy", 2, 3, 64), filepath.Join(dir, "out.npz")
	thresher(t, "build", "--vectors", vectorFile(t, dir, "v.npy", 1, 6000, 64), "--metric", "ip", "--out", prepared).WantCode(t, cli.ExitOK)
	b, err := os.ReadFile(prepared)
	if err != nil {
		t.Fatal(err)
	}
	b[1<<20] ^= 1 // of the first section
	if err := os.WriteFile(prepared, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"exact", "certain", "adaptive"} {
		search := []string{"search", "--vectors", prepared, "--queries", queries, "-k", "3", "--method", method, "--out"}
		thresher(t, append(search, out)...).WantError(t, "c.thresher: section rows: collection file is damaged: checksum differs")
		if r := thresher(t, append(search, "-")...); r.Out != "" || r.Code == cli.ExitOK {
			t.Errorf("%s: code %d, %q", method, r.Code, r.Out)
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", method, err)
		}
	}
	thresher(t, "graph", "--vectors", prepared, "-k", "3", "--out", out).WantError(t, "section rows")
}
