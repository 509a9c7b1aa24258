package segments

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/vectors"
)

var built = flag.String("built", "", "a folder where BenchmarkWalk keeps the collections that it builds, so that another run need not")

// BenchmarkWalk searches 200,000 vectors as one block and as segments of several sizes, in turns, and reports by how
// much more the segments read (work) and take (time): medians of ratios of one search each.
//
//	go test ./segments -run '^$' -bench Walk -benchtime 1x -built /tmp/walk
func BenchmarkWalk(b *testing.B) {
	const n, dim, k, most = 200_000, 256, 10, 256
	dir := *built
	if dir == "" {
		dir = b.TempDir()
	}
	all := drawnOnce(b, dir, n, most, dim)
	rows, queries := all[:n*dim], all[n*dim:]
	processor := cpu.New(cpu.Options{})
	defer processor.Close()
	layouts := []struct {
		name  string
		sizes []int
	}{
		{"160k+32k+8k", []int{160_000, 32_000, 8_000}},
		{"8 falling", []int{100_000, 50_000, 25_000, 12_500, 6_250, 3_125, 1_563, 1_562}},
		{"8 equal", slices.Repeat([]int{25_000}, 8)},
	}
	o := Options{Collection: collection.Options{Metric: collection.Cosine, Seed: 1}, Backend: processor}
	block := opened(b, dir, o, rows, dim, n)
	defer block.Close()
	for _, layout := range layouts {
		set := opened(b, dir, o, rows, dim, layout.sizes...)
		for _, method := range []batch.Method{batch.Auto, batch.Adaptive, batch.Certain} {
			for _, m := range []int{1, 16, most} {
				b.Run(fmt.Sprintf("%s/%s/%d", layout.name, method, m), func(b *testing.B) {
					compare(b, block, set, batch.Request{K: k, Method: method}, queries, dim, m)
				})
			}
		}
		if err := set.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// compare searches for m queries at a time, all of queries in each round.
func compare(b *testing.B, block, set *Set, req batch.Request, queries []float32, dim, m int) {
	one, many := block.Snapshot(), set.Snapshot()
	defer one.Release()
	defer many.Release()
	var times, works []float64
	var perQuery time.Duration
	rounds := 12
	for at := range rounds * b.N {
		first := at * m * dim % len(queries)
		req.Queries = queries[first : first+m*dim]
		var took [2]time.Duration
		var pulls [2]int64
		for turn := range 2 {
			i := (at + turn) % 2
			s := one
			if i == 1 {
				s = many
			}
			began := time.Now()
			resp, err := s.Search(context.Background(), req)
			if err != nil {
				b.Fatal(err)
			}
			took[i], pulls[i] = time.Since(began), resp.Stats.Pulls
		}
		if at < 2 { // caches and forecasts
			continue
		}
		times = append(times, float64(took[1])/float64(took[0]))
		works = append(works, float64(pulls[1])/float64(pulls[0]))
		perQuery += took[0]
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(perQuery.Microseconds())/float64(len(times)*m), "us/query-of-a-block")
	b.ReportMetric(median(times), "time")
	b.ReportMetric(median(works), "work")
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// drawnOnce returns the rows and queries, from a file if they were drawn before.
func drawnOnce(b *testing.B, dir string, n, m, dim int) []float32 {
	path := filepath.Join(dir, "all.thresher")
	if c, err := collection.Open(path); err == nil {
		b.Cleanup(func() { c.Close() })
		return c.Rows
	}
	rows := vectors.Embeddings(vectors.Rand(1), n+m, dim)
	c, err := collection.Create(context.Background(), path, dataset.FromMemory(rows, dim, nil), true, &collection.Options{Metric: collection.Cosine, NoCodes: true})
	if err != nil {
		b.Fatal(err)
	}
	c.Close()
	return rows
}

// opened returns a set of segments of these sizes, built into files of dir unless they are there.
func opened(b *testing.B, dir string, o Options, rows []float32, dim int, sizes ...int) *Set {
	var parts []Holding
	at := 0
	for _, size := range sizes {
		path := filepath.Join(dir, fmt.Sprintf("%d-%d.thresher", at, size))
		if _, err := os.Stat(path); err != nil {
			c, err := collection.Create(context.Background(), path, dataset.FromMemory(rows[at*dim:(at+size)*dim], dim, nil), false, &o.Collection)
			if err != nil {
				b.Fatal(err)
			}
			c.Close()
		}
		c, err := collection.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		ids := make([]int64, size)
		for i := range ids {
			ids[i] = int64(at + i)
		}
		segment, err := New(context.Background(), c, ids, o.Backend, nil, -1, c.Close)
		if err != nil {
			b.Fatal(err)
		}
		parts, at = append(parts, Holding{Segment: segment}), at+size
	}
	s, err := Open(dim, o, parts...)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkUpsert writes rows to 100,000 of 256 dimensions, one at a time and 1,000 at a time, over ids that are there
// and over new ones, with upkeep beside it: ns a row of the writes alone, and rows coded for each row that was written.
//
//	go test ./segments -run '^$' -bench Upsert -benchtime 20000x
func BenchmarkUpsert(b *testing.B) {
	const n, dim = 100_000, 256
	r := vectors.Rand(1)
	rows := vectors.Gaussian(r, n, dim)
	processor := cpu.New(cpu.Options{})
	defer processor.Close()
	o := Options{Collection: collection.Options{Metric: collection.Cosine, Seed: 1}, Backend: processor}
	c, err := collection.Build(context.Background(), rows, dim, &o.Collection)
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{1, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			segment, err := New(context.Background(), c, nil, processor, nil, -1, nil)
			if err != nil {
				b.Fatal(err)
			}
			s, err := Open(dim, o, Holding{Segment: segment})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			ids := make([]int64, size)
			var spent time.Duration
			for done := 0; done < b.N; done += size {
				for i := range ids {
					ids[i] = int64((done + i) * 7919 % (n + n/10))
				}
				from := done % (n - size)
				began := time.Now()
				if _, err := s.Upsert(ids, rows[from*dim:(from+size)*dim]); err != nil {
					b.Fatal(err)
				}
				spent += time.Since(began)
				if err := s.Maintain(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			counts := s.Counts()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(spent.Nanoseconds())/float64(counts.Written), "ns/row")
			b.ReportMetric(float64(counts.Coded)/float64(counts.Written), "coded/row")
		})
	}
}
