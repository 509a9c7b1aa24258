package duel

import (
	"context"
	"fmt"
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
	benchmarkEach(b, Constant(100, .1), []Design{
		{Algorithm: Knockout, Epsilon: .05, Delta: .05},
		{Algorithm: BeatTheMean, Horizon: 1e10, Testing: Sweep},
		{Algorithm: InterleavedFilter2, Horizon: 1e10},
		{Algorithm: Anytime, Delta: .05},
	})
}

// BenchmarkAnytime plays the algorithm's tournaments of other sizes.
func BenchmarkAnytime(b *testing.B) {
	for _, f := range []*Preferences{Constant(2, .1), Constant(10, .1), Constant(10, .02), Constant(500, .1)} {
		benchmarkEach(b, f, []Design{{Delta: .05}, {Delta: .05, Epsilon: .05}})
	}
}

func benchmarkEach(b *testing.B, f *Preferences, designs []Design) {
	for _, d := range designs {
		d, err := d.complete(f.k)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%s,%d,%.3g,%g", d.Algorithm, f.k, f.At(0, 1)-.5, d.Epsilon), func(b *testing.B) {
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
