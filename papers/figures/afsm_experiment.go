package figures

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"thresher/choice/slate"
	"thresher/choice/slate/items"
	"thresher/choice/slate/trial"
	"thresher/internal/plot"
)

// section7 are the three figures of a data set: over the rounds, the budget and the length of lists.
func section7(number, data, what string) []*Figure {
	var figures []*Figure
	for i, axis := range trial.Axes() {
		f := &Figure{
			ID: "afsm-" + number + "abc"[i:i+1], Paper: afsmPaper, Shows: "figure " + number + "abc"[i:i+1],
			Title:      fmt.Sprintf("Reward of a list of %s, over %s", what, axisWords[axis]),
			Data:       []string{what},
			Algorithms: afsmNames(afsmLines()[:1]), Baselines: afsmNames(afsmLines()[1:]),
			Lost:   lostNumbers,
			Points: func(s *Settings) []Point { return experimentPoints(s, data, axis) },
			Charts: func(s *Settings, rows []Row) []plot.Chart { return experimentCharts(s, rows, what, axis) },
			Note:   func(s *Settings, rows []Row) Note { return experimentNote(s, rows, data, axis) },
		}
		if data == trial.Movies {
			f.Needs = []string{data}
		}
		if data == trial.Songs {
			f.Lost += "; the Million Song Dataset itself"
		}
		figures = append(figures, f)
	}
	return figures
}

var axisWords = map[trial.Axis]string{trial.ByRound: "the rounds", trial.ByBudget: "the budget", trial.ByLength: "the cardinality"}

// experimentPoints has a point for every limit of groups and value of the axis; the rounds are one.
func experimentPoints(s *Settings, data string, axis trial.Axis) []Point {
	var points []Point
	shelf := &shelf{}
	for _, group := range groupLimits(s, data) {
		add := func(key string, at []float64) {
			if group > 0 {
				key = fmt.Sprintf("matroid limit %d, %s", group, key)
			}
			points = append(points, Point{Key: key, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
				return experimentRows(ctx, e, s, shelf, data, axis, group, at)
			}})
		}
		switch axis {
		case trial.ByRound:
			add("rounds", nil)
		case trial.ByBudget:
			for _, b := range s.Floats("budgets") {
				add(fmt.Sprintf("budget %g", b), []float64{b})
			}
		case trial.ByLength:
			for _, k := range s.Ints("cardinalities") {
				add(fmt.Sprintf("cardinality %d", k), []float64{float64(k)})
			}
		}
	}
	return points
}

// groupLimits are the limits of every genre; 0, none, where the data have no matroid in the paper.
func groupLimits(s *Settings, data string) []int {
	if data == trial.Movies {
		return s.Ints("matroid limits")
	}
	return []int{0}
}

func groupPanel(group int) string {
	if group == 0 {
		return ""
	}
	return fmt.Sprintf("matroid limit %d", group)
}

// experiment is the one of the settings.
func afsmExperiment(e *Env, s *Settings, of *recommended, axis trial.Axis, group int) *trial.Experiment {
	x := &trial.Experiment{Set: of.set, Axis: axis, Cost: of.set.CostNames[0], Limits: items.Limits{Budgets: map[string]float64{}, Groups: map[string]int{}}}
	if axis != trial.ByBudget {
		x.Limits.Budgets[x.Cost] = s.Float("budget")
	}
	if axis != trial.ByLength {
		x.Limits.Length = s.Int("cardinality")
	}
	if group > 0 {
		x.Limits.Groups[items.EveryGroup] = group
	}
	x.Simulation = trial.Simulation{
		Options: slate.Options{
			Confidence: slate.Confidence{Rule: slate.Tuned, Delta: s.Float("delta"), Base: s.Float("base"), Scale: s.Float("scale")},
			Epsilon:    s.Float("epsilon"), Lowest: s.Float("nu"), Highest: s.Float("nu'"),
		},
		Ridge: s.Float("lambda"), Users: s.Int("users"), Repeats: s.Int("repetitions"), Rounds: s.Int("T"),
		Weights: of.weights, Together: true, Seed: e.Seed, Workers: e.Threads,
	}
	return x
}

// lessName begins the name of rows whose Y is AFSM-UCB's reward less that of another line, by user.
const lessName = "AFSM-UCB less "

func experimentRows(ctx context.Context, e *Env, s *Settings, h *shelf, data string, axis trial.Axis, group int, at []float64) ([]Row, error) {
	of, err := h.take(e, s, data)
	if err != nil {
		return nil, err
	}
	x := afsmExperiment(e, s, of, axis, group)
	x.At, x.Simulation.Algorithms = at, afsmLines()
	x.Progress = func(_ float64, done, total int) { e.Progress(done, total) }
	var rows []Row
	row := func(m *trial.Mark, name string, y trial.Mean) Row {
		return Row{
			Panel: groupPanel(group), Algorithm: name, Data: data, N: of.set.Len(), D: len(of.set.Topics), K: m.Length,
			X: m.X, Y: y.Mean, YSD: y.SE * math.Sqrt(float64(y.Of)), Draws: y.Of,
		}
	}
	var afsm trial.Mark // after the last round: the first of the algorithms
	err = x.Run(ctx, func(m trial.Mark) error {
		r := row(&m, afsmName(m.Algorithm), m.Reward)
		r.Setting = fmt.Sprintf("budget %g, round %d; expected %.4f, with known weights %.4f", m.Budget, m.Round, m.Value.Mean, m.Known.Mean)
		r.Comparisons = m.Evaluations
		rows = append(rows, r)
		if m.Round < x.Simulation.Rounds {
			return nil
		}
		if m.Algorithm == slate.AFSM {
			afsm = m
			return nil
		}
		rows = append(rows, row(&m, lessName+afsmName(m.Algorithm), afsm.Reward.Less(m.Reward)))
		return nil
	})
	return rows, err
}

// band is half the width of the 95% interval of a row's Y, the mean over Draws users.
func band(r *Row) float64 {
	return trial.Mean{SE: r.YSD / math.Sqrt(float64(max(r.Draws, 1))), Of: r.Draws}.Band()
}

func experimentCharts(s *Settings, rows []Row, what string, axis trial.Axis) []plot.Chart {
	var panels []string
	for _, r := range rows {
		if !slices.Contains(panels, r.Panel) {
			panels = append(panels, r.Panel)
		}
	}
	var charts []plot.Chart
	for _, panel := range panels {
		title := []string{what}
		if panel != "" {
			title = append(title, panel)
		}
		if axis != trial.ByLength {
			title = append(title, fmt.Sprintf("up to %d items", s.Int("cardinality")))
		}
		if axis != trial.ByBudget {
			title = append(title, fmt.Sprintf("budget %g", s.Float("budget")))
		}
		c := plot.Chart{
			Title:  strings.Join(title, ", "),
			XLabel: map[trial.Axis]string{trial.ByRound: "round", trial.ByBudget: "budget", trial.ByLength: "most items of a list"}[axis],
			YLabel: "reward of a list so far, 95% bands", LogX: axis == trial.ByBudget,
		}
		bands := slices.Clone(rows)
		for i := range bands {
			bands[i].YSD = band(&rows[i])
		}
		c.Series = barred(bands, func(r *Row) string {
			if r.Panel != panel || strings.HasPrefix(r.Algorithm, lessName) {
				return ""
			}
			return r.Algorithm
		})
		charts = append(charts, c)
	}
	return charts
}
