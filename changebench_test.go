package thresher_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"thresher"
	"thresher/internal/vectors"
)

// BenchmarkSearchBeside compares the time of a search of one query, of an index that is not changed and of one to which
// 100 vectors a second are written meanwhile, in turns: the p99 of both, and the quotient.
func BenchmarkSearchBeside(b *testing.B) {
	const n, dim, k = 100_000, 256, 10
	ctx, random := context.Background(), vectors.Rand(3)
	rows, queries := vectors.Gaussian(random, n, dim), vectors.Gaussian(random, 64, dim)
	var of [2]*thresher.Index
	for i := range of {
		var err error
		if of[i], err = thresher.New(ctx, rows, dim, thresher.Options{Metric: thresher.Cosine, Threads: 2}); err != nil {
			b.Fatal(err)
		}
		defer of[i].Close()
	}
	searches := func(x *thresher.Index, d time.Duration) (all []float64) {
		for began, j := time.Now(), 0; time.Since(began) < d; j++ {
			q := queries[j%64*dim : (j%64+1)*dim]
			start := time.Now()
			if _, err := x.Search(ctx, thresher.Request{Queries: q, K: k}); err != nil {
				b.Fatal(err)
			}
			all = append(all, time.Since(start).Seconds())
		}
		return all
	}
	searches(of[0], time.Second)
	searches(of[1], time.Second)
	p99 := func(x []float64) float64 {
		slices.Sort(x)
		return x[len(x)*99/100]
	}
	var quiet, beside []float64
	written := 0
	for b.Loop() {
		quiet = append(quiet, searches(of[0], 2*time.Second)...)
		stop, done := make(chan struct{}), make(chan int)
		go func() {
			count, ticks := 0, time.NewTicker(10*time.Millisecond)
			defer ticks.Stop()
			own := rand.New(rand.NewPCG(1, uint64(written)))
			for {
				select {
				case <-stop:
					done <- count
					return
				case <-ticks.C:
					if _, err := of[1].Upsert(ctx, thresher.IDsOf([]uint64{own.Uint64N(n)}), vectors.Gaussian(own, 1, dim)); err != nil {
						b.Error(err)
					}
					count++
				}
			}
		}()
		beside = append(beside, searches(of[1], 2*time.Second)...)
		close(stop)
		written += <-done
	}
	b.ReportMetric(p99(quiet)*1e3, "quiet-p99-ms")
	b.ReportMetric(p99(beside)*1e3, "beside-p99-ms")
	b.ReportMetric(p99(beside)/p99(quiet), "p99-ratio")
	b.ReportMetric(beside[len(beside)/2]/quiet[len(quiet)/2], "median-ratio")
	b.ReportMetric(float64(written)/float64(b.N)/2, "writes/s")
}

// BenchmarkUpserts writes single vectors, of ids that are there, beside a search: the time of one, and the memory after
// a quarter of them and at the end.
func BenchmarkUpserts(b *testing.B) {
	const n, dim = 20_000, 16
	ctx, random := context.Background(), vectors.Rand(3)
	x, err := thresher.New(ctx, vectors.Gaussian(random, n, dim), dim, thresher.Options{Metric: thresher.InnerProduct, Threads: 2})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		searches, own := 0, vectors.Rand(9)
		for {
			select {
			case <-stop:
				done <- searches
				return
			default:
				if _, err := x.Search(ctx, thresher.Request{Queries: vectors.Gaussian(own, 1, dim), K: 10}); err != nil {
					b.Error(err)
				}
				searches++
			}
		}
	}()
	held := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	quarter := 0.
	b.ResetTimer()
	for i := range b.N {
		if i == b.N/4 {
			quarter = held()
		}
		if _, err := x.Upsert(ctx, thresher.IDsOf([]uint64{random.Uint64N(n)}), vectors.Gaussian(random, 1, dim)); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	end := held()
	close(stop)
	b.ReportMetric(quarter, "MB-at-quarter")
	b.ReportMetric(end, "MB-at-end")
	b.ReportMetric(float64(<-done), "searches")
}
