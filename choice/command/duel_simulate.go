package command

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"thresher/choice/duel"
	"thresher/internal/cli"
	"thresher/internal/plot"
)

type duelSimulateFlags struct {
	figure, trials, fixed int
	table                 int
	json                  bool
	arms                  []int
	gammas                []float64
	radii                 []string
	out                   []string
	force                 bool
}

func newDuelSimulateCommand(a *app) *cobra.Command {
	f := &duelSimulateFlags{}
	cmd := &cobra.Command{
		Use:   "simulate (--figure 1|2 [--out FILE.png] | --table 1)",
		Short: "Reproduce the simulations, figures and table of the paper",
		Long: `Reproduce figure 1 or 2 of Beat the Mean Bandit (ICML 2011): the regret of
Beat-the-Mean and Interleaved Filter over 10^10 duels, as mean and standard deviation
over the trials. Figure 1 varies K with constant or logistic preferences; figure 2
violates transitivity by gamma, first 1.3 for varying K, then varying gamma for one K.

Interleaved Filter's own paper has a confidence radius twice as wide as the one in
Beat the Mean Bandit (footnote 7). Its regret rises as in figure 2 only with the wide
one; both are simulated unless --filter-radius selects one.

--table 1 prints the preferences among six rankers of arXiv's search instead, how far
they are transitive, and what each algorithm makes of them.

Each point is written as a line of CSV as soon as it is done; files that end in .png
or .svg are drawn at the end.`,
		Example: `  thresher duel simulate --figure 1 --out figure1.png
  thresher duel simulate --figure 2 --out figure2.csv --out figure2.svg
  thresher duel simulate --table 1`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("table") {
				return a.simulateTable(cmd, f)
			}
			if f.json {
				return errors.New("duel simulate: --json applies to --table only; figures are CSV")
			}
			return a.simulateDuels(cmd, f)
		},
	}
	cmd.Flags().IntVar(&f.figure, "figure", 1, "1 or 2")
	cmd.Flags().IntVar(&f.table, "table", 0, "1, instead of a figure")
	cmd.Flags().BoolVar(&f.json, "json", false, "with --table: one JSON object on stdout")
	cmd.Flags().IntVar(&f.trials, "trials", 100, "tournaments for each point")
	cmd.Flags().IntSliceVar(&f.arms, "arms", nil, "`numbers` of arms on the axis; default: 20 to 500")
	cmd.Flags().Float64SliceVar(&f.gammas, "gammas", nil, "`values` of gamma on the lower axis of figure 2; default: 1 to 2")
	cmd.Flags().IntVar(&f.fixed, "fixed-arms", 0, "number of `arms` where gamma varies; 0 = 500")
	cmd.Flags().StringSliceVar(&f.radii, "filter-radius", []string{string(duel.Wide), string(duel.Tight)}, "`radii` of Interleaved Filter, one line in the figure for each: wide (as published by its authors) and tight (as in Beat the Mean Bandit)")
	cmd.Flags().StringArrayVar(&f.out, "out", []string{cli.Stdio}, "`file` to write, a figure if it ends in .png or .svg, else CSV; may be repeated")
	cmd.Flags().BoolVar(&f.force, "overwrite", false, "overwrite the output")
	if err := cmd.RegisterFlagCompletionFunc("filter-radius", cobra.FixedCompletions([]string{string(duel.Wide), string(duel.Tight)}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // a flag that does not exist
	}
	cli.AddSettings(cmd, "seed", "threads")
	cmd.Flags().Lookup("seed").Usage = cli.SeedOfDraws
	return cmd
}

func (a *app) simulateDuels(cmd *cobra.Command, f *duelSimulateFlags) error {
	if f.figure != 1 && f.figure != 2 {
		return fmt.Errorf("duel simulate: --figure %d is neither 1 nor 2", f.figure)
	}
	if f.figure == 1 && (len(f.gammas) > 0 || f.fixed != 0) {
		return errors.New("duel simulate: --gammas and --fixed-arms apply to figure 2 only")
	}
	if err := refuseOutputs(f.force, f.out); err != nil {
		return err
	}
	out := newSimulationOutput(a, f.out, duelHeader())
	var radii []duel.Radius
	for _, name := range f.radii {
		radii = append(radii, duel.Radius(name))
	}
	stages := a.NewStages()
	defer stages.End()
	figure := &duel.Figure{
		Number: f.figure, Trials: f.trials, Seed: a.Config.Seed, Workers: a.Config.Threads,
		Arms: f.arms, Gammas: f.gammas, FixedArms: f.fixed, FilterRadii: radii,
		Progress: func(label string, done, total int) { stages.Set(label, int64(done), int64(total)) },
	}
	bytes, err := figure.Bytes()
	if err != nil {
		return err
	}
	if err := cli.NeedMemory(fmt.Sprintf("duel simulate: --trials %d of every point", f.trials), bytes); err != nil {
		return err
	}
	var points []duel.Point
	err = figure.Run(cmd.Context(), func(p duel.Point) error {
		stages.End()
		points = append(points, p)
		return out.add(duelRow(&p))
	})
	return out.finish(err, func() []plot.Chart { return figureCharts(points) })
}

// figureCharts returns the panels of a figure, with a line for each algorithm. In figure 2
// the lines are orders of magnitude apart, so its axes are logarithmic.
func figureCharts(points []duel.Point) []plot.Chart {
	titles := map[string]string{
		"constant": "every arm beats all worse ones by 0.1",
		"logistic": "logistic in utilities from N(0, 1)",
		"chain":    "0.1, between neighbours times gamma",
	}
	var charts []plot.Chart
	for _, p := range points {
		if p.Panel == len(charts) {
			c := plot.Chart{Title: fmt.Sprintf("Figure %d: %s", p.Figure, titles[p.Setting]), XLabel: "K", YLabel: "regret"}
			switch {
			case p.Axis == "gamma":
				c.Title += fmt.Sprintf("; K = %d", p.Arms)
				c.XLabel, c.LogY = "gamma", true
			case p.Gamma > 1:
				c.Title += fmt.Sprintf("; gamma = %g", p.Gamma)
				c.LogX, c.LogY = true, true
			}
			charts = append(charts, c)
		}
		c := &charts[p.Panel]
		name := fmt.Sprintf("%s, %s", p.Algorithm, p.Radius)
		at := slices.IndexFunc(c.Series, func(s plot.Series) bool { return s.Name == name })
		if at < 0 {
			at = len(c.Series)
			c.Series = append(c.Series, plot.Series{Name: name})
		}
		s := &c.Series[at]
		s.X, s.Mean, s.SD = append(s.X, p.X()), append(s.Mean, p.Regret), append(s.SD, p.RegretSD)
	}
	return charts
}

func duelHeader() []string {
	return []string{"figure", "panel", "setting", "axis", "k", "gamma", "algorithm", "radius", "trials", "right", "regret", "regret_sd", "duels"}
}

func duelRow(p *duel.Point) []string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return []string{
		fmt.Sprint(p.Figure), fmt.Sprint(p.Panel), p.Setting, p.Axis, fmt.Sprint(p.Arms), number(p.Gamma), string(p.Algorithm), string(p.Radius),
		fmt.Sprint(p.Trials), fmt.Sprint(p.Right), number(p.Regret), number(p.RegretSD), number(p.Duels),
	}
}
