package batch_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// staying is a backend whose runs no query leaves before the end.
type staying struct{ backend.Describer }

func (s staying) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	r, err := s.Describer.Load(ctx, c)
	return stayingResident{r}, err
}

type stayingResident struct{ backend.Resident }

func (r stayingResident) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) (backend.Run, error) {
	run, err := r.Resident.Begin(ctx, q, goals)
	return struct{ backend.Run }{run}, err // without backend.Leaver
}

// crowd is what callers of shared runs had of them.
type crowd struct {
	patient []time.Duration // of the callers who wait for their answers
	late    []time.Duration // how long after their deadline the others returned
	found   int             // atoms among the best that the others' partial lists have
	wanted  int
}

// middleOf is the median in milliseconds, 0 of none.
func middleOf(d []time.Duration) float64 {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1e3
}

// BenchmarkLeaving has 64 callers of 8 queries each search at once; of every two, one leaves a share of the way through
// the shared run, by a deadline or because it cancels. In turns the runs can be left (backend.Leaver) and cannot. Reported
// are the median times of those who stay, how late those who leave return, and how many of their ten best atoms they get.
func BenchmarkLeaving(b *testing.B) {
	const atoms, dim, callers, each, k = 60000, 256, 64, 8, 10
	r := vectors.Rand(1)
	for _, data := range []string{"gaussian", "power law"} {
		rows, queries := vectors.Gaussian(r, atoms*dim, 1), vectors.Gaussian(r, callers*each*dim, 1)
		if data == "power law" {
			rows, queries = vectors.PowerLaw(r, atoms, dim), vectors.PowerLaw(r, callers*each, dim)
		}
		c, err := collection.Build(b.Context(), rows, dim, &collection.Options{Seed: 1, Metric: collection.InnerProduct})
		if err != nil {
			b.Fatal(err)
		}
		back := cpu.New(cpu.Options{})
		b.Cleanup(func() { back.Close() })
		var rivals [2]*batch.Coalescer // left, and not
		for i, x := range []backend.Backend{back, staying{back}} {
			e, err := batch.Open(b.Context(), c, x, nil)
			if err != nil {
				b.Fatal(err)
			}
			rivals[i] = batch.NewCoalescer(e, &batch.CoalescerOptions{Window: batch.DefaultWindow})
			b.Cleanup(func() { rivals[i].Close(); e.Close() })
		}
		best := make([][]int64, callers*each)
		whole := func(c *batch.Coalescer, keep bool) time.Duration {
			began := time.Now()
			var all sync.WaitGroup
			for g := range callers {
				all.Go(func() {
					resp, err := c.Search(b.Context(), batch.Request{Queries: queries[g*each*dim : (g+1)*each*dim], K: k})
					if err != nil {
						b.Error(err)
						return
					}
					for i, a := range resp.Answers {
						if keep {
							best[g*each+i] = a.IDs
						}
					}
				})
			}
			all.Wait()
			return time.Since(began)
		}
		whole(rivals[0], true)
		took := min(whole(rivals[0], false), whole(rivals[1], false))
		for _, way := range []string{"deadline", "cancel"} {
			for _, share := range []float64{.25, .5, .75} {
				b.Run(data+"/"+way+"/at="+strconv.FormatFloat(share, 'g', -1, 64), func(b *testing.B) {
					var seen [2]crowd
					for b.Loop() {
						for i, c := range rivals {
							seen[i].search(b, c, queries, callers, each, dim, k, way, time.Duration(share*float64(took)), best)
						}
					}
					for i, name := range []string{"left", "kept"} {
						x := &seen[i]
						b.ReportMetric(middleOf(x.patient), name+"-stay-ms")
						b.ReportMetric(middleOf(x.late), name+"-late-ms")
						b.ReportMetric(float64(x.found)/float64(x.wanted), name+"-found")
					}
					b.ReportMetric(middleOf(seen[1].patient)/middleOf(seen[0].patient), "stay-speedup")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// search has the callers search at once, of which every second leaves after a time.
func (x *crowd) search(b *testing.B, c *batch.Coalescer, queries []float32, callers, each, dim, k int, way string, after time.Duration, best [][]int64) {
	var mu sync.Mutex
	var all sync.WaitGroup
	began := time.Now()
	for g := range callers {
		all.Go(func() {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			req := batch.Request{Queries: queries[g*each*dim : (g+1)*each*dim], K: k}
			leaves := g%2 == 1
			if leaves && way == "deadline" {
				req.Deadline = after
			} else if leaves {
				defer time.AfterFunc(after, cancel).Stop()
			}
			resp, err := c.Search(ctx, req)
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			if !leaves {
				if x.patient = append(x.patient, took); err != nil {
					b.Error(err)
				}
				return
			}
			x.late = append(x.late, took-after)
			x.wanted += each * k
			if resp == nil {
				return
			}
			for i, a := range resp.Answers {
				for _, id := range a.IDs {
					if slices.Contains(best[g*each+i], id) {
						x.found++
					}
				}
			}
		})
	}
	all.Wait()
}
