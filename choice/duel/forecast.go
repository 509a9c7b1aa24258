package duel

import (
	"context"
	"slices"
)

// Forecast summarises a simulation: how many judgments a design takes.
type Forecast struct {
	Trials    int        `json:"trials"`
	Mean      float64    `json:"mean"`
	Quantiles []Quantile `json:"quantiles"`
	// Best counts trials that found the best arm, Near those that found one within the
	// design's epsilon of it (online: the best arm).
	Best int `json:"best"`
	Near int `json:"near"`
	// AtHorizon counts trials that reached the horizon without a winner; their result is a
	// guess.
	AtHorizon int `json:"at_horizon,omitempty"`
}

// Quantile says that the share Share of trials took at most Duels duels.
type Quantile struct {
	Share float64 `json:"share"`
	Duels int64   `json:"duels"`
}

// Forecast runs the simulation and summarises its outcomes.
func (s *Simulation) Forecast(ctx context.Context) (*Forecast, error) {
	outcomes, err := s.Run(ctx)
	if err != nil {
		return nil, err
	}
	return sumUp(outcomes, s.Design), nil
}

func sumUp(outcomes []Outcome, d Design) *Forecast {
	f := &Forecast{Trials: len(outcomes)}
	duels := make([]int64, len(outcomes))
	for i, o := range outcomes {
		duels[i] = o.Duels
		f.Mean += float64(o.Duels) / float64(len(outcomes))
		if o.Winner == o.Best {
			f.Best++
		}
		if o.Gap <= d.Epsilon+slack {
			f.Near++
		}
		if d.Horizon > 0 && o.Duels >= d.Horizon {
			f.AtHorizon++
		}
	}
	slices.Sort(duels)
	for _, share := range []float64{.05, .25, .5, .75, .95, .99} {
		// The least number of duels that suffices for the share of trials.
		i := max(0, ceil(share*float64(len(duels)))-1)
		f.Quantiles = append(f.Quantiles, Quantile{share, duels[i]})
	}
	return f
}

// ceil rounds up, tolerating the rounding error of a product.
func ceil(x float64) int {
	i := int(x)
	if x-float64(i) > 1e-9 {
		i++
	}
	return i
}
