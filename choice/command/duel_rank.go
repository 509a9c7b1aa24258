package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"thresher/choice/duel"
	"thresher/internal/cli"
)

func newDuelRankCommand(a *app) *cobra.Command {
	f := &duelRunFlags{}
	copeland := false
	cmd := &cobra.Command{
		Use:   "rank --arms FILE --delta D [--epsilon E] [--top K | --copeland]",
		Short: "Order all alternatives, or find the top ones, by judgments of two",
		Long: `Ask for judgments, as duel run does, until all arms are in order or the top ones are
known. It is assumed that there is an order in which no arm is beaten by a later one.
Then, except with probability --delta, no arm is beaten by one that is placed after it
or, with --epsilon, with a probability of at most 1/2 + epsilon; with --top K that holds
between the first K, in no order among them, and the others. Arms that are equal, or
nearly, need an --epsilon or a --horizon. You may stop at any time: the places shown are
those that each arm may have, all of them right except with probability --delta.

With --copeland nothing is assumed. It finds the arms that beat the most others (the
Copeland winners), and says when every arm is beaten by another, so that none is best.

The same command continues where the last one stopped. duel report shows who beats whom.`,
		Example: `  thresher duel rank --arms rankers.txt --delta .05 --epsilon .1
  thresher duel rank --matrix wins.csv --delta .05 --top 3
  thresher duel rank --matrix circle.csv --delta .05 --copeland`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.algorithm = string(duel.Rank)
			if copeland {
				f.algorithm = string(duel.Copeland)
			}
			if copeland && cmd.Flags().Changed("top") {
				return errors.New("duel rank: --top and --copeland exclude each other: the first arms of an order, or scores without one")
			}
			if f.horizon != 0 && f.delta == 0 {
				return fmt.Errorf("duel rank: --horizon %g without --delta: here it is the most duels", f.horizon)
			}
			f.only = []duel.Algorithm{duel.Rank, duel.Copeland}
			if cmd.Flags().Changed("copeland") || f.top != 0 {
				f.only = []duel.Algorithm{duel.Algorithm(f.algorithm)}
			}
			return a.runDuels(cmd, f)
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&f.top, "top", 0, "find this `number` of best arms, in no order; 0 = order all")
	fs.BoolVar(&copeland, "copeland", false, "find the arms that beat the most others, without assuming an order")
	fs.Float64Var(&f.horizon, "horizon", 0, "the most `duels`")
	fs.Float64Var(&f.epsilon, "epsilon", 0, "arms that beat each other with `probability` 1/2 + epsilon at most may be in either order")
	fs.Float64Var(&f.delta, "delta", 0, "`probability` that anything stated is wrong")
	fs.StringVar(&f.testing, "testing", string(duel.Strict), "choose pairs after every judgment (strict), or hand out a sweep of duels and choose at its end (sweep)")
	if err := cmd.RegisterFlagCompletionFunc("testing", cobra.FixedCompletions([]string{string(duel.Strict), string(duel.Sweep)}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // a flag that does not exist
	}
	f.gamma = 1
	f.addSources(cmd)
	return cmd
}

// describePairs prints what a tournament by duel rank knows.
func (a *app) describePairs(t *tournament, s *duel.State) error {
	w := cli.NewTable(a.Out)
	switch {
	case s.Done && s.End != duel.HorizonReached:
		w.Row("ended", s.End)
	case s.Done:
		w.Row("ended", fmt.Sprintf("%s; what follows is known, the rest is a guess", s.End))
	default:
		w.Row("so far", "what follows is known, the rest is a guess")
	}
	w.Row("duels", s.Duels)
	epsilon := t.Config().Epsilon
	if r := s.Ranking; r != nil {
		w.Row("guarantee", rankPromise(r, s, epsilon))
		w.Row("holds if", "there is an order in which no arm is beaten by a later one")
		w.Row("known", fmt.Sprintf("%d of %d pairs", r.Safe, r.Pairs))
		if s.End == duel.Ranked {
			what, names := t.orderFound(r)
			w.Row(what, names)
		}
	} else {
		a.describeScores(w, t, s.Copeland, epsilon)
	}
	if !s.Done {
		w.Row("kept in", t.file.path)
	}
	if s.Lean != nil && !t.quiet { // a jury's is known
		w.Row("lean", leaning(s.Lean))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Out)
	return a.describeArms(t, s)
}

// orderFound is the row of the arms that a ranking was to find, in their order. With an epsilon the places
// of arms that may be in either order overlap.
func (t *tournament) orderFound(r *duel.Ranking) (what, names string) {
	const shown = 10
	var list []string
	for _, p := range r.Places[:r.Top] {
		list = append(list, t.names[p.Arm])
	}
	if more := len(list) - shown; more > 0 {
		list = append(list[:shown], fmt.Sprintf("and %d more below", more))
	}
	if what = "in order"; r.Top < len(r.Places) {
		what = fmt.Sprintf("first %d", r.Top)
	}
	return what, strings.Join(list, ", ")
}

// rankPromise states what holds of a ranking.
func rankPromise(r *duel.Ranking, s *duel.State, epsilon float64) string {
	risk := fmt.Sprintf("wrong with probability at most %.3g", r.Failure)
	beaten := "no arm is beaten by"
	if epsilon > 0 {
		beaten = fmt.Sprintf("no arm loses with a probability above 1/2 + %g against", epsilon)
	}
	switch {
	case s.End != duel.Ranked:
		return "each arm has one of the places shown, " + risk
	case r.Top < len(r.Places):
		return fmt.Sprintf("of the first %d %s one that is not among them, %s", r.Top, beaten, risk)
	}
	return fmt.Sprintf("%s a later one, %s", beaten, risk)
}

// describeScores prints the Copeland winners and whether there is a best arm.
func (a *app) describeScores(w *cli.Table, t *tournament, c *duel.Scores, epsilon float64) {
	var names []string
	for _, arm := range c.Winners {
		names = append(names, t.names[arm])
	}
	what := "winners may be"
	if c.Known {
		what = "beat the most"
	}
	w.Row(what, strings.Join(names, ", "))
	risk := fmt.Sprintf(", wrong with probability at most %.3g", c.Failure)
	if epsilon > 0 {
		risk = fmt.Sprintf(", if pairs within %g of 1/2 that are even count so%s", epsilon, risk)
	}
	w.Row("guarantee", "the scores are as shown"+risk)
	switch {
	case c.Circle:
		w.Row("no best arm", fmt.Sprintf("every arm is beaten by another, wrong with probability at most %.3g", c.Failure))
	case c.Condorcet >= 0:
		w.Row("best arm", t.names[c.Condorcet]+" beats all others")
	}
}

// describeArms prints the arms with their places or scores.
func (a *app) describeArms(t *tournament, s *duel.State) error {
	between := func(low, high float64) string {
		if low == high {
			return fmt.Sprint(low)
		}
		return fmt.Sprintf("%g-%g", low, high)
	}
	var strengths *duel.Strengths
	if s.Duels > 0 {
		var err error
		if strengths, err = duel.BradleyTerry(t.Wins()); err != nil {
			return err
		}
	}
	w := cli.NewTable(a.Out)
	line := func(arm int, known string) {
		x, strength := s.Standings[arm], ""
		if strengths != nil {
			strength = interval95(strengths.Arms[arm])
		}
		w.Row(t.names[arm], known, x.Wins, x.Duels, fmt.Sprintf("%.3f", x.Rate), strength)
	}
	if r := s.Ranking; r != nil {
		w.Row("ARM", "PLACE", "WINS", "DUELS", "RATE", "STRENGTH, 95%")
		for i, p := range r.Places {
			if i == r.Top {
				w.Row("")
			}
			line(p.Arm, between(float64(p.First), float64(p.Last)))
		}
		return errors.Join(w.Flush(), a.noteSeparated(strengths))
	}
	w.Row("ARM", "BEATS", "WINS", "DUELS", "RATE", "STRENGTH, 95%")
	for _, x := range s.Copeland.Arms {
		line(x.Arm, between(x.Low, x.High))
	}
	return errors.Join(w.Flush(), a.noteSeparated(strengths))
}

// noteSeparated says where strengths come from that no counts determine.
func (a *app) noteSeparated(s *duel.Strengths) error {
	if s == nil || !s.Separated {
		return nil
	}
	_, err := fmt.Fprint(a.Out, `
strengths: some arms never lost against, or never met, some others, so that the likeliest
are infinite; every arm was given half a win and half a loss against one of strength 0
`)
	return err
}

func interval95(x duel.Strength) string {
	return fmt.Sprintf("%+.2f [%+.2f, %+.2f]", x.Estimate, x.Low, x.High)
}

// checkOnly refuses to continue tournaments of other algorithms than the command's.
func (f *duelRunFlags) checkOnly(c duel.Config) error {
	for _, a := range f.only {
		if c.Algorithm == a {
			return nil
		}
	}
	if len(f.only) == 0 {
		return nil
	}
	if c.Algorithm == duel.Rank || c.Algorithm == duel.Copeland {
		return fmt.Errorf("is a tournament by %s, not by %s", c.Algorithm, f.only[0])
	}
	return errors.New("is a tournament by " + string(c.Algorithm) + ", which duel run continues")
}
