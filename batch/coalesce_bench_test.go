package batch_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// rival is a way to search, with the durations of its searches.
type rival struct {
	search func(batch.Request) error
	wall   time.Duration
	each   []time.Duration
}

// quantile is the p-quantile of the durations, in microseconds.
func (r *rival) quantile(p float64) float64 {
	slices.Sort(r.each)
	return float64(r.each[int(p*float64(len(r.each)-1))].Nanoseconds()) / 1e3
}

// call makes one search and records the time since from.
func (r *rival) call(b *testing.B, mu *sync.Mutex, from time.Time, q []float32) {
	if err := r.search(batch.Request{Queries: q, K: 10}); err != nil {
		b.Error(err)
	}
	took := time.Since(from)
	mu.Lock()
	defer mu.Unlock()
	r.each = append(r.each, took)
}

// rivals returns an Engine and a Coalescer on it, with queries for both.
func rivals(b *testing.B) (alone, together *rival, told *waits, query func(i int) []float32) {
	const atoms, dim, m = 60000, 256, 512
	r := vectors.Rand(1)
	e := open(b, vectors.PowerLaw(r, atoms, dim), dim, &collection.Options{Seed: 1, Metric: collection.Cosine}, 0)
	queries := vectors.PowerLaw(r, m, dim)
	told = &waits{}
	c := batch.NewCoalescer(e, &batch.CoalescerOptions{Window: batch.DefaultWindow, Observer: told})
	b.Cleanup(c.Close)
	alone = &rival{search: func(req batch.Request) error { _, err := e.Search(b.Context(), req); return err }}
	together = &rival{search: func(req batch.Request) error { _, err := c.Search(b.Context(), req); return err }}
	return alone, together, told, func(i int) []float32 { return queries[i%m*dim : (i%m+1)*dim] }
}

func (r *rival) report(b *testing.B, name string) {
	b.ReportMetric(r.quantile(.5), name+"-p50-us")
	b.ReportMetric(r.quantile(.99), name+"-p99-us")
}

// BenchmarkCoalescer has concurrent clients, each with one query after the other, search with
// an Engine and with a Coalescer on it; speedup is the ratio of their times.
func BenchmarkCoalescer(b *testing.B) {
	for _, clients := range []int{1, 4, 16, 64, 256} {
		b.Run("clients="+strconv.Itoa(clients), func(b *testing.B) {
			alone, together, told, query := rivals(b)
			calls := max(4, 512/clients)
			for b.Loop() {
				for _, r := range []*rival{alone, together} {
					var wg sync.WaitGroup
					var mu sync.Mutex
					began := time.Now()
					for g := range clients {
						wg.Go(func() {
							for i := range calls {
								r.call(b, &mu, time.Now(), query(g*calls+i))
							}
						})
					}
					wg.Wait()
					r.wall += time.Since(began)
				}
			}
			b.ReportMetric(alone.wall.Seconds()/together.wall.Seconds(), "speedup")
			b.ReportMetric(float64(len(together.each))/together.wall.Seconds(), "queries/s")
			b.ReportMetric(float64(len(together.each))/float64(len(told.runs)), "searches/run")
			alone.report(b, "engine")
			together.report(b, "coalescer")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkCoalescerLight has searches arrive at random, at a tenth of the rate of one core:
// a Coalescer must not delay them.
func BenchmarkCoalescerLight(b *testing.B) {
	alone, together, _, query := rivals(b)
	const calls = 200
	for i := range calls {
		alone.call(b, new(sync.Mutex), time.Now(), query(i))
	}
	gap := 10 * alone.quantile(.5) // microseconds
	alone.each = nil
	for b.Loop() {
		for _, r := range []*rival{alone, together} {
			come := rand.New(rand.NewPCG(1, uint64(b.N)))
			var wg sync.WaitGroup
			var mu sync.Mutex
			next := time.Now()
			for i := range calls {
				next = next.Add(time.Duration(come.ExpFloat64() * gap * 1e3))
				time.Sleep(time.Until(next))
				began := time.Now()
				wg.Go(func() { r.call(b, &mu, began, query(i)) })
			}
			wg.Wait()
		}
	}
	alone.report(b, "engine")
	together.report(b, "coalescer")
	b.ReportMetric(0, "ns/op")
}
