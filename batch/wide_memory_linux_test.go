//go:build !race

package batch_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/draws"
	"thresher/internal/vectors"
)

// wideBasis names, for a process of its own, the basis of the collection that it searches.
const wideBasis = "THRESHER_TEST_WIDE_BASIS"

// TestWideMemory: 100 rows of 1,000,000 dimensions are built and searched by every method within 2.5 times
// their memory, in a process of its own with that limit on private memory. Only prefix-f32 is left out: it
// keeps a second float32 copy of the rows. What the papers' other methods take beside the rows, a full run
// (THRESHER_FULL) finds.
func TestWideMemory(t *testing.T) {
	if basis := os.Getenv(wideBasis); basis != "" {
		searchWide(t, basis)
		return
	}
	if testing.Short() {
		t.Skip("takes a gigabyte")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, basis := range []string{"rotated", "raw"} {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestWideMemory$", "-test.v")
		cmd.Env = append(os.Environ(), wideBasis+"="+basis)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%.1200s", basis, err, text)
		}
	}
}

// searchWide searches under the limit.
func searchWide(t *testing.T, basis string) {
	const n, m, dim = 100, 3, 1_000_000
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &l); err != nil {
		t.Fatal(err)
	}
	l.Cur = 25 * 4 * n * dim / 10
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &l); err != nil {
		t.Fatal(err)
	}
	debug.SetMemoryLimit(int64(l.Cur) / 5 * 4) // as a program does that has such a limit

	r := vectors.Rand(6)
	rows, queries := make([]float32, n*dim), make([]float32, m*dim)
	for _, all := range [][]float32{rows, queries} {
		var level float32
		for i := range all {
			if i%dim == 0 {
				level = float32(r.NormFloat64())
			}
			all[i] = level + float32(int32(r.Uint32()))*0x1p-30
		}
	}
	o := &collection.Options{Metric: collection.InnerProduct, Seed: 3, Threads: 2}
	methods := []batch.Method{batch.Exact, batch.Auto, batch.Certain, batch.Adaptive}
	if basis == "raw" {
		o.Basis = collection.Raw
		methods = []batch.Method{batch.Exact, batch.Strict, batch.BanditMIPS}
		if draws.Full() {
			methods = append(methods, batch.BanditMIPSAlpha, batch.BanditMIPSBeta, batch.BucketAE, batch.BoundedME)
		}
	}
	e := over(t, build(t, rows, dim, o), 2, nil)
	var want string
	for _, method := range methods {
		var ids []int64
		for _, a := range search(t, e, batch.Request{Queries: queries, K: 1, Method: method, Epsilon: dim * epsilonOf(method), Delta: .01}).Answers {
			ids = append(ids, a.IDs...)
		}
		if got := fmt.Sprint(ids); want == "" {
			want = got
		} else if slices.Contains([]batch.Method{batch.Auto, batch.Certain, batch.Adaptive, batch.Strict}, method) && got != want {
			t.Errorf("%s finds %s, exact %s", method, got, want)
		}
		if len(ids) != m {
			t.Errorf("%s: %d answers", method, len(ids))
		}
	}
}
