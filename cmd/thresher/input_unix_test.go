//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// fifo makes a named pipe and, if feed is not nil, writes feed to it once.
func fifo(t *testing.T, name string, feed []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if feed != nil {
		go func() {
			if err := os.WriteFile(path, feed, 0); err != nil {
				t.Error(err)
			}
		}()
	}
	return path
}

// A pipe can be read only once; the answers are those of the file.
func TestSearchFromPipes(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "atoms.npy", 1, 300, 20), vectorFile(t, dir, "queries.npy", 2, 7, 20)
	answer := func(atoms, queries, out string) string {
		out = filepath.Join(dir, out)
		thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k", "5", "--method", "exact", "--out", out).WantCode(t, cli.ExitOK)
		return string(clitest.ReadFile(t, out))
	}
	want := answer(atoms, queries, "files.ivecs")
	if answer(fifo(t, "atoms", clitest.ReadFile(t, atoms)), fifo(t, "queries.npy", clitest.ReadFile(t, queries)), "pipes.ivecs") != want {
		t.Error("pipes give other answers than the files")
	}
	lines, certificates := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "c.jsonl")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k", "5", "--out", lines, "--certificates", certificates).WantCode(t, cli.ExitOK)
	r := thresher(t, "verify", "--vectors", fifo(t, "atoms", clitest.ReadFile(t, atoms)), "--metric", "ip", "--queries", queries,
		"--answers", fifo(t, "a", clitest.ReadFile(t, lines)), "--certificates", fifo(t, "c", clitest.ReadFile(t, certificates)))
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, "7 of 7 answers") {
		t.Error(r.Out)
	}
	path := fifo(t, "x.npy", clitest.ReadFile(t, atoms))
	r = thresher(t, "info", path)
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, path) || !strings.Contains(r.Out, "300") {
		t.Error(r.Out)
	}
	path = fifo(t, "x.npy", []byte("no vectors"))
	thresher(t, "search", "--vectors", path, "--metric", "ip", "--queries", queries, "--out", filepath.Join(dir, "none.ivecs")).WantError(t, path)
}

// A command that waits for a pipe without a writer can be interrupted.
func TestPipeIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := fifo(t, "atoms", nil)
	r := thresherWith(t, ctx, "", "search", "--vectors", path, "--metric", "ip", "--queries", path, "-k", "1", "--out", filepath.Join(t.TempDir(), "a.ivecs"))
	if r.Code == cli.ExitOK {
		t.Error("a search without vectors succeeded")
	}
	w, err := os.OpenFile(path, os.O_WRONLY, 0) // releases the reader
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
}
