package command

import (
	"context"
	"errors"
	"fmt"

	"thresher/choice/duel"
	"thresher/internal/cli"
)

// panel knows the preferences between arms, so that no person is asked.
type panel interface {
	// arms returns the arms of a tournament without --arms.
	arms() ([]string, error)
	// jury returns the jury for a tournament's arms. Unknown arms are an error.
	jury(c duel.Config) (jury, error)
}

// jury decides duels deterministically: the same duel always has the same result.
type jury interface {
	judge(d duel.Duel) duel.Result
	// describe prints the true preferences next to the tournament's result.
	describe(w *cli.Table, winner int)
}

// judgeByJury plays the tournament to its end. Judgments lost by a kill are repeated with
// the same results, so the state is saved only every so often.
func (a *app) judgeByJury(ctx context.Context, t *tournament, j jury, batch int) error {
	const between = 1 << 14 // duels between two saves
	t.quiet = true          // a log between saves would be longer than a snapshot
	unsaved := 0
	for {
		duels, err := t.NextFor("", batch)
		if errors.Is(err, duel.ErrEnded) {
			break
		}
		if ctx.Err() != nil {
			return a.stoppedTournament(t, ctx.Err())
		}
		if err != nil {
			return errors.Join(err, t.save())
		}
		ask, err := t.toss(duels)
		if err != nil {
			return err
		}
		for _, d := range ask {
			if _, err := t.Report(j.judge(d)); err != nil && !errors.Is(err, duel.ErrWithdrawn) {
				return err
			}
		}
		if unsaved += len(duels); unsaved >= between {
			unsaved = 0
			if err := t.save(); err != nil {
				return err
			}
		}
	}
	if err := t.save(); err != nil {
		return err
	}
	if err := a.describeTournament(t); err != nil || t.json {
		return err
	}
	fmt.Fprintln(a.Out)
	w := cli.NewTable(a.Out)
	j.describe(w, t.State().Leader)
	return w.Flush()
}
