package command

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"thresher/choice/command/internal/ratings"
	"thresher/choice/duel"
	"thresher/internal/cli"
)

// audience is the panel of the people in --ratings.
type audience struct {
	*ratings.Ratings
	most int
}

func readAudience(folder string, most int) (panel, error) {
	all, err := ratings.Read(folder)
	if err != nil {
		return nil, fmt.Errorf("--ratings: %w", err)
	}
	return audience{all, most}, nil
}

func (r audience) arms() ([]string, error) {
	if r.most == 0 {
		return nil, errors.New("--arms: no file named; --most takes the most rated films")
	}
	if r.most > duel.MaxArms {
		return nil, fmt.Errorf("--most %d: a tournament has at most %d arms", r.most, duel.MaxArms)
	}
	arms, err := r.Most(r.most)
	if err != nil {
		return nil, fmt.Errorf("--most: %w", err)
	}
	return arms, nil
}

func (r audience) jury(c duel.Config) (jury, error) {
	j, err := newCrowd(r.Ratings, c)
	if err != nil {
		return nil, fmt.Errorf("--ratings: %w", err)
	}
	return j, nil
}

// crowd decides duels by ratings: each by a person who rated both arms differently, drawn
// from the seed and the number of the duel.
type crowd struct {
	*ratings.Comparison
	names []string
	seed  uint64
}

func newCrowd(r *ratings.Ratings, c duel.Config) (*crowd, error) {
	all, err := r.Compare(c.Arms)
	if err != nil {
		return nil, err
	}
	return &crowd{all, c.Arms, c.Seed}, nil
}

func (c *crowd) judge(d duel.Duel) duel.Result {
	asked := rand.New(rand.NewPCG(c.seed, d.ID)).IntN(c.Judges(d.A, d.B))
	return duel.Result{Duel: d.ID, AWon: asked < c.Prefer(d.A, d.B)}
}

// describe prints the number of judges and the majority preferences.
func (c *crowd) describe(w *cli.Table, _ int) {
	least, most, ties, all := c.Judges(0, 1), 0, 0, 0
	for i := range c.names {
		for j := range i {
			n := c.Judges(i, j)
			least, most = min(least, n), max(most, n)
			ties += c.Ties(i, j)
			all += n + c.Ties(i, j)
		}
	}
	w.Row("judges of a pair", fmt.Sprintf("%d to %d, of which each duel asks one", least, most))
	w.Row("left out", fmt.Sprintf("%.0f%%, who rated both alike", 100*float64(ties)/float64(all)))
	best, rival := c.Best()
	if best < 0 {
		w.Row("all judges", "no arm wins against every other")
		return
	}
	w.Row("all judges", fmt.Sprintf("%s wins against every other, with %.1f%% or more; closest is %s",
		c.names[best], 100*float64(c.Prefer(best, rival))/float64(c.Judges(best, rival)), c.names[rival]))
}
