package tournaments

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"go.etcd.io/bbolt"

	"thresher/choice/duel"
)

// BenchmarkReport measures a judge's round: a duel is issued and its result accepted, both
// durable on the disk of the temporary folder.
func BenchmarkReport(b *testing.B) {
	for _, k := range []int{10, 500} {
		for _, judges := range []int{1, 64} {
			b.Run(fmt.Sprintf("arms=%d/judges=%d", k, judges), func(b *testing.B) {
				db, err := bbolt.Open(filepath.Join(b.TempDir(), "meta.db"), 0o600, nil)
				if err != nil {
					b.Fatal(err)
				}
				defer db.Close()
				var commits atomic.Int64
				s, err := Open(db, &Options{step: func(stage string) {
					if stage == "committed" {
						commits.Add(1)
					}
				}})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close(context.Background())
				spec := online(k)
				spec.Horizon, spec.Testing = of[int64](1e12), string(duel.Sweep)
				t, err := s.Create(context.Background(), spec, "")
				if err != nil {
					b.Fatal(err)
				}
				b.SetParallelism(max(1, judges/2)) // multiplied by GOMAXPROCS, 2 on most machines here
				if judges == 1 {
					b.ResetTimer()
					for b.Loop() {
						round(b, s, t.ID)
					}
				} else {
					b.ResetTimer()
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							round(b, s, t.ID)
						}
					})
				}
				b.ReportMetric(float64(commits.Load())/float64(b.N), "commits/op")
			})
		}
	}
}

func round(b *testing.B, s *Store, id string) {
	issued, err := s.Next(context.Background(), id, 1, "")
	if err != nil {
		b.Error(err)
		return
	}
	for _, d := range issued.Duels {
		r := duel.Result{Duel: d.ID, AWon: d.ID%2 == 0}
		if _, err := s.Report(context.Background(), id, []duel.Result{r}, false); err != nil {
			b.Error(err)
		}
	}
}
