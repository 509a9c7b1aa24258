package main

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
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

// TestDamagedRowsLoseNothing: with --overwrite the answers that are there are kept until the vectors are verified, whatever is written in their
// place, and so is the progress of a run that may be resumed.
func TestDamagedRowsLoseNothing(t *testing.T) {
	prepared, queries, damage := damageable(t)
	dir := t.TempDir()
	damage()
	for _, name := range []string{"out.jsonl", "out.npz", "out.npz.progress", "out.npz.spool", "out.csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"out.jsonl", "out.npz", "out.csv"} {
		thresher(t, "search", "--vectors", prepared, "--queries", queries, "-k", "3", "--method", "certain", "--overwrite", "--out", filepath.Join(dir, name)).WantError(t, "section rows")
	}
	for _, name := range []string{"out.jsonl", "out.npz", "out.npz.progress", "out.npz.spool", "out.csv"} {
		if b := read(t, filepath.Join(dir, name)); string(b) != "before" {
			t.Errorf("%s: %q", name, b)
		}
	}
}

// TestDamagedRowsAreNamed: what reads rows before they are verified says of damaged ones that they are, and not what follows from it.
func TestDamagedRowsAreNamed(t *testing.T) {
	prepared, queries, damage := damageable(t)
	dir := t.TempDir()
	answers := filepath.Join(dir, "answers.npz")
	thresher(t, "search", "--vectors", prepared, "--queries", queries, "-k", "3", "--method", "certain", "--out", answers).WantCode(t, cli.ExitOK)
	selves := vectorFile(t, dir, "v.npy", 1, 6000, 64)
	damage()
	for _, args := range [][]string{
		{"search", "--queries", selves, "-k", "3", "--exclude-self"},
		{"certify", "--queries", queries, "--answers", answers},
		{"certify", "--queries", queries, "--answers", answers, "--out", filepath.Join(dir, "out.npz")},
		{"recall", "--queries", queries, "--answers", answers},
		{"verify", "--queries", queries, "--answers", answers, "--guarantee", "certain"},
		{"truth", "--queries", queries, "-k", "3", "--out", filepath.Join(dir, "out.npz")},
	} {
		thresher(t, append(args, "--vectors", prepared)...).WantError(t, "c.thresher: section rows: collection file is damaged: checksum differs")
	}
}

// damageable returns prepared vectors, a file of queries, and a function that makes the first of the vectors infinite.
func damageable(t *testing.T) (prepared, queries string, damage func()) {
	dir := t.TempDir()
	prepared, queries = filepath.Join(dir, "c.thresher"), vectorFile(t, dir, "q.npy", 2, 3, 64)
	thresher(t, "build", "--vectors", vectorFile(t, dir, "v.npy", 1, 6000, 64), "--metric", "ip", "--out", prepared).WantCode(t, cli.ExitOK)
	return prepared, queries, func() {
		b := read(t, prepared)
		for at := 1 << 14; at < 1<<14+4*64; at += 4 { // of the first section
			binary.LittleEndian.PutUint32(b[at:], math.Float32bits(float32(math.Inf(1))))
		}
		if err := os.WriteFile(prepared, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
