package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"thresher/duel"
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
		Use:   "plan --arms K --gap G (--horizon T | --epsilon E --delta D)",
		Short: "Predict how many judgments a tournament takes",
		Long: `Simulate many tournaments of arms with known preferences, and report how many
judgments they took. Shapes of preferences:
  constant  every arm beats all worse ones with probability 1/2 + gap
  chain     the same, but its neighbour with 1/2 + gap times --gamma (except the best)
  logistic  by utilities drawn from N(0, 1) for each tournament; takes no --gap`,
		Example: `  thresher duel plan --arms 10 --gap .1 --epsilon .1 --delta .05
  thresher duel plan --arms 100 --gap .1 --horizon 1e10`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.planDuels(cmd, f) },
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.arms, "arms", 0, "`number` of arms")
	cmd.Flags().Float64Var(&f.gap, "gap", 0, "probability above 1/2 with which a better arm wins, in (0, 1/2]")
	cmd.Flags().StringVar(&f.shape, "shape", "", "shape of the preferences (constant, chain, logistic); default: chain if --gamma is above 1, else constant")
	cmd.Flags().IntVar(&f.trials, "trials", 200, "tournaments to simulate")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout")
	addSettings(cmd, "seed", "threads")
	cmd.Flags().Lookup("seed").Usage = seedOfDraws
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

func (a *app) planDuels(cmd *cobra.Command, f *duelPlanFlags) error {
	design, err := f.design()
	if err != nil {
		return fmt.Errorf("duel plan: %w", err)
	}
	model, err := f.model()
	if err != nil {
		return fmt.Errorf("duel plan: %w", err)
	}
	bar := a.newProgress("tournaments")
	defer bar.done()
	s := &duel.Simulation{
		Design: design, Arms: f.arms, Model: model, Trials: f.trials, Seed: a.config.Seed, Workers: a.config.Threads,
		Progress: func(done, total int) { bar.set(int64(done), int64(total)) },
	}
	if err := needMemory(fmt.Sprintf("duel plan: --trials %d of --arms %d", f.trials, f.arms), s.Bytes()); err != nil {
		return err
	}
	forecast, err := s.Forecast(cmd.Context())
	if err != nil {
		return err
	}
	bar.done()
	if f.json {
		return json.NewEncoder(a.out).Encode(forecast)
	}
	t := newTable(a.out)
	t.row("tournaments", forecast.Trials)
	for _, q := range forecast.Quantiles {
		t.row(fmt.Sprintf("%g%% of them took", 100*q.Share), fmt.Sprintf("%d judgments or fewer", q.Duels))
	}
	t.row("mean", fmt.Sprintf("%.0f", forecast.Mean))
	t.row("found the best arm", forecast.Best)
	if f.epsilon > 0 {
		t.row("found one within epsilon", forecast.Near)
	}
	if n := forecast.AtHorizon; n > 0 {
		t.row("had no winner by --horizon", fmt.Sprintf("%d, counted with their leader", n))
	}
	return t.flush()
}
