package duel

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
)

// Parameters of the simulations in section 5 of Beat-the-Mean.
const (
	figureHorizon = 1e10
	figureGap     = .1
	figureGamma   = 1.3
	figureArms    = 500
)

// Figure simulates figure 1 or 2 of Beat-the-Mean. Its panels are numbered 0 (top) and 1
// (bottom).
type Figure struct {
	Number int
	Trials int // the paper has 100
	Seed   uint64
	// Workers is as in Simulation.
	Workers int
	// Panels are those to be simulated, in ascending order; empty is both.
	Panels []int
	// Arms are the values of K on the axis. Gammas are those of the lower panel of figure 2,
	// at K = FixedArms. Empty or 0 selects a default; the paper's text gives 500 for the
	// last and no value for the others.
	Arms      []int
	Gammas    []float64
	FixedArms int
	// FilterRadii are the radii of Interleaved Filter, each shown as an algorithm. Empty is
	// both: Wide, published and proven by its authors, and Tight, by footnote 7 of
	// Beat-the-Mean.
	FilterRadii []Radius
	// Anytime adds the algorithm of that name to all settings but logistic preferences, where it would play every one
	// of the duels that their smallest gaps need.
	Anytime bool
	// Progress, if set, is called with the number of trials done at the first incomplete
	// point, from any goroutine.
	Progress func(label string, done, total int)
}

// Point is one mark of a figure with its error bar.
type Point struct {
	Figure    int       `json:"figure"`
	Panel     int       `json:"panel"`
	Setting   string    `json:"setting"`
	Axis      string    `json:"axis"` // "K" or "gamma"
	Arms      int       `json:"k"`
	Gamma     float64   `json:"gamma"`
	Algorithm Algorithm `json:"algorithm"`
	Radius    Radius    `json:"radius"`
	Trials    int       `json:"trials"`
	Right     int       `json:"right"` // trials that found the best arm
	// Regret is the mean over the trials, RegretSD their standard deviation (not the mean's).
	Regret   float64 `json:"regret"`
	RegretSD float64 `json:"regret_sd"`
	Duels    float64 `json:"duels"` // mean until the winner is found
}

// X returns the position on the axis.
func (p *Point) X() float64 {
	if p.Axis == "gamma" {
		return p.Gamma
	}
	return float64(p.Arms)
}

// setting is the parameters of one point.
type setting struct {
	panel      int
	name, axis string
	arms       int
	gamma      float64
	radius     Radius // of Beat-the-Mean
	model      Model
}

// outcomeBytes is the memory of one trial: all are kept until the last one is done.
const outcomeBytes = 48

// Bytes estimates Run's memory, which is proportional to all trials of all points.
func (g *Figure) Bytes() (float64, error) {
	settings, err := g.settings()
	if err != nil {
		return 0, err
	}
	total, widest := 0., 0.
	for _, s := range settings {
		k := float64(s.arms)
		total += 8*k*k + float64(1+max(len(g.FilterRadii), 2))*outcomeBytes*float64(min(max(g.Trials, 0), maxTrials))
		widest = max(widest, k)
	}
	return total + float64(workersOf(g.Workers))*8*widest*widest, nil
}

// Run simulates all algorithms at all points and calls each with every point as it is
// complete, in order.
func (g *Figure) Run(ctx context.Context, each func(Point) error) error {
	settings, err := g.settings()
	if err != nil {
		return err
	}
	radii := g.FilterRadii
	if len(radii) == 0 {
		radii = []Radius{Wide, Tight}
	}
	for i, radius := range radii {
		if radius != Wide && radius != Tight {
			return fmt.Errorf("duel: figure %d: radius %q of the filter is neither %s nor %s", g.Number, radius, Tight, Wide)
		}
		if slices.Contains(radii[:i], radius) {
			return fmt.Errorf("duel: figure %d: radius %s of the filter is there twice", g.Number, radius)
		}
	}
	var points []Point
	var all []*Simulation
	var front atomic.Int64 // the first incomplete point
	for _, s := range settings {
		designs := []Design{{Algorithm: BeatTheMean, Horizon: figureHorizon, Gamma: s.gamma, Radius: s.radius}}
		for _, radius := range radii {
			designs = append(designs, Design{Algorithm: InterleavedFilter2, Horizon: figureHorizon, Radius: radius})
		}
		if g.Anytime && s.name != "logistic" {
			designs = append(designs, Design{Algorithm: Anytime, Horizon: figureHorizon})
		}
		for _, design := range designs {
			at := int64(len(all))
			sim := &Simulation{Design: design, Arms: s.arms, Model: s.model, Trials: g.Trials, Seed: g.Seed}
			if g.Progress != nil {
				label := fmt.Sprintf("%s %s %s, K = %d, gamma = %g", s.name, design.Algorithm, design.Radius, s.arms, s.gamma)
				sim.Progress = func(done, total int) {
					if front.Load() == at {
						g.Progress(label, done, total)
					}
				}
			}
			all = append(all, sim)
			points = append(points, Point{
				Figure: g.Number, Panel: s.panel, Setting: s.name, Axis: s.axis, Arms: s.arms, Gamma: s.gamma,
				Algorithm: design.Algorithm, Radius: design.Radius,
			})
		}
	}
	return together(ctx, g.Workers, all, func(i int, outcomes []Outcome) error {
		front.Add(1)
		points[i].sum(outcomes)
		return each(points[i])
	})
}

func (g *Figure) settings() ([]setting, error) {
	arms, gammas, fixed := g.Arms, g.Gammas, g.FixedArms
	if len(arms) == 0 {
		arms = []int{20, 50, 100, 200, 350, 500}
	}
	if len(gammas) == 0 {
		gammas = []float64{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2}
	}
	if fixed == 0 {
		fixed = figureArms
	}
	for _, k := range append([]int{fixed}, arms...) {
		if k < 2 || k > MaxArms {
			return nil, fmt.Errorf("duel: figure %d: %d arms; 2 to %d", g.Number, k, MaxArms)
		}
	}
	for _, gamma := range gammas {
		if !(gamma >= 1 && gamma*figureGap < .5) {
			return nil, fmt.Errorf("duel: figure %d: gamma %g is not in [1, %g)", g.Number, gamma, .5/figureGap)
		}
	}
	var all []setting
	switch g.Number {
	case 1:
		for _, k := range arms {
			all = append(all, setting{0, "constant", "K", k, 1, Tight, Always(Constant(k, figureGap))})
		}
		for _, k := range arms {
			all = append(all, setting{1, "logistic", "K", k, 1, Tight, RandomLogistic(k)})
		}
	case 2:
		for _, k := range arms {
			all = append(all, setting{0, "chain", "K", k, figureGamma, Wide, Always(Chain(k, figureGap, figureGamma))})
		}
		for _, gamma := range gammas {
			all = append(all, setting{1, "chain", "gamma", fixed, gamma, Wide, Always(Chain(fixed, figureGap, gamma))})
		}
	default:
		return nil, fmt.Errorf("duel: figure %d; there are 1 and 2", g.Number)
	}
	if len(g.Panels) == 0 {
		return all, nil
	}
	for i, panel := range g.Panels {
		if panel < 0 || panel > 1 || i > 0 && panel <= g.Panels[i-1] {
			return nil, fmt.Errorf("duel: figure %d: panels %v; 0, 1 or both, in order", g.Number, g.Panels)
		}
	}
	return slices.DeleteFunc(all, func(s setting) bool { return !slices.Contains(g.Panels, s.panel) }), nil
}

// sum summarises the outcomes of the point's trials.
func (p *Point) sum(outcomes []Outcome) {
	n := float64(len(outcomes))
	p.Trials = len(outcomes)
	for _, o := range outcomes {
		p.Regret += o.Regret / n
		p.Duels += float64(o.Duels) / n
		if o.Winner == o.Best {
			p.Right++
		}
	}
	for _, o := range outcomes {
		p.RegretSD += (o.Regret - p.Regret) * (o.Regret - p.Regret)
	}
	p.RegretSD = math.Sqrt(p.RegretSD / max(n-1, 1))
}
