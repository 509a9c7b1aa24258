package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"thresher/bandit/slate"
	"thresher/bandit/slate/items"
	"thresher/bandit/slate/trial"
	"thresher/cmd/thresher/internal/plot"
)

type slateSimulateFlags struct {
	optionFlags
	limitFlags
	data, folder, figure   string
	newsItems, newsTopics  int
	algorithms             []string
	users, repeats, rounds int
	onBudget               []float64
	onLength               []int
	out                    []string
	force                  bool
}

// Names of --data that are no path.
const (
	newsData   = "news"
	moviesData = "ml-100k"
)

// marksOfFigure is how many points a curve over the rounds has.
const marksOfFigure = 60

func newSlateSimulateCommand(a *app) *cobra.Command {
	f := &slateSimulateFlags{}
	cmd := &cobra.Command{
		Use:   "simulate --data news|ml-100k|FILE --figure reward|budget|cardinality [--out FILE.png]",
		Short: "Repeat the experiments of the paper, and draw its figures",
		Long: `Repeat the experiments of the paper: AFSM-UCB and greedy baselines recommend to users
whose taste they have to learn. What is drawn is the reward of a list, averaged over
all rounds so far, against the rounds (reward), or after the last round against the
budget or the length of lists (cardinality). Bands are 95% intervals of the mean.

Data are made-up news, MovieLens 100K from a folder of yours, or a file of items as
for recommend. Each point is a line of CSV as soon as it is done; a file that ends in
.png or .svg is drawn when all are. The paper has --users 100 --repeats 10.`,
		Example: `  thresher slate simulate --data news --figure reward --out news.csv --out news.png
  thresher slate simulate --data ml-100k --folder ml-100k --figure budget --out movies.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.simulateSlates(cmd, f) },
	}
	figures := []string{"reward", "budget", "cardinality"}
	fs := cmd.Flags()
	fs.StringVar(&f.data, "data", newsData, "news, ml-100k, or a `file` of items (.csv, .jsonl)")
	fs.StringVar(&f.folder, "folder", moviesData, "`folder` of MovieLens 100K")
	fs.StringVar(&f.figure, "figure", figures[0], "what to vary ("+strings.Join(figures, ", ")+")")
	fs.IntVar(&f.newsItems, "news-items", 1000, "news to make up")
	fs.IntVar(&f.newsTopics, "news-topics", 15, "topics of the news")
	fs.StringSliceVar(&f.algorithms, "algorithms", nil, "`names` ("+strings.Join(slateAlgorithms(), ", ")+"); default: all, mcs if there are few items")
	fs.IntVar(&f.users, "users", 20, "users, each with a taste")
	fs.IntVar(&f.repeats, "repeats", 1, "times that each user is met")
	fs.IntVar(&f.rounds, "rounds", 0, "lists for each user; 0 = 300, and 100 to vary a limit")
	fs.Float64SliceVar(&f.onBudget, "budgets", nil, "`values` on the axis of budgets")
	fs.IntSliceVar(&f.onLength, "lengths", nil, "`values` on the axis of lengths")
	fs.StringArrayVar(&f.out, "out", []string{stdio}, "`file` to write, a picture if it ends in .png or .svg, else CSV; may be given again")
	fs.BoolVar(&f.force, "force", false, "overwrite the output")
	f.limitFlags.add(cmd)
	f.optionFlags.add(cmd)
	complete(cmd, "figure", figures)
	complete(cmd, "algorithms", slateAlgorithms())
	addSettings(cmd, "seed", "threads")
	return cmd
}

func (a *app) simulateSlates(cmd *cobra.Command, f *slateSimulateFlags) error {
	if err := refuseOutputs(f.force, f.out); err != nil {
		return err
	}
	e, err := a.newExperiment(cmd, f)
	if err != nil {
		return err
	}
	var tables []*rowFile
	var pictures []string
	for _, path := range f.out {
		if plot.Drawn(path) {
			pictures = append(pictures, path)
		} else {
			tables = append(tables, &rowFile{app: a, path: path, head: slateHeader()})
		}
	}
	stages := &stageProgress{app: a}
	defer stages.end()
	e.stages = stages
	var points []slatePoint
	err = e.run(cmd.Context(), func(p slatePoint) error {
		stages.end()
		points = append(points, p)
		for _, t := range tables {
			if err := t.add(p.row()); err != nil {
				return err
			}
		}
		return nil
	})
	for _, t := range tables {
		err = errors.Join(err, t.close())
	}
	for _, path := range pictures {
		if err == nil {
			err = plot.Write(path, e.chart(points))
		}
	}
	return err
}

// experiment is one figure to be.
type experiment struct {
	data, figure string
	set          *items.Set
	limits       *namedLimits
	cost         string // of the budget that is varied or told
	axis         []float64
	simulation   trial.Simulation
	stages       *stageProgress
}

// slatePoint is one algorithm at one place of the axis, after so many rounds.
type slatePoint struct {
	data, figure           string
	x                      float64
	algorithm              slate.Algorithm
	length                 int
	budget                 float64 // 0 for none
	users, repeats, rounds int
	reward, value, known   trial.Mean
	evaluations            float64
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
	e := &experiment{data: f.data, figure: f.figure, limits: limits}
	if e.set, err = f.read(a.config.Seed); err != nil {
		return nil, err
	}
	if err := e.fill(cmd, f); err != nil {
		return nil, err
	}
	e.simulation = trial.Simulation{
		Options: options, Ridge: f.ridge, Users: f.users, Repeats: f.repeats, Rounds: f.rounds,
		Seed: a.config.Seed, Workers: a.config.Threads,
	}
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
		return items.News(f.newsItems, f.newsTopics, seed)
	case moviesData:
		set, err := items.MovieLens(f.folder)
		if err != nil {
			return nil, fmt.Errorf("--folder: %w", err)
		}
		return set, nil
	}
	set, err := items.Read(f.data)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	return set, nil
}

// fill puts the defaults of the data in: the limits of the paper's experiments, of
// which its text has lost the numbers.
func (e *experiment) fill(cmd *cobra.Command, f *slateSimulateFlags) error {
	if len(e.set.CostNames) > 0 {
		e.cost = e.set.CostNames[0]
	}
	ours := e.data == newsData || e.data == moviesData
	if ours && len(e.limits.Budgets) == 0 {
		e.limits.Budgets[e.cost] = 1
	}
	if ours && e.limits.Length == 0 && !cmd.Flags().Changed("length") {
		e.limits.Length = 8
	}
	if e.data == moviesData && len(e.limits.Groups) == 0 {
		e.limits.Groups[everyGroup] = 2
	}
	switch e.figure {
	case "reward":
		e.axis = []float64{0} // none; the rounds are
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

// run plays all points and hands them over as they are done.
func (e *experiment) run(ctx context.Context, each func(slatePoint) error) error {
	for _, x := range e.axis {
		limits := &namedLimits{Length: e.limits.Length, Budgets: maps.Clone(e.limits.Budgets), Groups: e.limits.Groups}
		switch e.figure {
		case "budget":
			limits.Budgets = map[string]float64{e.cost: x}
		case "cardinality":
			limits.Length = int(x)
		}
		if e.figure == "cardinality" && limits.Length < 1 {
			return fmt.Errorf("--lengths: %d is below 1", limits.Length)
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
		s.Progress = func(done, total int) { e.stages.set(label, int64(done), int64(total)) }
		outcomes, err := s.Run(ctx)
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			for m, round := range s.Marks {
				p := slatePoint{
					data: e.data, figure: e.figure, x: x, algorithm: o.Algorithm, length: limits.Length, budget: c.budgets[e.cost],
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

// marks are up to marksOfFigure rounds, evenly spaced, the first and the last among
// them.
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

// titles of algorithms in pictures.
func algorithmTitle(a slate.Algorithm) string {
	switch a {
	case slate.AFSM:
		return "AFSM-UCB"
	case slate.LSBGreedy:
		return "LSBGreedy"
	case slate.ModifiedGreedy:
		return "modified UCB"
	case slate.BetterGreedy:
		return "better of both"
	case slate.MCSGreedy:
		return "MCSGreedy"
	}
	return "random"
}

// chart draws the mean of rewards with intervals that hold it at 95%.
func (e *experiment) chart(points []slatePoint) plot.Chart {
	limits := []string{}
	if e.figure != "cardinality" && e.limits.Length > 0 {
		limits = append(limits, fmt.Sprintf("up to %d items", e.limits.Length))
	}
	for _, name := range slices.Sorted(maps.Keys(e.limits.Budgets)) {
		if e.figure != "budget" {
			limits = append(limits, fmt.Sprintf("budget %g", e.limits.Budgets[name]))
		}
	}
	if most, ok := e.limits.Groups[everyGroup]; ok {
		limits = append(limits, fmt.Sprintf("%d of a group", most))
	}
	c := plot.Chart{
		Title:  fmt.Sprintf("%s: %s; %d users x %d, bands of 95%%", e.data, strings.Join(limits, ", "), e.simulation.Users, e.simulation.Repeats),
		XLabel: map[string]string{"reward": "round", "budget": "budget", "cardinality": "most items of a list"}[e.figure],
		YLabel: "reward of a list, averaged over rounds",
		LogX:   e.figure == "budget",
	}
	for _, p := range points {
		title := algorithmTitle(p.algorithm)
		at := slices.IndexFunc(c.Series, func(s plot.Series) bool { return s.Name == title })
		if at < 0 {
			at = len(c.Series)
			c.Series = append(c.Series, plot.Series{Name: title})
		}
		s := &c.Series[at]
		s.X, s.Mean, s.SD = append(s.X, p.x), append(s.Mean, p.reward.Mean), append(s.SD, 1.96*p.reward.SE)
	}
	return c
}

func slateHeader() []string {
	return []string{"data", "figure", "x", "algorithm", "length", "budget", "round", "users", "repeats",
		"reward", "reward_sd", "reward_se", "value", "value_sd", "value_se", "known_value", "evaluations"}
}

func (p *slatePoint) row() []string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	return []string{
		p.data, p.figure, number(p.x), string(p.algorithm), fmt.Sprint(p.length), number(p.budget), fmt.Sprint(p.rounds),
		fmt.Sprint(p.users), fmt.Sprint(p.repeats), number(p.reward.Mean), number(p.reward.SD), number(p.reward.SE),
		number(p.value.Mean), number(p.value.SD), number(p.value.SE), number(p.known.Mean), number(p.evaluations),
	}
}
