package command

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"thresher/choice/duel"
	"thresher/internal/cli"
)

type duelPlanFlags struct {
	designFlags
	arms, trials int
	gap          float64
	shape        string
	json         bool
}

func newDuelPlanCommand(a *app) *cobra.Command {
	f := &duelPlanFlags{}
	cmd := &cobra.Command{
		Use:   "plan --arms K --gap G (--delta D [--epsilon E] | --horizon T)",
		Short: "Predict how many judgments a tournament takes, by each algorithm",
		Long: `Simulate many tournaments of arms with known preferences, and report how many
judgments they took: by each algorithm that suits the problem, with what it assumes and
guarantees, or in detail by the one that --algorithm names. A --horizon in addition to
--delta is the number of judgments that can be had; the report says how many tournaments
had no winner by then; without --epsilon and --horizon it is 1e8. Shapes of preferences:
  constant  every arm beats all worse ones with probability 1/2 + gap
  chain     the same, but its neighbour with 1/2 + gap times --gamma (except the best)
  logistic  by utilities drawn from N(0, 1) for each tournament; takes no --gap`,
		Example: `  thresher duel plan --arms 10 --gap .1 --delta .05
  thresher duel plan --arms 10 --gap .1 --epsilon .1 --delta .05 --algorithm knockout
  thresher duel plan --arms 100 --gap .1 --horizon 1e10`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("algorithm") {
				return a.planDuels(cmd, f)
			}
			return a.compareDuels(cmd, f)
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.arms, "arms", 0, "`number` of arms")
	cmd.Flags().Float64Var(&f.gap, "gap", 0, "probability above 1/2 with which a better arm wins, in (0, 1/2]")
	cmd.Flags().StringVar(&f.shape, "shape", "", "shape of the preferences (constant, chain, logistic); default: chain if --gamma is above 1, else constant")
	cmd.Flags().IntVar(&f.trials, "trials", 200, "tournaments to simulate")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout")
	cli.AddSettings(cmd, "seed", "threads")
	cmd.Flags().Lookup("seed").Usage = cli.SeedOfDraws
	return cmd
}

// model returns the preferences described by the flags.
func (f *duelPlanFlags) model() (duel.Model, error) {
	if f.arms < 2 || f.arms > duel.MaxArms {
		return nil, fmt.Errorf("--arms %d is not in [2, %d]", f.arms, duel.MaxArms)
	}
	if f.shape == "" {
		f.shape = "constant"
		if f.gamma > 1 {
			f.shape = "chain"
		}
	}
	if f.shape == "logistic" {
		if f.gap != 0 {
			return nil, fmt.Errorf("--gap %g: logistic preferences have none", f.gap)
		}
		return duel.RandomLogistic(f.arms), nil
	}
	if !(f.gap > 0 && f.gap <= .5) {
		return nil, fmt.Errorf("--gap %g is not in (0, 1/2]", f.gap)
	}
	switch f.shape {
	case "constant":
		return duel.Always(duel.Constant(f.arms, f.gap)), nil
	case "chain":
		if f.gap*f.gamma > .5 {
			return nil, fmt.Errorf("--gap %g times --gamma %g is above 1/2", f.gap, f.gamma)
		}
		return duel.Always(duel.Chain(f.arms, f.gap, f.gamma)), nil
	}
	return nil, fmt.Errorf("--shape %q is none of constant, chain, logistic", f.shape)
}

// maxPlanned is the number of judgments after which a simulated tournament without an
// epsilon or a horizon is stopped.
const maxPlanned = 1e8

// duelSimulation returns the simulation of the flags; done ends its progress bar.
func (a *app) duelSimulation(f *duelPlanFlags) (s *duel.Simulation, done func(), err error) {
	design, err := f.design()
	if err != nil {
		return nil, nil, fmt.Errorf("duel plan: %w", err)
	}
	model, err := f.model()
	if err != nil {
		return nil, nil, fmt.Errorf("duel plan: %w", err)
	}
	if design.Delta > 0 && design.Epsilon == 0 && design.Horizon == 0 {
		design.Horizon = maxPlanned // arms may be almost equal
	}
	bar := a.NewProgress("tournaments")
	s = &duel.Simulation{
		Design: design, Arms: f.arms, Model: model, Trials: f.trials, Seed: a.Config.Seed, Workers: a.Config.Threads,
		Progress: func(done, total int) { bar.Set(int64(done), int64(total)) },
	}
	return s, bar.Done, cli.NeedMemory(fmt.Sprintf("duel plan: --trials %d of --arms %d", f.trials, f.arms), s.Bytes())
}

// compareDuels prints what each algorithm takes.
func (a *app) compareDuels(cmd *cobra.Command, f *duelPlanFlags) error {
	s, done, err := a.duelSimulation(f)
	if done != nil {
		defer done()
	}
	if err != nil {
		return err
	}
	all, err := s.Compare(cmd.Context())
	if err != nil {
		return err
	}
	done()
	best := duel.Recommend(all)
	if f.json {
		out := struct {
			Recommended duel.Algorithm  `json:"recommended,omitempty"`
			Algorithms  []duel.Prospect `json:"algorithms"`
		}{Algorithms: all}
		if best >= 0 {
			out.Recommended = all[best].Algorithm
		}
		return json.NewEncoder(a.Out).Encode(out)
	}
	t := cli.NewTable(a.Out)
	t.Row("ALGORITHM", "JUDGMENTS", "95%", "RIGHT", "NO WINNER", "ASSUMES", "GUARANTEE")
	for _, p := range all {
		guarantee := "none"
		if p.Guarantee != nil {
			guarantee = sure(p.Guarantee)
		}
		if p.Forecast == nil {
			t.Row(p.Algorithm, "-", "-", "-", "-", p.Assumes, p.Unfit)
			continue
		}
		t.Row(p.Algorithm, fmt.Sprintf("%.0f", p.Forecast.Mean), p.Forecast.Within(.95), share(p.Forecast.Near, f.trials), share(p.Forecast.AtHorizon, f.trials), p.Assumes, guarantee)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	switch {
	case best < 0:
		return nil
	case all[best].Forecast.AtHorizon > f.trials/2:
		fmt.Fprintf(a.Out, "\nnone is recommended: even %s mostly reaches the horizon without a winner\n", all[best].Algorithm)
	default:
		fmt.Fprintf(a.Out, "\nrecommended  %s: the fewest judgments with a guarantee\n", all[best].Algorithm)
	}
	return nil
}

// share prints n of all as a percentage.
func share(n, all int) string { return fmt.Sprintf("%.3g%%", 100*float64(n)/float64(all)) }

// sure states a guarantee.
func sure(g *duel.Guarantee) string {
	if g.Epsilon == 0 {
		return fmt.Sprintf("the best arm, if one beats all others; wrong with probability at most %.3g", g.Failure)
	}
	return fmt.Sprintf("loses to the best arm with probability at most 1/2 + %g, wrong with probability at most %.3g", g.Epsilon, g.Failure)
}

// planDuels prints the forecast of one algorithm.
func (a *app) planDuels(cmd *cobra.Command, f *duelPlanFlags) error {
	s, done, err := a.duelSimulation(f)
	if done != nil {
		defer done()
	}
	if err != nil {
		return err
	}
	forecast, err := s.Forecast(cmd.Context())
	if err != nil {
		return err
	}
	done()
	if f.json {
		return json.NewEncoder(a.Out).Encode(forecast)
	}
	t := cli.NewTable(a.Out)
	t.Row("tournaments", forecast.Trials)
	for _, q := range forecast.Quantiles {
		t.Row(fmt.Sprintf("%g%% of them took", 100*q.Share), fmt.Sprintf("%d judgments or fewer", q.Duels))
	}
	t.Row("mean", fmt.Sprintf("%.0f", forecast.Mean))
	t.Row("found the best arm", forecast.Best)
	if f.epsilon > 0 {
		t.Row("found one within epsilon", forecast.Near)
	}
	if n := forecast.AtHorizon; n > 0 {
		t.Row("had no winner by the horizon", fmt.Sprintf("%d, counted with their leader", n))
	}
	return t.Flush()
}
