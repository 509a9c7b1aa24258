package segments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
)

// BenchmarkSelections searches 200,000 vectors, as one block and as segments, of which a filter allows a share at random,
// by a list of ids in the request and by a Selection that many requests share, and all of them, in turns: us a query,
// and coordinates that it read, medians of the searches.
//
//	go test ./segments -run '^$' -bench Selections -benchtime 1x -built /tmp/walk
func BenchmarkSelections(b *testing.B) {
	const n, dim, k, most = 200_000, 256, 10, 256
	dir := *built
	if dir == "" {
		dir = b.TempDir()
	}
	all := drawnOnce(b, dir, n, most, dim)
	rows, queries := all[:n*dim], all[n*dim:]
	processor := cpu.New(cpu.Options{Threads: 1})
	defer processor.Close()
	o := Options{Collection: collection.Options{Metric: collection.Cosine, Seed: 1}, Backend: processor}
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	ctx := context.Background()
	for _, layout := range []struct {
		name  string
		sizes []int
	}{{"one", []int{n}}, {"160k+32k+8k", []int{160_000, 32_000, 8_000}}, {"8 equal", slices.Repeat([]int{25_000}, 8)}} {
		set := opened(b, dir, o, rows, dim, layout.sizes...)
		s := set.Snapshot()
		for _, method := range []batch.Method{batch.Auto, batch.Exact} {
			for _, m := range []int{1, most} {
				for _, percent := range []int{1, 10, 50} {
					var ids []int64
					for _, row := range order[:n/100*percent] {
						ids = append(ids, int64(row))
					}
					slices.Sort(ids)
					selected := selectIDs(s, ids)
					b.Run(fmt.Sprintf("%s/%s/m=%d/%d%%", layout.name, method, m, percent), func(b *testing.B) {
						req := batch.Request{K: k, Method: method}
						searches := []struct {
							name   string
							search func(batch.Request) (*batch.Response, error)
						}{
							{"all", func(req batch.Request) (*batch.Response, error) { return s.Search(ctx, req) }},
							{"list", func(req batch.Request) (*batch.Response, error) { req.Filter = ids; return s.Search(ctx, req) }},
							{"selection", func(req batch.Request) (*batch.Response, error) { return selected.Search(ctx, req) }},
						}
						took, pulls := make([][]float64, 3), make([]float64, 3)
						for at := range 9 * b.N {
							first := at * m * dim % len(queries)
							req.Queries = queries[first : first+m*dim]
							for i, x := range searches {
								began := time.Now()
								resp, err := x.search(req)
								if err != nil {
									b.Fatal(err)
								}
								if at >= 2 { // caches and forecasts
									took[i] = append(took[i], float64(time.Since(began).Nanoseconds())/1e3/float64(m))
									pulls[i] = float64(resp.Stats.Pulls) / float64(m)
								}
							}
						}
						b.ReportMetric(0, "ns/op")
						for i, x := range searches {
							b.ReportMetric(median(took[i]), "us-"+x.name)
							b.ReportMetric(pulls[i], "pulls-"+x.name)
						}
					})
				}
			}
		}
		s.Release()
		if err := set.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// selectIDs is Select of these ids.
func selectIDs(s *Snapshot, ids []int64) *Selection {
	selected := &Selection{s: s}
	for i := range s.views {
		v := &s.views[i]
		rows := make([]uint64, (v.c.N+63)/64)
		for _, row := range v.rowsOf(ids) {
			rows[row/64] |= 1 << (row % 64)
		}
		part := &view{Segment: v.Segment, live: v.engine.Only(v.live, rows)}
		part.deleted = v.c.N - part.live.Len()
		selected.views, selected.len = append(selected.views, part), selected.len+part.live.Len()
	}
	return selected
}
