package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"thresher/choice/duel"
	"thresher/internal/cli"
)

func newDuelCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "duel",
		Short: "Find the best of several alternatives by comparing two at a time",
		Long: `Find the best of several alternatives (rankers, settings, texts) when judges can only
say which of two is better: run asks for judgments until there is a winner, rank until
they are in order, report shows who beats whom, past says what past judgments show, plan
predicts how many it takes, simulate reproduces the figures of the paper (Beat the
Mean Bandit, ICML 2011). choice/docs/duels.md states the guarantees and their assumptions.`,
		Args: cli.NoSuchVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDuelRunCommand(a), newDuelRankCommand(a), newDuelPastCommand(a), newDuelReportCommand(a), newDuelPlanCommand(a), newDuelSimulateCommand(a))
	return cmd
}

// designFlags are the flags of a duel.Design.
type designFlags struct {
	algorithm, radius, testing string
	horizon                    float64 // accepts 1e6
	epsilon, delta, gamma      float64
	top                        int
}

func (f *designFlags) add(cmd *cobra.Command) {
	var algorithms []string
	for _, name := range duel.Algorithms() {
		algorithms = append(algorithms, string(name))
	}
	fs := cmd.Flags()
	fs.StringVar(&f.algorithm, "algorithm", string(duel.Anytime), "rule that draws duels and eliminates arms ("+strings.Join(algorithms, ", ")+")")
	fs.Float64Var(&f.horizon, "horizon", 0, "number of `duels` over which regret is kept low, including those after the winner is known; with --delta and anytime: the most duels")
	fs.Float64Var(&f.epsilon, "epsilon", 0, "with --delta: the winner may lose against the best with `probability` 1/2 + epsilon; only anytime can do without")
	fs.Float64Var(&f.delta, "delta", 0, "instead of --horizon: `probability` of a worse winner")
	fs.Float64Var(&f.gamma, "gamma", 1, "how far preferences may break transitivity; 1 = not at all (anytime needs no transitivity)")
	fs.StringVar(&f.radius, "radius", "", "confidence radius (tight, wide); default: tight where it is proven")
	fs.StringVar(&f.testing, "testing", string(duel.Strict), "test after every judgment (strict), or hand out a sweep of duels and test at its end (sweep)")
	for flag, values := range map[string][]string{
		"algorithm": algorithms, "radius": {string(duel.Tight), string(duel.Wide)}, "testing": {string(duel.Strict), string(duel.Sweep)},
	} {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // a flag that does not exist
		}
	}
}

// design checks what package duel cannot check, which validates the rest.
func (f *designFlags) design() (duel.Design, error) {
	horizon := int64(f.horizon)
	switch {
	case f.horizon > 1<<53:
		return duel.Design{}, fmt.Errorf("--horizon %g is above 2^53", f.horizon)
	case float64(horizon) != f.horizon:
		return duel.Design{}, fmt.Errorf("--horizon %g is not a whole number", f.horizon)
	case horizon == 0 && f.epsilon == 0 && f.delta == 0:
		return duel.Design{}, errors.New("--delta (with or without --epsilon), or --horizon, is required")
	case f.delta == 0 && f.epsilon != 0:
		return duel.Design{}, fmt.Errorf("--epsilon %g without --delta: give both, epsilon in (0, 1/2) and delta in (0, 1)", f.epsilon)
	case f.gamma == 0: // 0 is a default in a Design
		return duel.Design{}, errors.New("--gamma 0 is not in [1, 1e6]")
	}
	return duel.Design{
		Algorithm: duel.Algorithm(f.algorithm), Horizon: horizon, Epsilon: f.epsilon, Delta: f.delta, Top: f.top,
		Gamma: f.gamma, Radius: duel.Radius(f.radius), Testing: duel.Testing(f.testing),
	}, nil
}
