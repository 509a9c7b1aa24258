package command

import (
	"fmt"

	"thresher/choice/duel"
	"thresher/internal/cli"
)

// listJudges prints the records of judges who gave a name, and what they disagree on; j may
// be nil.
func (a *app) listJudges(names []string, j *duel.Judges) error {
	if j == nil {
		return nil
	}
	fmt.Fprintln(a.Out)
	w := cli.NewTable(a.Out)
	w.Row("JUDGE", "JUDGMENTS", "TIES", "AGREES WITH OTHERS", "LEAN TO THE FIRST")
	for _, x := range j.Judges {
		agrees, lean := "-", "-"
		if g := x.Agreement; g != nil {
			agrees = fmt.Sprintf("%.2f in [%.2f, %.2f], of %d", g.Rate, g.Low, g.High, g.Compared)
		}
		if x.Lean != nil {
			lean = fmt.Sprintf("%+.2f in [%+.2f, %+.2f]", x.Lean.Estimate, x.Lean.Low, x.Lean.High)
		}
		w.Row(x.Judge, x.Judgments, x.Ties, agrees, lean)
	}
	if j.Unlisted > 0 {
		w.Row("others", j.Unlisted)
	}
	if err := w.Flush(); err != nil || len(j.Disputed) == 0 {
		return err
	}
	fmt.Fprintln(a.Out)
	w = cli.NewTable(a.Out)
	w.Row("MOST DISPUTED", "BETTER", "TIES", "BETTER", "", "JUDGES")
	for _, d := range j.Disputed {
		w.Row(names[d.A], d.AWins, d.Ties, d.BWins, names[d.B], d.Judges)
	}
	return w.Flush()
}
