package duel

import (
	"context"
	"math"
	"testing"

	"thresher/internal/race"
)

// moments returns the mean and the standard deviation.
func moments(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(x)-1))
}

// regrets rounds to 1e-6, since sums in different orders differ.
func regrets(o []Outcome) []float64 {
	x := make([]float64, len(o))
	for i := range o {
		x[i] = math.Round(o[i].Regret*1e6) / 1e6
	}
	return x
}

func lengths(o []Outcome) []float64 {
	x := make([]float64, len(o))
	for i := range o {
		x[i] = float64(o[i].Duels)
	}
	return x
}

func runAll(t testing.TB, s *Simulation) []Outcome {
	t.Helper()
	o, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Results of an independent program, which plays every duel, for the settings of figures
// 1 and 2: mean and standard deviation of the regret over its trials. Every mean must be
// within 3 standard errors of both programs combined. The seed is fixed, so the result is
// deterministic; with random seeds one of the nine would fail in one run out of forty.
func TestReferenceNumbers(t *testing.T) {
	race.Skip(t, "one goroutine a tournament; TestSimulationIsDeterministic plays several at once")
	const gap, horizon = .1, 1e10
	beat := Design{Algorithm: BeatTheMean, Horizon: horizon}
	relaxed := Design{Algorithm: BeatTheMean, Horizon: horizon, Gamma: 1.3}
	filter := Design{Algorithm: InterleavedFilter2, Horizon: horizon}
	for _, c := range []struct {
		name     string
		design   Design
		arms     int
		model    Model
		mean, sd float64
		their    float64 // number of trials
		trials   int
	}{
		{"beat constant 20", beat, 20, Always(Constant(20, gap)), 12195, 689, 50, 200},
		{"beat constant 50", beat, 50, Always(Constant(50, gap)), 30454, 1484, 50, 200},
		{"beat constant 100", beat, 100, Always(Constant(100, gap)), 60525, 2665, 50, 100},
		{"beat logistic 50", beat, 50, RandomLogistic(50), 32214, 18256, 5, 200},
		{"beat chain 50", relaxed, 50, Always(Chain(50, gap, 1.3)), 742221, 8838, 10, 50},
		{"beat chain 100", relaxed, 100, Always(Chain(100, gap, 1.3)), 1510815, 14603, 5, 20},
		{"filter constant 20", filter, 20, Always(Constant(20, gap)), 7003, 2509, 50, 200},
		{"filter constant 50", filter, 50, Always(Constant(50, gap)), 18841, 5894, 50, 100},
		{"filter constant 100", filter, 100, Always(Constant(100, gap)), 39359, 12076, 50, 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.trials = trials(c.trials)
			o := runAll(t, &Simulation{Design: c.design, Arms: c.arms, Model: c.model, Trials: c.trials, Seed: 1})
			mean, sd := moments(regrets(o))
			duels, _ := moments(lengths(o))
			wrong := 0
			for _, x := range o {
				if x.Winner != x.Best {
					wrong++
				}
			}
			pooled := max(sd, c.sd)
			error := math.Sqrt(c.sd*c.sd/c.their + pooled*pooled/float64(c.trials))
			off := (mean - c.mean) / error
			t.Logf("regret %.0f (%.0f), reference %.0f (%.0f): %.2f standard errors; %.0f duels, %d wrong", mean, sd, c.mean, c.sd, off, duels, wrong)
			if math.Abs(off) > 3 {
				t.Errorf("regret %.0f (%.0f) over %d trials, reference %.0f (%.0f) over %.0f", mean, sd, c.trials, c.mean, c.sd, c.their)
			}
			if wrong > 0 {
				t.Errorf("%d of %d trials end with a wrong winner; one in 1e10 may", wrong, c.trials)
			}
		})
	}
}
