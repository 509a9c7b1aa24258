package batch_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// counting is the CPU backend with counters and prescribed Survivors.
type counting struct {
	*cpu.Backend
	left    []int // survivors of a query after each pull; the last value for further pulls
	stop    int   // the pull that the context interrupts, from 1
	pulls   int
	batches []int // queries of each run
}

func (b *counting) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	r, err := b.Backend.Load(ctx, c)
	return &countingResident{r, b}, err
}

type countingResident struct {
	backend.Resident
	b *counting
}

func (r *countingResident) Begin(ctx context.Context, q backend.Queries, g []backend.Goal) (backend.Run, error) {
	r.b.batches = append(r.b.batches, q.M)
	run, err := r.Resident.Begin(ctx, q, g)
	return &countingRun{run, r.b}, err
}

type countingRun struct {
	backend.Run
	b *counting
}

func (r *countingRun) Pull(ctx context.Context, l backend.Look) (backend.Survivors, error) {
	b := r.b
	b.pulls++
	if b.pulls == b.stop {
		return nil, context.DeadlineExceeded
	}
	left, err := r.Run.Pull(ctx, l)
	if err == nil {
		clear(left)
		left[0] = b.left[min(b.pulls, len(b.left))-1]
	}
	return left, err
}

// gaussian is n rows.
func gaussian(n, dim int) []float32 {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	return vectors.Gaussian(rng, n, dim)
}

// TestLooksEnd: no look is taken after one without survivors or after one that was
// interrupted.
func TestLooksEnd(t *testing.T) {
	const dim = 256
	c := build(t, gaussian(500, dim), dim, &collection.Options{Metric: collection.InnerProduct})
	for _, x := range []struct {
		left        []int
		stop, pulls int
	}{
		{[]int{0}, 0, 1},
		{[]int{9, 0}, 0, 2},
		{[]int{9, 9, 0}, 0, 3},
		{[]int{9}, 0, 3}, // all looks of the plan
		{[]int{9}, 1, 1},
		{[]int{9}, 2, 2},
	} {
		b := &counting{Backend: cpu.New(cpu.Options{Threads: 1}), left: x.left, stop: x.stop}
		e, err := batch.Open(context.Background(), c, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		search(t, e, batch.Request{Queries: gaussian(2, dim), K: 3, Plan: "64,128,whole,rescore"})
		if b.pulls != x.pulls {
			t.Errorf("%d looks, want %d of %+v", b.pulls, x.pulls, x)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLargeBatchesAreSplit: a run has at most 1,024 queries, and no more than memory allows.
func TestLargeBatchesAreSplit(t *testing.T) {
	for _, x := range []struct {
		m, dim int
		want   []int
	}{
		{1024, 1, []int{1024}},
		{2049, 1, []int{1024, 1024, 1}},
		{100, 1 << 16, []int{74, 26}}, // of 1.5 MiB each, beside two rows of as many coordinates
	} {
		b := &counting{Backend: cpu.New(cpu.Options{Threads: 2})}
		e, err := batch.Open(context.Background(), build(t, gaussian(2, x.dim), x.dim, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw}), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		queries := make([]float32, x.m*x.dim)
		for j := range x.m {
			queries[j*x.dim] = float32(j + 1)
		}
		resp := search(t, e, batch.Request{Queries: queries, K: 2, Method: batch.Exact})
		if !slices.Equal(b.batches, x.want) {
			t.Errorf("%d queries of %d coordinates: runs of %v, want %v", x.m, x.dim, b.batches, x.want)
		}
		one := resp.Answers[0]
		for j, a := range resp.Answers {
			if !slices.Equal(a.IDs, one.IDs) || a.Scores[0] != float32(j+1)*one.Scores[0] {
				t.Fatalf("query %d: %v %v, the first %v %v", j, a.IDs, a.Scores, one.IDs, one.Scores)
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
