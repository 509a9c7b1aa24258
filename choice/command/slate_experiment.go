package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"thresher/choice/slate"
	"thresher/choice/slate/items"
	"thresher/choice/slate/trial"
	"thresher/internal/cli"
)

// experiment is one figure to be computed.
type experiment struct {
	data, figure string
	set          *items.Set
	limits       *namedLimits
	cost         string // of the budget that is varied or given
	axis         []float64
	simulation   trial.Simulation
	stages       *cli.Stages
}

// slatePoint is the result of one algorithm at one point of the axis, after a number of
// rounds.
type slatePoint struct {
	data, figure           string
	x                      float64
	algorithm              slate.Algorithm
	length                 int
	budget                 float64 // 0 if there is none
	users, repeats, rounds int
	reward, value, known   trial.Mean
	evaluations            float64
}

// refuseIgnored refuses flags that the figure or the data would ignore.
func refuseIgnored(cmd *cobra.Command, figure, data string) error {
	for _, x := range []struct {
		flag    string
		ignored bool
		by      string
	}{
		{"budgets", figure != "budget", "--figure " + figure}, {"lengths", figure != "cardinality", "--figure " + figure},
		{"budget", figure == "budget", "--figure " + figure}, {"length", figure == "cardinality", "--figure " + figure},
		{"news-items", data != newsData, "--data " + data}, {"news-topics", data != newsData, "--data " + data},
		{"folder", data != moviesData, "--data " + data},
	} {
		if x.ignored && cmd.Flags().Changed(x.flag) {
			return fmt.Errorf("slate simulate: %s does not use --%s", x.by, x.flag)
		}
	}
	return nil
}

func (a *app) newExperiment(cmd *cobra.Command, f *slateSimulateFlags) (*experiment, error) {
	limits, err := f.limitFlags.read(cmd)
	if err != nil {
		return nil, err
	}
	options, err := f.options()
	if err != nil {
		return nil, err
	}
	if err := refuseIgnored(cmd, f.figure, f.data); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		flag         string
		value, least int
	}{{"users", f.users, 1}, {"repeats", f.repeats, 1}, {"rounds", f.rounds, 0}, {"news-items", f.newsItems, 1}, {"news-topics", f.newsTopics, 2}} {
		if x.value < x.least {
			return nil, fmt.Errorf("slate simulate: --%s %d is below %d", x.flag, x.value, x.least)
		}
	}
	e := &experiment{data: f.data, figure: f.figure, limits: limits}
	if e.set, err = f.read(a.Config.Seed); err != nil {
		return nil, err
	}
	if limits.budgets, err = limits.budgetsOf(e.set); err != nil {
		return nil, err
	}
	if err := e.fill(f); err != nil {
		return nil, err
	}
	e.simulation = trial.Simulation{
		Options: options, Ridge: f.ridge, Users: f.users, Repeats: f.repeats, Rounds: f.rounds,
		Seed: a.Config.Seed, Workers: a.Config.Threads,
	}
	e.simulation.Options.Memory = cli.SpareMemory()
	for _, name := range f.algorithms {
		e.simulation.Algorithms = append(e.simulation.Algorithms, slate.Algorithm(name))
	}
	if len(f.algorithms) == 0 {
		e.simulation.Algorithms = slices.DeleteFunc(trial.Algorithms(), func(a slate.Algorithm) bool {
			return a == slate.MCSGreedy && e.set.Len() > slate.MCSLimit
		})
	}
	if f.rounds == 0 && f.figure == "reward" {
		e.simulation.Rounds = 300
	} else if f.rounds == 0 {
		e.simulation.Rounds = 100
	}
	return e, nil
}

func (f *slateSimulateFlags) read(seed uint64) (*items.Set, error) {
	switch f.data {
	case newsData:
		const each = 200 // bytes of an item without its features, which are stored three times
		if f.newsItems > 0 && f.newsTopics > 0 {
			what := fmt.Sprintf("--news-items %d of --news-topics %d", f.newsItems, f.newsTopics)
			if err := cli.NeedMemory(what, float64(f.newsItems)*(24*float64(f.newsTopics)+each)); err != nil {
				return nil, err
			}
		}
		return items.News(f.newsItems, f.newsTopics, seed)
	case moviesData:
		set, err := items.MovieLens(f.folder)
		if err != nil {
			return nil, fmt.Errorf("--folder: %w", err)
		}
		return set, nil
	}
	set, err := items.ReadWithin(f.data, cli.SpareMemory())
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	return set, nil
}

// fill sets the defaults for the data: the limits of the paper's experiments, whose text
// omits the numbers.
func (e *experiment) fill(f *slateSimulateFlags) error {
	if len(e.set.CostNames) > 0 {
		e.cost = e.set.CostNames[0]
	}
	budget, ours := map[string]float64{newsData: 1, moviesData: .2}[e.data]
	if ours && len(e.limits.budgets) == 0 {
		e.limits.budgets[e.cost] = budget
	}
	if ours && !e.limits.sized {
		e.limits.length = 8
	}
	if e.data == moviesData && len(e.limits.groups) == 0 {
		e.limits.groups[everyGroup] = 2
	}
	switch e.figure {
	case "reward":
		e.axis = []float64{0} // the rounds are the axis
	case "budget":
		if len(e.set.CostNames) != 1 {
			return fmt.Errorf("--figure budget: items have the costs %q, of which none can be varied alone", e.set.CostNames)
		}
		e.axis = slices.Clone(f.onBudget)
		if len(e.axis) == 0 {
			e.axis = []float64{.1, .2, .5, 1, 2, 4}
		}
	case "cardinality":
		for _, k := range f.onLength {
			e.axis = append(e.axis, float64(k))
		}
		if len(e.axis) == 0 {
			e.axis = []float64{1, 2, 3, 5, 8, 12, 16}
		}
	default:
		return fmt.Errorf("--figure %q is none of reward, budget, cardinality", e.figure)
	}
	return nil
}

// run computes all points and calls each with every one as it is done.
func (e *experiment) run(ctx context.Context, each func(slatePoint) error) error {
	for _, x := range e.axis {
		limits := &namedLimits{length: e.limits.length, budgets: e.limits.budgets, groups: e.limits.groups}
		switch e.figure {
		case "budget":
			limits.budgets = map[string]float64{e.cost: x}
		case "cardinality":
			limits.length = int(x)
		}
		if e.figure == "cardinality" && limits.length < 1 {
			return fmt.Errorf("--lengths: %d is below 1", limits.length)
		}
		c, err := constrain(e.set, limits)
		if err != nil {
			return err
		}
		s := e.simulation
		s.Constraint = c.Constraint
		if e.figure == "reward" {
			s.Marks = marks(s.Rounds)
		} else {
			s.Marks = []int{s.Rounds}
		}
		label := fmt.Sprintf("%s of %s", e.figure, e.data)
		if e.figure != "reward" {
			label += fmt.Sprintf(", %g", x)
		}
		s.Progress = func(done, total int) { e.stages.Set(label, int64(done), int64(total)) }
		outcomes, err := s.Run(ctx)
		if err != nil {
			return tooLong(err)
		}
		for _, o := range outcomes {
			for m, round := range s.Marks {
				p := slatePoint{
					data: e.data, figure: e.figure, x: x, algorithm: o.Algorithm, length: limits.length, budget: c.budgets[e.cost],
					users: s.Users, repeats: s.Repeats, rounds: round,
					reward: o.Rewards[m], value: o.Values[m], known: o.Known, evaluations: o.Evaluations,
				}
				if e.figure == "reward" {
					p.x = float64(round)
				}
				if err := each(p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// marks returns up to marksOfFigure rounds, evenly spaced, including the first and the last.
func marks(rounds int) []int {
	if rounds < 1 {
		return nil // refused by the simulation
	}
	at := []int{1}
	for i := 1; i < marksOfFigure; i++ {
		if round := 1 + i*(rounds-1)/(marksOfFigure-1); round > at[len(at)-1] {
			at = append(at, round)
		}
	}
	return at
}
