package duel

import (
	"context"
	"math/rand/v2"
	"testing"

	"thresher/internal/philox"
)

// BenchmarkConstant plays figure 1, top, at K = 100 on one core, with skip-ahead and
// duel by duel. duels/s counts the duels of the tournaments, played or skipped.
func BenchmarkConstant(b *testing.B) {
	f := Constant(100, .1)
	d, err := Design{Algorithm: BeatTheMean, Horizon: 1e10}.complete(100)
	if err != nil {
		b.Fatal(err)
	}
	for name, one := range map[string]func(seed uint64) (Outcome, error){
		"skip": func(seed uint64) (Outcome, error) {
			return skipAhead(context.Background(), d, f, philox.New(seed, 0))
		},
		"each": func(seed uint64) (Outcome, error) {
			return play(context.Background(), d, f, rand.New(philox.New(seed, 0)), rand.New(philox.New(seed, 1)))
		},
	} {
		b.Run(name, func(b *testing.B) {
			var duels int64
			for seed := uint64(0); b.Loop(); seed++ {
				o, err := one(seed)
				if err != nil {
					b.Fatal(err)
				}
				duels += o.Duels
			}
			b.ReportMetric(float64(duels)/b.Elapsed().Seconds(), "duels/s")
		})
	}
}

// BenchmarkEach plays tournaments of 100 arms duel by duel on one core, with each
// algorithm that has no skip-ahead.
func BenchmarkEach(b *testing.B) {
	f := Constant(100, .1)
	for _, d := range []Design{
		{Algorithm: Knockout, Epsilon: .05, Delta: .05},
		{Algorithm: BeatTheMean, Horizon: 1e10, Testing: Sweep},
		{Algorithm: InterleavedFilter2, Horizon: 1e10},
	} {
		d, err := d.complete(100)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(string(d.Algorithm), func(b *testing.B) {
			var duels int64
			for seed := uint64(0); b.Loop(); seed++ {
				o, err := play(context.Background(), d, f, rand.New(philox.New(seed, 0)), rand.New(philox.New(seed, 1)))
				if err != nil {
					b.Fatal(err)
				}
				duels += o.Duels
			}
			b.ReportMetric(float64(duels)/b.Elapsed().Seconds(), "duels/s")
		})
	}
}
