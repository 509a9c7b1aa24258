package figures

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"thresher/choice/slate"
	"thresher/choice/slate/trial"
	"thresher/internal/plot"
)

// Panels of afsm-prop2.
const (
	cheapPanel = "many cheap items of little value"
	dearPanel  = "one dear item or many"
)

// afsmProp2 is the regret of greedy algorithms where they are in a trap.
var afsmProp2 = &Figure{
	ID: "afsm-prop2", Paper: afsmPaper, Shows: "propositions 2 and 7",
	Title:      "Regret of greedy algorithms in their worst case, and of AFSM-UCB there",
	Data:       []string{cheapPanel, dearPanel},
	Algorithms: []string{afsmName(slate.AFSM)}, Baselines: afsmNames([]slate.Algorithm{slate.ModifiedGreedy, slate.MCSGreedy, slate.LSBGreedy}),
	Lost: "the instance's figures; the paper has no picture of it",
	Points: func(s *Settings) []Point {
		var points []Point
		for _, c := range []struct {
			panel      string
			trap       func(int) (*trial.Trap, error)
			algorithms []slate.Algorithm
		}{
			{cheapPanel, trial.CheapTrap, []slate.Algorithm{slate.AFSM, slate.ModifiedGreedy, slate.MCSGreedy}},
			{dearPanel, trial.DearTrap, []slate.Algorithm{slate.AFSM, slate.LSBGreedy}},
		} {
			for _, a := range c.algorithms {
				points = append(points, Point{Key: c.panel + ", " + string(a), Rows: func(ctx context.Context, e *Env) ([]Row, error) {
					trap, err := c.trap(s.Int("m"))
					if err != nil {
						return nil, err
					}
					return trapRows(ctx, e, s, trap, c.panel, a)
				}})
			}
		}
		return points
	},
	Charts: func(_ *Settings, rows []Row) []plot.Chart {
		var charts []plot.Chart
		for _, panel := range []string{cheapPanel, dearPanel} {
			charts = append(charts, plot.Chart{Title: panel, XLabel: "round", YLabel: "alpha-regret so far", Series: barred(rows, func(r *Row) string {
				if r.Panel != panel {
					return ""
				}
				return r.Algorithm
			})})
		}
		return charts
	},
	Note: func(_ *Settings, rows []Row) Note {
		var parts []string
		linear, falling := true, true
		for _, l := range regretLines(rows) {
			first, second := l.halves()
			if l[0].Algorithm == afsmName(slate.AFSM) {
				falling = falling && second < 0
			} else {
				linear = linear && second > 0 && second > .9*first
			}
			parts = append(parts, fmt.Sprintf("%s (%s) %.3f and %.3f", l[0].Algorithm, l[0].Panel, first, second))
		}
		n := Note{
			Says: "For every alpha there are instances on which MCSGreedy and LSBGreedy have linear alpha-regret.",
			Seen: "The regret of a round in the first and the second half is " + strings.Join(parts, ", ") + ".",
			Why:  "LSBGreedy takes the one item that uses up the budget, choosing by value per cost fills the list with items of almost no value, and no learning changes either; AFSM-UCB's lists are worth more than alpha times the best, so its regret falls.",
			Ours: "linear for modified, mcs and lsb; falling for AFSM-UCB", Theirs: "linear", Verdict: Reproduced,
		}
		if !linear || !falling {
			n.Verdict, n.Ours = Not, "not so"
		}
		return n
	},
}

// regretLines are the lines of afsm-prop2, each in ascending order of rounds.
func regretLines(rows []Row) []curve {
	var lines []curve
	for _, r := range rows {
		at := slices.IndexFunc(lines, func(c curve) bool { return c[0].Panel == r.Panel && c[0].Algorithm == r.Algorithm })
		if at < 0 {
			lines = append(lines, curve{r})
			continue
		}
		lines[at] = append(lines[at], r)
	}
	return lines
}

// halves returns the growth of Y by X up to the middle row, and from there on.
func (c curve) halves() (first, second float64) {
	middle, last := c[len(c)/2], c.last()
	first = middle.Y / middle.X
	if last.X == middle.X {
		return first, first
	}
	return first, (last.Y - middle.Y) / (last.X - middle.X)
}

func trapRows(ctx context.Context, e *Env, s *Settings, trap *trial.Trap, panel string, a slate.Algorithm) ([]Row, error) {
	options := trap.Options()
	rounds := s.Int("T")
	sim := &trial.Simulation{
		Constraint: trap.Constraint, Algorithms: []slate.Algorithm{a}, Options: options, Ridge: s.Float("lambda"),
		Users: 1, Repeats: s.Int("repetitions"), Rounds: rounds, Weights: [][]float64{trap.Weights}, Seed: e.Seed, Workers: e.Threads, Progress: e.Progress,
	}
	for i := 1; i <= 20; i++ {
		if mark := i * rounds / 20; mark > 0 && (len(sim.Marks) == 0 || mark > sim.Marks[len(sim.Marks)-1]) {
			sim.Marks = append(sim.Marks, mark)
		}
	}
	outcomes, err := sim.Run(ctx)
	if err != nil {
		return nil, err
	}
	alpha := trap.Constraint.Alpha(options.Epsilon)
	var rows []Row
	for i, mark := range sim.Marks {
		v := outcomes[0].Values[i]
		rows = append(rows, Row{
			Panel: panel, Algorithm: afsmName(a), Data: "trap", N: trap.Constraint.Items().Size(), D: 2, K: s.Int("m"),
			Setting: fmt.Sprintf("alpha %.3f", alpha), X: float64(mark), Y: float64(mark) * (alpha - v.Mean), YSD: float64(mark) * v.SD, Draws: v.Of,
		})
	}
	return rows, nil
}
