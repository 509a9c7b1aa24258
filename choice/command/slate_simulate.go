package command

import (
	"strings"

	"github.com/spf13/cobra"

	"thresher/choice/slate/trial"
	"thresher/internal/cli"
	"thresher/internal/plot"
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

func newSlateSimulateCommand(a *app) *cobra.Command {
	f := &slateSimulateFlags{}
	cmd := &cobra.Command{
		Use:   "simulate --data news|ml-100k|songs|FILE --figure reward|budget|cardinality [--out FILE.png]",
		Short: "Reproduce the experiments and figures of the paper",
		Long: `Reproduce the experiments of the paper: AFSM-UCB and greedy baselines recommend to
users whose taste they have to learn. The figures show the reward of a list, averaged
over all rounds so far, against the rounds (reward), or after the last round against
the budget or the length of lists (cardinality). Bands are 95% confidence intervals
of the mean over the users, by Student's t.

Data are synthetic news, MovieLens 100K from a folder, songs with 100 listeners, which
are made up in place of the Million Song Dataset, or a file of items as for recommend.
Each point is written as a line of CSV as soon as it is done; files that
end in .png or .svg are drawn at the end. The paper has --users 100 --repeats 10.`,
		Example: `  thresher slate simulate --data news --figure reward --out news.csv --out news.png
  thresher slate simulate --data ml-100k --folder ml-100k --figure budget --out movies.svg`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.simulateSlates(cmd, f) },
	}
	var figures []string
	for _, axis := range trial.Axes() {
		figures = append(figures, string(axis))
	}
	fs := cmd.Flags()
	fs.StringVar(&f.data, "data", trial.News, "news, ml-100k, songs, or a `file` of items (.csv, .jsonl)")
	fs.StringVar(&f.folder, "folder", trial.Movies, "with --data ml-100k: `folder` of MovieLens 100K")
	fs.StringVar(&f.figure, "figure", figures[0], "what to vary ("+strings.Join(figures, ", ")+")")
	fs.IntVar(&f.newsItems, "news-items", 1000, "with --data news: number of synthetic items")
	fs.IntVar(&f.newsTopics, "news-topics", 15, "with --data news: number of topics")
	fs.StringSliceVar(&f.algorithms, "algorithms", nil, "`names` ("+strings.Join(slateAlgorithms(), ", ")+"); default: all, mcs if there are few items")
	fs.IntVar(&f.users, "users", 20, "users, each with a taste; songs have 100")
	fs.IntVar(&f.repeats, "repeats", 1, "repetitions for each user")
	fs.IntVar(&f.rounds, "rounds", 0, "lists for each user; 0 = 300, or 100 when a limit varies")
	fs.Float64SliceVar(&f.onBudget, "budgets", nil, "`values` on the axis of budgets")
	fs.IntSliceVar(&f.onLength, "lengths", nil, "`values` on the axis of lengths")
	fs.StringArrayVar(&f.out, "out", []string{cli.Stdio}, "`file` to write, a figure if it ends in .png or .svg, else CSV; may be repeated")
	fs.BoolVar(&f.force, "overwrite", false, "overwrite the output")
	f.limitFlags.add(cmd)
	fs.Lookup("length").Usage += "; default for news, ml-100k and songs: 8"
	f.optionFlags.add(cmd)
	complete(cmd, "figure", figures)
	complete(cmd, "algorithms", slateAlgorithms())
	cli.AddSettings(cmd, "seed", "threads")
	cmd.Flags().Lookup("seed").Usage = cli.SeedOfDraws
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
	out := newSimulationOutput(a, f.out, slateHeader())
	stages := a.NewStages()
	defer stages.End()
	e.stages = stages
	var points []trial.Mark
	err = e.run(cmd.Context(), func(m trial.Mark) error {
		stages.End()
		points = append(points, m)
		return out.add(e.row(&m))
	})
	return out.finish(err, func() []plot.Chart { return []plot.Chart{e.chart(points)} })
}
