package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"thresher/bandit/duel"
	"thresher/cmd/thresher/internal/ratings"
)

// crowd judges by ratings: each duel goes to one of those who rated both arms, and
// differently, drawn anew by the seed and the number of the duel.
type crowd struct {
	*ratings.Comparison
	seed uint64
}

func newCrowd(r *ratings.Ratings, c duel.Config) (*crowd, error) {
	all, err := r.Compare(c.Arms)
	if err != nil {
		return nil, err
	}
	return &crowd{all, c.Seed}, nil
}

func (c *crowd) judge(d duel.Duel) duel.Result {
	asked := rand.New(rand.NewPCG(c.seed, d.ID)).IntN(c.Judges(d.A, d.B))
	return duel.Result{Duel: d.ID, AWon: asked < c.Prefer(d.A, d.B)}
}

// judgeByRatings plays the tournament to its end. What is lost by a kill is judged
// alike again, so that the state is saved now and then only.
func (a *app) judgeByRatings(ctx context.Context, t *tournament, c *crowd, batch int) error {
	const between = 1 << 14 // duels between two saves
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
			if _, err := t.Report(c.judge(d)); err != nil && !errors.Is(err, duel.ErrWithdrawn) {
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
	return a.describeCrowd(t, c)
}

// describeCrowd says how many judges there are, and what all of them together say.
func (a *app) describeCrowd(t *tournament, c *crowd) error {
	least, most, ties, all := c.Judges(0, 1), 0, 0, 0
	for i := range t.names {
		for j := range i {
			n := c.Judges(i, j)
			least, most = min(least, n), max(most, n)
			ties += c.Ties(i, j)
			all += n + c.Ties(i, j)
		}
	}
	fmt.Fprintln(a.out)
	w := newTable(a.out)
	w.row("judges of a pair", fmt.Sprintf("%d to %d, of which each duel asks one", least, most))
	w.row("left out", fmt.Sprintf("%.0f%%, who rated both alike", 100*float64(ties)/float64(all)))
	best, rival := c.Best()
	if best < 0 {
		w.row("all judges", "no arm wins against every other")
		return w.flush()
	}
	w.row("all judges", fmt.Sprintf("%s wins against every other, with %.1f%% or more; closest is %s",
		t.names[best], 100*float64(c.Prefer(best, rival))/float64(c.Judges(best, rival)), t.names[rival]))
	return w.flush()
}
