package join

import (
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"thresher/collection"
	"thresher/internal/vectors"
)

// BenchmarkPairs finds the pairs of embeddings by three orders of comparison, alternately, and
// reports the time of a row and what the others take in comparison: "both sides" searches all atoms
// for each row, "row order" the later atoms of rows in the order given, as the source does in
// internal order.
func BenchmarkPairs(b *testing.B) {
	for _, x := range []struct {
		n, dim int
		metric collection.Metric
		least  float64
	}{{60_000, 256, collection.Cosine, .8}, {60_000, 256, collection.InnerProduct, 6}, {30_000, 768, collection.Cosine, .8}} {
		b.Run(fmt.Sprintf("%dx%d-%s", x.n, x.dim, x.metric), func(b *testing.B) {
			rows := vectors.Embeddings(vectors.Rand(1), x.n, x.dim)
			e := engine(b, rows, x.dim, x.metric)
			o := PairOptions{MinScore: x.least}
			d, err := Sample(b.Context(), e, o)
			if err != nil {
				b.Fatal(err)
			}
			inOrder := func() int {
				s, err := SelfPairs(e, o, d)
				if err != nil {
					b.Fatal(err)
				}
				pairs := 0
				for {
					block, _, err := s.Next(b.Context())
					if err == io.EOF {
						return pairs
					}
					if err != nil {
						b.Fatal(err)
					}
					pairs += len(block.Pairs)
				}
			}
			bySearch := func(later bool) int {
				req, err := o.request(e.Collection().Metric)
				if err != nil {
					b.Fatal(err)
				}
				req.Reaching, req.ExcludeSelf, req.LaterOnly = d.reaching(), true, later
				found := 0
				for lo := 0; lo < x.n; lo += maxBlock {
					hi := min(lo+maxBlock, x.n)
					req.Queries, req.SelfFirst = rows[lo*x.dim:hi*x.dim], int64(lo)
					resp, err := e.Search(b.Context(), req)
					if err != nil {
						b.Fatal(err)
					}
					for i := range resp.Answers {
						found += len(resp.Answers[i].IDs)
					}
				}
				return found
			}
			ways := []struct {
				name string
				run  func() int
			}{{"", inOrder}, {"both-sides", func() int { return bySearch(false) / 2 }}, {"row-order", func() int { return bySearch(true) }}}
			least := make([]time.Duration, len(ways))
			for i := range least {
				least[i] = math.MaxInt64
			}
			pairs := 0
			for b.Loop() {
				for i, way := range ways {
					begun := time.Now()
					found := way.run()
					least[i] = min(least[i], time.Since(begun))
					if pairs = max(pairs, found); found != pairs {
						b.Fatalf("%d pairs by %q, %d before", found, way.name, pairs)
					}
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(pairs), "pairs")
			b.ReportMetric(float64(least[0].Nanoseconds())/float64(x.n), "ns/row")
			for i, way := range ways[1:] {
				b.ReportMetric(float64(least[i+1])/float64(least[0]), way.name+"/this")
			}
		})
	}
}
