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

// experiment is a figure of trial with what the flags say of it.
type experiment struct {
	trial.Experiment
	data   string
	stages *cli.Stages
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
		{"news-items", data != trial.News, "--data " + data}, {"news-topics", data != trial.News, "--data " + data},
		{"folder", data != trial.Movies, "--data " + data},
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
	e := &experiment{data: f.data}
	if e.Set, e.Simulation.Weights, err = f.read(a.Config.Seed); err != nil {
		return nil, err
	}
	if e.Simulation.Weights != nil && f.users > len(e.Simulation.Weights) {
		return nil, fmt.Errorf("slate simulate: --users %d: --data %s has %d listeners", f.users, f.data, len(e.Simulation.Weights))
	}
	if limits.budgets, err = limits.budgetsOf(e.Set); err != nil {
		return nil, err
	}
	if err := e.fill(f, limits); err != nil {
		return nil, err
	}
	s := &e.Simulation
	s.Options, s.Ridge, s.Users, s.Repeats, s.Rounds = options, f.ridge, f.users, f.repeats, f.rounds
	s.Seed, s.Workers = a.Config.Seed, a.Config.Threads
	s.Options.Memory = cli.SpareMemory()
	for _, name := range f.algorithms {
		s.Algorithms = append(s.Algorithms, slate.Algorithm(name))
	}
	if len(f.algorithms) == 0 {
		s.Algorithms = slices.DeleteFunc(trial.Algorithms(), func(a slate.Algorithm) bool {
			return a == slate.MCSGreedy && e.Set.Len() > slate.MCSLimit
		})
	}
	if f.rounds == 0 {
		s.Rounds = trial.UsualRounds(e.Axis)
	}
	return e, nil
}

// read returns the items and, where the data have users of their own, their weights.
func (f *slateSimulateFlags) read(seed uint64) (*items.Set, [][]float64, error) {
	switch f.data {
	case trial.News:
		const each = 200 // bytes of an item without its features, which are stored three times
		if f.newsItems > 0 && f.newsTopics > 0 {
			what := fmt.Sprintf("--news-items %d of --news-topics %d", f.newsItems, f.newsTopics)
			if err := cli.NeedMemory(what, float64(f.newsItems)*(24*float64(f.newsTopics)+each)); err != nil {
				return nil, nil, err
			}
		}
		set, err := items.News(f.newsItems, f.newsTopics, seed)
		return set, nil, err
	case trial.Songs:
		songs, err := items.GenerateSongs(trial.SongCount, trial.SongGenres, trial.Listeners, seed)
		if err != nil {
			return nil, nil, err
		}
		return &songs.Set, songs.Weights, nil
	case trial.Movies:
		set, err := items.MovieLens(f.folder)
		if err != nil {
			return nil, nil, fmt.Errorf("--folder: %w", err)
		}
		return set, nil, nil
	}
	set, err := items.ReadWithin(f.data, cli.SpareMemory())
	if err != nil {
		return nil, nil, fmt.Errorf("--data: %w", err)
	}
	return set, nil, nil
}

// fill sets the limits and the axis: those of the flags, or what is usual of the data.
func (e *experiment) fill(f *slateSimulateFlags, limits *namedLimits) error {
	if len(e.Set.CostNames) > 0 {
		e.Cost = e.Set.CostNames[0]
	}
	usual := trial.UsualOf(e.data)
	if usual.Budget > 0 && len(limits.budgets) == 0 {
		limits.budgets[e.Cost] = usual.Budget
	}
	if usual.Length > 0 && !limits.sized {
		limits.length = usual.Length
	}
	if usual.Group > 0 && len(limits.groups) == 0 {
		limits.groups[items.EveryGroup] = usual.Group
	}
	e.Limits = items.Limits{Length: limits.length, Budgets: limits.budgets, Groups: limits.groups}
	switch e.Axis = trial.Axis(f.figure); e.Axis {
	case trial.ByRound:
	case trial.ByBudget:
		if len(e.Set.CostNames) != 1 {
			return fmt.Errorf("--figure budget: items have the costs %q, of which none can be varied alone", e.Set.CostNames)
		}
		if e.At = f.onBudget; len(e.At) == 0 {
			e.At = usual.Budgets
		}
	case trial.ByLength:
		on := f.onLength
		if len(on) == 0 {
			on = usual.Lengths
		}
		for _, k := range on {
			if k < 1 {
				return fmt.Errorf("--lengths: %d is below 1", k)
			}
			e.At = append(e.At, float64(k))
		}
	default:
		return fmt.Errorf("--figure %q is none of reward, budget, cardinality", f.figure)
	}
	return nil
}

// run computes all points and calls each with every mark as its point is done.
func (e *experiment) run(ctx context.Context, each func(trial.Mark) error) error {
	e.Progress = func(x float64, done, total int) {
		label := fmt.Sprintf("%s of %s", e.Axis, e.data)
		if e.Axis != trial.ByRound {
			label += fmt.Sprintf(", %g", x)
		}
		e.stages.Set(label, int64(done), int64(total))
	}
	return tooLong(e.Experiment.Run(ctx, each))
}
