package main

import (
	"context"
	"errors"
	"fmt"

	"thresher/duel"
)

// panel is known of arms beforehand, so that nobody needs to be asked.
type panel interface {
	// arms are those of a tournament for which --arms names none.
	arms() ([]string, error)
	// jury judges the duels of a tournament. It refuses arms that the panel does not
	// know.
	jury(c duel.Config) (jury, error)
}

// jury judges duels, the same one always alike.
type jury interface {
	judge(d duel.Duel) duel.Result
	// describe adds what is known of the arms to what a tournament found.
	describe(w *table, winner int)
}

// judgeByJury plays the tournament to its end. What is lost by a kill is judged alike
// again, so that the state is saved now and then only.
func (a *app) judgeByJury(ctx context.Context, t *tournament, j jury, batch int) error {
	const between = 1 << 14 // duels between two saves
	t.quiet = true          // what happens between two saves is longer than a state
	unsaved := 0
	for {
		duels, err := t.Next(batch)
		if errors.Is(err, duel.ErrEnded) {
			break
		}
		if err == nil {
			err = ctx.Err()
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
	if err := a.describeTournament(t); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	w := newTable(a.out)
	j.describe(w, t.State().Leader)
	return w.flush()
}
