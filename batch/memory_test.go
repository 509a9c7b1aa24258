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
	e := over(t, c, 1, &batch.Options{RunBytes: most})
	f, err := e.Footprint(req, m)
	if err != nil || f.Run > most || f.Part >= m || f.Part < 2 || f.Run/int64(f.Part) > batch.MaxQueryBytes(n, dim, n) {
		t.Errorf("%+v, %v", f, err)
	}
	for j, a := range search(t, e, req).Answers {
		if !slices.Equal(a.IDs, whole.Answers[j].IDs) || !slices.Equal(a.Scores, whole.Answers[j].Scores) {
			t.Errorf("query %d: another answer", j)
		}
	}
}

// TestSpare: the first run of an engine has so few queries that its looks may keep everything within what is spare, and
// runs after it as many as what was kept leaves room for, at most four times as many each. Answers are the same. Runs that
// take little do not ask.
func TestSpare(t *testing.T) {
	const n, dim, m, spare = 20_000, 256, 150, 8 << 20
	const keptBytes, chunk = 30, 8 * 4096 // of an arm, and of a first look
	for name, rows := range map[string][]float32{
		"much is kept":   vectors.Gaussian(vectors.Rand(5), n, dim),
		"little is kept": vectors.PowerLaw(vectors.Rand(5), n, dim),
	} {
		c := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
		req := batch.Request{Queries: rows[:m*dim], K: 3, Method: batch.Certain}
		plain := over(t, c, 1, nil)
		forecasts, err := plain.Plans(req)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range forecasts {
			if req.Plan == "" && len(f.SurvivorShares) > 0 && f.Guarantee == batch.GuaranteeCertain && (name == "little is kept" || f.SurvivorShares[0] > .3) {
				req.Plan = f.Plan
			}
		}
		if req.Plan == "" {
			t.Fatalf("no plan has looks: %+v", forecasts)
		}
		whole := search(t, plain, req).Answers // which makes what looks keep
		f, err := plain.Footprint(req, 1)
		if err != nil {
			t.Fatal(err)
		}
		if f.Bounded != f.Run+f.Survivors {
			t.Errorf("%s: %+v without a limit", name, f)
		}
		each := f.Run + f.Survivors
		for _, limit := range []int64{0, 1, spare, 1 << 40} {
			asked := int64(0)
			o := &batch.Options{Spare: func(need int64) int64 { asked = max(asked, need); return limit }}
			b := &counting{Backend: cpu.New(cpu.Options{Threads: 1}), left: []int{1}}
			e, err := batch.Open(t.Context(), c, b, o)
			if err != nil {
				t.Fatal(err)
			}
			answers := search(t, e, req).Answers
			if f, err := e.Footprint(req, m); err != nil || f.Part != m || limit > 0 && f.Bounded != min(max(limit, each), m*each) {
				t.Errorf("%s, %d bytes spare: %+v of %d each, %v", name, limit, f, each, err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			want := map[int64]int{0: m, 1: 1, spare: int(spare / each), 1 << 40: m}[limit]
			if b.batches[0] != want || want == m && len(b.batches) > 1 || limit == 1 && slices.Max(b.batches) > 1 || asked < 8*each {
				t.Errorf("%s, %d bytes spare: runs of %d queries, want %d first; asked for %d", name, limit, b.batches, want, asked)
			}
			at := 0
			for i, run := range b.batches {
				if i > 0 && run > 4*b.batches[i-1] {
					t.Errorf("%s, %d bytes spare: runs of %d queries", name, limit, b.batches)
				}
				kept := int64(0)
				for _, a := range answers[at : at+run] {
					kept += int64(a.Certificate.Looks[0].Survivors)
				}
				if at += run; limit == spare && int64(run)*chunk+keptBytes*kept > spare {
					t.Errorf("%s: run %d of %d queries keeps %d", name, i, run, kept)
				}
			}
			if grows := slices.Max(b.batches) >= 3*b.batches[0]; limit == spare && grows != (name == "little is kept") {
				t.Errorf("%s: runs of %d queries", name, b.batches)
			}
			for j, a := range answers {
				if !slices.Equal(a.IDs, whole[j].IDs) || !slices.Equal(a.Scores, whole[j].Scores) || a.Certificate.Pulls != whole[j].Certificate.Pulls {
					t.Errorf("%s, %d bytes spare, query %d: another answer", name, limit, j)
				}
			}
		}
		asked := false
		e := over(t, c, 1, &batch.Options{Spare: func(int64) int64 { asked = true; return 0 }})
		asked = false // Open asks whether the rows are read ahead
		req.Queries = rows[:10*dim]
		if search(t, e, req); asked {
			t.Error("a small search asks")
		}
	}
}
