package main

import (
	"math"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// TestChunksOfLargeK: a search for many atoms takes few queries at a time, however many there
// are, so that their answers take at most 256 MiB; it states this, and writes the same answers in
// every format.
func TestChunksOfLargeK(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	const n, m, k = 20_000, 200, 20_000
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, n, 4), vectorFile(t, dir, "q.npy", 2, m, 4)
	out := filepath.Join(dir, "out.neighbors.ibin")
	r := thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k", strconv.Itoa(k), "--out", out, "--json", "--log-level", "debug")
	s := summaryOf(t, r)
	const most = chunkBytes / (640 + (12+writtenBytes)*k)
	var done []int64
	for _, found := range regexp.MustCompile(`chunk is durable.*queries=(\d+)`).FindAllStringSubmatch(r.Err, -1) {
		items, err := strconv.ParseInt(found[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, items)
	}
	if !slices.Equal(done, []int64{most, m}) || s.Memory == nil || s.Memory.Queries != most || s.Memory.Bytes > 1<<29 {
		t.Errorf("%d queries were durable after the chunks, stated %+v; want %d at a time", done, s.Memory, most)
	}
	few := summaryOf(t, thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k", "10", "--out", filepath.Join(dir, "few.npz"), "--json"))
	if few.Memory != nil {
		t.Errorf("a search for 10 vectors states %+v", few.Memory)
	}

	one := vectorFile(t, dir, "one.npy", 2, 1, 4)
	for _, name := range formats() {
		out := filepath.Join(dir, "one"+name)
		thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", one, "-k", strconv.Itoa(k), "--out", out).WantCode(t, cli.ExitOK)
		if ids := answersOf(t, out)[0].Rows; len(ids) != k {
			t.Errorf("%s: %d ids", name, len(ids))
		}
	}
}

// TestTooLargeK: a search for more atoms than memory allows is refused in advance, with the
// figure, and leaves no output.
func TestTooLargeK(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	const n = 20_000
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, n, 4), vectorFile(t, dir, "q.npy", 2, 3, 4)
	out := filepath.Join(dir, "out.npz")
	args := []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--out", out}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 20)) // less than is taken already
	r := thresher(t, append(args, "-k", strconv.Itoa(n))...)
	r.WantError(t, "search: an answer of k = 20000 of 20000 vectors needs up to ", "are available", "ask for fewer vectors with -k")
	if clitest.Exists(out) || clitest.Exists(out+".progress") {
		t.Error("what was refused left an output")
	}
	debug.SetMemoryLimit(math.MaxInt64)
	r = thresher(t, append(args, "-k", strconv.Itoa(n))...)
	r.WantCode(t, cli.ExitOK)
	if !regexp.MustCompile(`memory +up to \d+ MB for 3 queries at a time, k = 20000 of 20000`).MatchString(r.Err) {
		t.Errorf("the summary states no memory:\n%s", r.Err)
	}
}

// TestChunksOfLongAnswers: verify and recall take fewer queries at a time if answers are long.
func TestChunksOfLongAnswers(t *testing.T) {
	for longest, want := range map[int]int{0: 1024, 10: 1024, 100_000: 55, 1_000_000_000: 1} {
		if got := (&queryChunks{chunk: 1024}).forAnswers(longest).chunk; got != want {
			t.Errorf("%d queries at a time for answers of %d vectors, want %d", got, longest, want)
		}
	}
}
