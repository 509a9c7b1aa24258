package duel

import (
	"context"
	"slices"
	"strings"
)

// Assumes says in a few words what the guarantee of an algorithm assumes of the
// preferences. choice/docs/duels.md has the definitions.
func (a Algorithm) Assumes() string {
	switch a {
	case Anytime:
		return "some arm is unbeaten"
	case BeatTheMean, Knockout:
		return "an order, relaxed transitivity, triangle inequality"
	case DoubleThompson:
		return "some arm beats the most others"
	case Rank:
		return "an order in which no arm is beaten by a later one"
	case Copeland:
		return "nothing"
	}
	return "an order, strong transitivity, triangle inequality"
}

// Prospect is what one algorithm makes of a problem.
type Prospect struct {
	Algorithm Algorithm `json:"algorithm"`
	Assumes   string    `json:"assumes"`
	// Guarantee is that of a winner; nil if there is none.
	Guarantee *Guarantee `json:"guarantee,omitempty"`
	// Forecast is nil if Unfit says why the algorithm was not simulated.
	Forecast *Forecast `json:"forecast,omitempty"`
	Unfit    string    `json:"unfit,omitempty"`
}

// Compare forecasts the simulation with each algorithm in place of the Design's. A horizon
// in a design with Delta is a budget; algorithms that take none play on, and trials that
// exceed it are counted by AtHorizon. An error is that of the simulation with Anytime.
func (s *Simulation) Compare(ctx context.Context) ([]Prospect, error) {
	var all []Prospect
	for _, a := range Algorithms() {
		p, err := s.prospect(ctx, a)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (s *Simulation) prospect(ctx context.Context, a Algorithm) (Prospect, error) {
	p := Prospect{Algorithm: a, Assumes: a.Assumes()}
	one := *s
	one.Design.Algorithm = a
	if a == Anytime {
		one.Design.Radius = "" // for the others
	}
	if s.Design.Delta > 0 {
		one.Design.Goal = PAC
		if a != Anytime {
			one.Design.Horizon = 0
		}
	}
	d, err := one.Design.complete(s.Arms)
	switch {
	case err != nil && a == Anytime:
		return p, err
	case err != nil:
		p.Unfit = strings.TrimPrefix(err.Error(), "duel: ")
		return p, nil
	}
	if p.Guarantee = d.guarantee(OneLeft); a == Anytime {
		p.Guarantee = &Guarantee{Epsilon: d.Epsilon, Failure: d.failure()}
	}
	if a == DoubleThompson {
		p.Unfit = "never ends before the horizon" // so there is nothing to forecast
		return p, nil
	}
	outcomes, err := one.Run(ctx)
	if err != nil {
		return p, err
	}
	d.Horizon = s.Design.Horizon
	p.Forecast = sumUp(outcomes, d)
	return p, nil
}

// Recommend returns the index of the algorithm of least mean among those with a guarantee,
// of those that most seldom reach the horizon; -1 if none has a guarantee.
func Recommend(prospects []Prospect) int {
	best := -1
	for i, p := range prospects {
		if p.Forecast == nil || p.Guarantee == nil {
			continue
		}
		if best < 0 || p.Forecast.before(prospects[best].Forecast) {
			best = i
		}
	}
	return best
}

func (f *Forecast) before(other *Forecast) bool {
	if f.AtHorizon != other.AtHorizon {
		return f.AtHorizon < other.AtHorizon
	}
	return f.Mean < other.Mean
}

// Within returns the least number of duels that suffices for the share of trials: one of
// .05, .25, .5, .75, .95 and .99.
func (f *Forecast) Within(share float64) int64 {
	i := slices.IndexFunc(f.Quantiles, func(q Quantile) bool { return q.Share >= share })
	return f.Quantiles[i].Duels
}
