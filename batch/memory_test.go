package batch_test

import (
	"context"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

// TestPartsOfLargeK: the more atoms a query wants, the fewer queries share a run, so that a run
// takes no more than 256 MiB. The answers are those of each query alone.
func TestPartsOfLargeK(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, dim, m = 120_000, 8, 70
	rows := vectors.PowerLaw(vectors.Rand(3), n, dim)
	c := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	b := &counting{Backend: cpu.New(cpu.Options{Threads: 1}), left: []int{0}}
	e, err := batch.Open(context.Background(), c, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	over2 := over(t, c, 2, nil) // whose threads divide the rows
	for _, x := range []struct {
		k     int
		parts []int
	}{{10, []int{70}}, {60_000, []int{55, 15}}, {100_000, []int{33, 33, 4}}, {n, []int{27, 27, 16}}} {
		if testing.Short() && x.k > 60_000 {
			break
		}
		req := batch.Request{Queries: rows[:m*dim], K: x.k, Method: batch.Exact}
		f, err := e.Footprint(req, m)
		if err != nil {
			t.Fatal(err)
		}
		if f.Part != x.parts[0] || f.Run > 1<<28 || f.Answers < int64(m*x.k*12) || f.Bytes() != f.Run+f.Answers {
			t.Errorf("k %d: stated %+v", x.k, f)
		}
		if same, err := e.Footprint(batch.Request{K: x.k, Method: batch.Exact}, m); err != nil || same != f {
			t.Errorf("k %d: %+v without queries, %v, want %+v", x.k, same, err, f)
		}
		if more, err := over2.Footprint(req, m); err != nil || x.k < n && more.Run/int64(more.Part) <= f.Run/int64(f.Part) || more.Run > 1<<28 {
			t.Errorf("k %d: %+v on two threads, %+v on one, %v", x.k, more, f, err)
		}
		b.batches = nil
		resp := search(t, e, req)
		if !slices.Equal(b.batches, x.parts) {
			t.Errorf("k %d: parts of %d queries, want %d", x.k, b.batches, x.parts)
		}
		for _, j := range []int{0, m - 1} {
			req.Queries = rows[j*dim : (j+1)*dim]
			if alone := search(t, e, req); !slices.Equal(alone.Answers[0].IDs, resp.Answers[j].IDs) || !slices.Equal(alone.Answers[0].Scores, resp.Answers[j].Scores) {
				t.Errorf("k %d, query %d: another answer alone", x.k, j)
			}
		}
	}
	if _, err := e.Footprint(batch.Request{K: -1}, 1); err == nil {
		t.Error("a footprint of k -1")
	}
}

// TestRunBytes: the runs of an engine take no more than it is told, and its answers are the same.
func TestRunBytes(t *testing.T) {
	const n, dim, m = 500, 8, 70
	rows := vectors.PowerLaw(vectors.Rand(3), n, dim)
	c := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	req := batch.Request{Queries: rows[:m*dim], K: n, Method: batch.Exact}
	whole := search(t, over(t, c, 1, nil), req)
	const most = 1 << 20
	if batch.MinQueryBytes(dim, n) > most/8 {
		t.Fatal("no run has several queries")
	}
	e := over(t, c, 1, &batch.Options{RunBytes: most})
	f, err := e.Footprint(req, m)
	if err != nil || f.Run > most || f.Part >= m || f.Part < 2 || int64(f.Part)*batch.MinQueryBytes(dim, n) > f.Run {
		t.Errorf("%+v, %v", f, err)
	}
	for j, a := range search(t, e, req).Answers {
		if !slices.Equal(a.IDs, whole.Answers[j].IDs) || !slices.Equal(a.Scores, whole.Answers[j].Scores) {
			t.Errorf("query %d: another answer", j)
		}
	}
}
