package main

import (
	"bufio"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"thresher/internal/cli/clitest"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

// TestWideMemory: thresher search of 100 x 1,000,000 rows takes at most 2.5 times the memory of these rows in
// float32, by every method that the command has for them.
func TestWideMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 400 MB")
	}
	if race.Enabled {
		t.Skip("the race detector takes more than the limit")
	}
	const n, m, dim = 100, 4, 1_000_000
	dir := t.TempDir()
	atoms, queries := wideFile(t, dir, "a.npy", 1, n, dim), wideFile(t, dir, "q.npy", 2, m, dim)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var want string
	for _, method := range []string{"exact", "auto", "certain", "adaptive", "strict"} {
		out := filepath.Join(dir, method+".jsonl")
		const kib = 25 * 4 * n * dim / 10 / 1024
		// Stacks count whole, and more processors need more of them: they are kept small.
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -s 1024 && ulimit -d "$0" && exec "$@"`, strconv.Itoa(kib), self,
			"search", "--vectors", atoms, "--queries", queries, "--metric", "ip", "-k", "1", "--method", method, "--threads", "2", "--out", out)
		cmd.Env = append(os.Environ(), clitest.ChildVariable+"=1", "GOMEMLIMIT=")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s within %d KiB: %v\n%.600s", method, kib, err, text)
			continue
		}
		ids := ""
		for _, a := range answersOf(t, out) {
			ids += strconv.FormatInt(a.Rows[0], 10) + " "
		}
		if want == "" {
			want = ids
		}
		if ids != want {
			t.Errorf("%s: best are %s, exact finds %s", method, ids, want)
		}
	}
}

// wideFile writes n rows of dim coordinates as npy, each about a mean of its own.
func wideFile(t *testing.T, dir, name string, seed uint64, n, dim int) string {
	t.Helper()
	path := filepath.Join(dir, name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err := w.Write(npyHeader(n, dim)); err != nil {
		t.Fatal(err)
	}
	r := vectors.Rand(seed)
	var b [4]byte
	for range n {
		level := float32(r.NormFloat64())
		for range dim {
			noise := float32(int32(r.Uint32())) * 0x1p-30
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(level+noise))
			if _, err := w.Write(b[:]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return path
}
