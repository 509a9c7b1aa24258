package collection

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"
)

// BenchmarkBuild builds with one goroutine and with two, and reports MB of float32 rows a second, the
// least time of each phase in microseconds an atom, their sum in ms, and memory: what the collection holds
// and what the build allocated in all, both relative to the rows.
func BenchmarkBuild(b *testing.B) {
	for _, s := range []struct{ n, dim int }{{1000, 128}, {10000, 128}, {100000, 128}, {1000, 768}, {10000, 768}, {100000, 768}, {20000, 1000}, {20000, 4096}} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%dx%d/threads=%d", s.n, s.dim, threads), func(b *testing.B) { benchmarkBuild(b, s.n, s.dim, threads) })
		}
	}
}

func benchmarkBuild(b *testing.B, n, dim, threads int) {
	rows := data("powerlaw", n, dim, 1)
	b.SetBytes(4 * int64(n) * int64(dim))
	least := map[string]float64{}
	o := &Options{Metric: InnerProduct, Threads: threads}
	var size int64
	b.ReportAllocs()
	for b.Loop() {
		c, err := newCollection(n, dim, o)
		if err != nil {
			b.Fatal(err)
		}
		c.Rows = rows
		start := time.Now()
		lap := func(name string) {
			us := time.Since(start).Seconds() * 1e6
			if have, ok := least[name]; !ok || us < have {
				least[name] = us
			}
			start = time.Now()
		}
		k, err := newBuilder(context.Background(), c, heap{}, o)
		if err != nil {
			b.Fatal(err)
		}
		lap("layout")
		for _, p := range k.phases() {
			if err := p.run(); err != nil {
				b.Fatal(err)
			}
			lap(p.name)
		}
		c.Forecast()
		lap("forecast")
		size = c.Bytes()
	}
	var sum float64
	for name, us := range least {
		b.ReportMetric(us/float64(n), name+"-us/atom")
		sum += us
	}
	b.ReportMetric(sum/1e3, "least-ms")
	b.ReportMetric(4*float64(n)*float64(dim)/sum, "least-MB/s")
	b.ReportMetric(float64(size)/float64(4*n*dim), "memory/data")
}

// BenchmarkPrepare reports the time of a query in batches of 64, in memory that is reused.
func BenchmarkPrepare(b *testing.B) {
	for _, dim := range []int{128, 512, 768, 1536, 4096} {
		for _, batch := range []int{1, 64} {
			b.Run(fmt.Sprintf("dim=%d/batch=%d", dim, batch), func(b *testing.B) {
				const n = 2000
				rows := data("powerlaw", n, dim, 1)
				c := build(b, rows, dim, &Options{Metric: InnerProduct, Threads: 1})
				dst, scale := make([]Query, batch), make([]float64, batch)
				for i := range scale {
					scale[i] = 1
				}
				var tmp PrepareScratch
				least := math.Inf(1)
				for b.Loop() {
					start := time.Now()
					c.PrepareBatch(dst, rows[:batch*dim], scale, &tmp)
					least = min(least, time.Since(start).Seconds())
				}
				b.ReportMetric(least*1e6/float64(batch), "least-us/query")
			})
		}
	}
}
