//go:build unix

package worker

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
)

// TestThreads: collections and searches get the number of threads that they ask for, at most as many as run at
// once, with the same answers, and each number one device.
func TestThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	const n, dim, m, k = 500, 32, 4, 3
	o := testOptions(t)
	var asked []int
	o.Device = func(_ context.Context, _ string, threads int, _ *collection.Collection) (*Device, error) {
		asked = append(asked, threads)
		b := cpu.New(cpu.Options{Threads: threads})
		t.Cleanup(func() { b.Close() })
		return &Device{Backend: b, Engine: &batch.Options{}}, nil
	}
	rows := randomRows(1, n, dim)
	c := newClient(t, o)
	var made about
	c.must(&made, "build", object{"metric": "l2", "threads": 1}, floats("vectors", n, dim, rows))
	queries := floats("queries", m, dim, randomRows(2, m, dim))
	want := c.must(nil, "search", object{"handle": made.Handle, "k": k, "method": "certain"}, queries)
	for _, threads := range []int{1, 2, 3, 2, 64} {
		got := c.must(nil, "search", object{"handle": made.Handle, "k": k, "method": "certain", "threads": threads}, queries)
		for _, name := range []string{"rows", "scores64"} {
			if !bytes.Equal(want.bytes[name], got.bytes[name]) {
				t.Errorf("%d threads: other %s", threads, name)
			}
		}
	}
	for _, op := range []string{"search", "build"} {
		if r := c.call(op, object{"handle": made.Handle, "k": k, "threads": -1}, queries); r.Error == nil || op == "search" && r.Error.Argument != "threads" {
			t.Errorf("%s by -1 threads: %+v", op, r.Error)
		}
	}
	c.must(nil, "add", object{"handle": made.Handle}, floats("vectors", m, dim, rows[:m*dim]))
	c.finish()
	if want := []int{1, 2, 3, 1}; !slices.Equal(asked, want) {
		t.Errorf("devices of %d threads, want %d", asked, want)
	}
}
