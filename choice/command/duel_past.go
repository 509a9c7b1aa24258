package command

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"thresher/choice/duel"
	"thresher/internal/cli"
)

type duelPastFlags struct {
	delta, epsilon float64
	json           bool
}

func newDuelPastCommand(a *app) *cobra.Command {
	f := &duelPastFlags{}
	cmd := &cobra.Command{
		Use:   "past FILE.csv",
		Short: "Say what past comparisons show: who leads, how surely, and who is beaten",
		Long: `Say what past comparisons show: who leads, how surely, and which arms are beaten. The
file is a .csv with a header, or a .jsonl of objects with the same names. A row is one
comparison:
  a       one arm; also arm_a, model_a, first, left
  b       the other; also arm_b, model_b, second, right
  winner  the winner's name, or a or b, or its column, or tie; also result, preferred
  judge   who judged, optional; also annotator, rater
Other columns are ignored. A row that cannot be read is an error, and nothing is said.

The statements hold with the failure probabilities that they have, for any pairs in any
order, if some arm is unbeaten and judgments are independent; IF the pairs, and the end,
were chosen without knowledge of later results, and no row was left out or chosen for
its result. They say nothing if rows were selected afterwards, if the same judgment is
there twice, or if one of two places was always that of the same arm and judges lean to
it.

A run of duel run cannot start from such a file: its capitals begin at 1, and carrying
them over is not built. Use what this command says, or ask anew.`,
		Example: `  thresher duel past votes.csv
  thresher duel past votes.jsonl --delta .01 --epsilon .05 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("duel past: %d files named, not one: duel past FILE.csv", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.describePast(args[0], f); err != nil {
				return fmt.Errorf("duel past: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().Float64Var(&f.delta, "delta", .05, "`probability` of excluding an unbeaten arm")
	cmd.Flags().Float64Var(&f.epsilon, "epsilon", 0, "the leader may lose against the best with `probability` 1/2 + epsilon")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout")
	return cmd
}

// pastOutput is the output of --json.
type pastOutput struct {
	Delta float64        `json:"delta"`
	Names []string       `json:"names"` // of arms, which are numbers elsewhere
	Kept  []string       `json:"kept"`  // not beaten at delta
	State duel.PastState `json:"state"`
}

func (a *app) describePast(path string, f *duelPastFlags) error {
	if !(f.epsilon >= 0 && f.epsilon < .5) {
		return fmt.Errorf("--epsilon %g is not in [0, 1/2)", f.epsilon)
	}
	if !(f.delta > 0 && f.delta < 1) {
		return fmt.Errorf("--delta %g is not in (0, 1)", f.delta)
	}
	file, err := readPast(path)
	if err != nil {
		return err
	}
	past, err := duel.NewPast(len(file.names), f.epsilon)
	if err != nil {
		return err
	}
	for _, row := range file.rows {
		if err := past.Add(row.a, row.b, row.better, row.judge); err != nil {
			return err
		}
	}
	s := past.State()
	out := pastOutput{Delta: f.delta, Names: file.names, Kept: []string{}, State: s}
	for _, x := range s.Arms {
		if x.Beaten > f.delta {
			out.Kept = append(out.Kept, file.names[x.Arm])
		}
	}
	if f.json {
		return json.NewEncoder(a.Out).Encode(out)
	}
	return a.printPast(&out)
}

func (a *app) printPast(o *pastOutput) error {
	s := &o.State
	w := cli.NewTable(a.Out)
	w.Row("leader", o.Names[s.Leader])
	w.Row("comparisons", fmt.Sprintf("%d, of which %d are ties", s.Comparisons, s.Ties))
	switch g := s.Guarantee; {
	case len(o.Kept) == 0:
		w.Row("so far", fmt.Sprintf("every arm is beaten by another, except with probability %g: no arm is best", o.Delta))
	case g == nil:
		w.Row("so far", "nothing is sure of the leader")
	default:
		w.Row("so far", sure(g))
	}
	if g := s.Guarantee; len(o.Kept) > 0 && (g == nil || g.Failure > o.Delta) {
		w.Row("missing", fmt.Sprintf("losses of %s, most of all to %s", o.Names[s.Rival], o.Names[s.Leader]))
	}
	if s.Unmet > 0 {
		w.Row("never met", fmt.Sprintf("%d pairs", s.Unmet))
	}
	w.Row("holds if", "pairs and the end were chosen without knowledge of later results, and no row for its result")
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Out)
	w = cli.NewTable(a.Out)
	w.Row("ARM", "WINS", "LOSSES", "TIES", "MET", "BEATEN BY SOME ARM, EXCEPT WITH PROBABILITY")
	for _, x := range s.Arms {
		beaten := "-"
		if x.Beaten <= o.Delta {
			beaten = fmt.Sprintf("%.2g", x.Beaten)
		}
		w.Row(o.Names[x.Arm], x.Wins, x.Losses, x.Ties, x.Against, beaten)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return a.listJudges(o.Names, s.Judges)
}
