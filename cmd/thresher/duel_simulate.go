package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"thresher/bandit/duel"
)

type duelSimulateFlags struct {
	figure, trials, fixed int
	arms                  []int
	gammas                []float64
	out                   string
	force                 bool
}

func newDuelSimulateCommand(a *app) *cobra.Command {
	f := &duelSimulateFlags{}
	cmd := &cobra.Command{
		Use:   "simulate --figure 1|2",
		Short: "Repeat the simulations of the paper",
		Long: `Repeat figure 1 or 2 of Beat the Mean Bandit (ICML 2011): the regret of Beat-the-Mean
and of Interleaved Filter over 10^10 duels, mean and standard deviation over the
trials. Figure 1 varies K with preferences that are all alike or logistic; figure 2
breaks transitivity by gamma, first at 1.3 over K, then over gamma at one K.

The result is CSV. go run ./bandit/duel/figures FILE.csv draws it.`,
		Example: `  thresher duel simulate --figure 1 --out figure1.csv && go run ./bandit/duel/figures figure1.csv`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.simulateDuels(cmd, f) },
	}
	cmd.Flags().IntVar(&f.figure, "figure", 1, "1 or 2")
	cmd.Flags().IntVar(&f.trials, "trials", 100, "tournaments a point")
	cmd.Flags().IntSliceVar(&f.arms, "arms", nil, "`numbers` of arms on the axis; default: 20 to 500")
	cmd.Flags().Float64SliceVar(&f.gammas, "gammas", nil, "`values` of gamma on the lower axis of figure 2; default: 1 to 2")
	cmd.Flags().IntVar(&f.fixed, "fixed-arms", 0, "`arms` where gamma varies; 0 = 500")
	cmd.Flags().StringVar(&f.out, "out", stdio, "`file` to write")
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite the output")
	addSettings(cmd, "seed", "threads")
	return cmd
}

func (a *app) simulateDuels(cmd *cobra.Command, f *duelSimulateFlags) error {
	if f.out != stdio {
		if err := refuseExisting(f.force, f.out); err != nil {
			return err
		}
	}
	stages := &stageProgress{app: a}
	defer stages.end()
	figure := &duel.Figure{
		Number: f.figure, Trials: f.trials, Seed: a.config.Seed, Workers: a.config.Threads,
		Arms: f.arms, Gammas: f.gammas, FixedArms: f.fixed,
		Progress: func(label string, done, total int) { stages.set(label, int64(done), int64(total)) },
	}
	out := &pointFile{app: a, path: f.out}
	err := figure.Run(cmd.Context(), func(p duel.Point) error {
		stages.end()
		return out.add(&p)
	})
	return errors.Join(err, out.close())
}

// pointFile is made with the first point, and each point is there when it is
// done, for they take minutes.
type pointFile struct {
	app  *app
	path string
	file *os.File // nil for standard output
	rows *csv.Writer
}

func (o *pointFile) add(p *duel.Point) error {
	if o.rows == nil {
		if err := o.begin(); err != nil {
			return err
		}
	}
	if err := o.rows.Write(duelRow(p)); err != nil {
		return err
	}
	o.rows.Flush()
	return o.rows.Error()
}

func (o *pointFile) begin() error {
	var w io.Writer = o.app.out
	if o.path != stdio {
		f, err := os.Create(o.path)
		if err != nil {
			return err
		}
		o.file, w = f, f
	}
	o.rows = csv.NewWriter(w)
	return o.rows.Write(duelHeader())
}

func (o *pointFile) close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

func duelHeader() []string {
	return []string{"figure", "panel", "setting", "axis", "k", "gamma", "algorithm", "trials", "right", "regret", "regret_sd", "duels"}
}

func duelRow(p *duel.Point) []string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return []string{
		fmt.Sprint(p.Figure), fmt.Sprint(p.Panel), p.Setting, p.Axis, fmt.Sprint(p.Arms), number(p.Gamma), string(p.Algorithm),
		fmt.Sprint(p.Trials), fmt.Sprint(p.Right), number(p.Regret), number(p.RegretSD), number(p.Duels),
	}
}
