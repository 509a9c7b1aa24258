package catalog

import (
	"context"
	"testing"

	"thresher/batch"
)

// TestMemoryOfWhatSearchesMake: panels of signs that a search makes are counted as memory of their version until it is closed, and
// not once more by searches after it.
func TestMemoryOfWhatSearchesMake(t *testing.T) {
	const n, dim = 1500, 192
	for name, o := range map[string]Options{"file": {}, "folder": {Place: placer(t)}} {
		f, ctx := newFolder(t, o), context.Background()
		f.ready(f.c.Create(ctx, "a", rowsOf(0, n, dim, nil), CreateOptions{Metric: "ip"}, ""))
		v := f.use("a", 0)
		before, making := f.c.Memory(), v.Making()
		req := batch.Request{Queries: vectors(0, 1, dim), K: 3, Plan: "signs128,rescore"}
		most, err := v.RunBytes(req, 1)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := v.Direct(ctx, req); err != nil {
				t.Fatal(err)
			}
			if kept := f.c.Memory() - before; kept < n*(128/8+12) || kept > making || most < kept || v.Making() != 0 {
				t.Errorf("%s: %d bytes more are counted, at most %d to be made, in a run of %d", name, kept, making, most)
			}
		}
		if later, err := v.RunBytes(req, 1); err != nil || later != most-(f.c.Memory()-before) {
			t.Errorf("%s: a run of %d bytes after one of %d, %v", name, later, most, err)
		}
		v.Release()
	}
}
