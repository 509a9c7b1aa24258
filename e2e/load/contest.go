//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
)

// contest is a writer of tournaments: it creates one, judges it to the end, and starts the
// next. A keyed one requests duels with idempotency keys and tests after every duel, so its
// course depends on every call. Others leave duels of lost answers to their leases, and test
// after sweeps.
type contest struct {
	name  string
	keyed bool
	r     *rand.Rand
	now   *match
	ended []*match // the last ones, to be replayed; the first is to be deleted if there are more than maxEnded
	gone  *match   // the last one whose deletion was acknowledged
	made  int
	count map[string]int
}

// match is one tournament.
type match struct {
	name         string // also its idempotency key
	seed         uint64
	id           string
	steps        int          // answered requests for duels
	acknowledged []duelResult // acknowledged
	pending      []duelResult // not acknowledged yet
	leaving      bool         // its deletion was requested
	left         bool         // it was deleted
}

type duelResult struct {
	ID   uint64 `json:"duel_id"`
	AWon bool   `json:"a_won"`
}

// maxEnded is how many tournaments are replayed at the end.
const maxEnded = 3

func newContest(name string, keyed bool, seed uint64) *contest {
	return &contest{name: name, keyed: keyed, r: rand.New(rand.NewPCG(seed, 6)), count: map[string]int{}}
}

func (c *contest) prepare(context.Context, *api) error { return nil }

// spec returns the settings of a match.
func (c *contest) spec(m *match) map[string]any {
	spec := map[string]any{"arms": []string{"0", "1", "2", "3"}, "mode": "online", "horizon": 2000, "seed": m.seed, "lease_seconds": 86400}
	if !c.keyed {
		spec["testing"], spec["lease_seconds"] = "sweep", .02
	}
	return spec
}

func (m *match) path() string { return "/v1/tournaments/" + m.id }

// createTournament creates the tournament of m.
func (c *contest) createTournament(ctx context.Context, a *api, m *match) error {
	got, err := a.call(ctx, "POST", "/v1/tournaments", jsonBody(c.spec(m), m.name))
	if err != nil {
		return err
	}
	var made struct{ ID string }
	if err := got.into(&made, 201); err != nil {
		return fmt.Errorf("tournament %s: %w", m.name, err)
	}
	m.id = made.ID
	return nil
}

// ask requests duels and decides them; ended says that there are no more.
func (c *contest) ask(ctx context.Context, a *api, m *match) (ended bool, err error) {
	key := ""
	if c.keyed {
		key = fmt.Sprint("step ", m.steps)
	}
	got, err := a.call(ctx, "POST", m.path()+"/next", jsonBody(map[string]int{"count": 1 + m.steps%4}, key))
	if err != nil {
		return false, err
	}
	if got.problem().Type == "/problems/tournament-ended" {
		return true, nil
	}
	var issued struct {
		Duels []struct {
			ID   uint64 `json:"duel_id"`
			A, B string
		}
	}
	if err := got.into(&issued, 200); err != nil {
		return false, fmt.Errorf("tournament %s, step %d: %w", m.name, m.steps, err)
	}
	for _, d := range issued.Duels {
		if d.A == d.B {
			return false, fmt.Errorf("tournament %s: duel %d is of %s against itself", m.name, d.ID, d.A)
		}
		upset := d.ID*2654435761>>9%8 == 0 // a function of the duel alone
		m.pending = append(m.pending, duelResult{d.ID, (d.A < d.B) != upset})
	}
	m.steps++
	return false, nil
}

// report sends the results; some duels may have been withdrawn meanwhile.
func (m *match) report(ctx context.Context, a *api) error {
	got, err := a.call(ctx, "POST", m.path()+"/report?lenient", jsonBody(m.pending, ""))
	if err != nil {
		return err
	}
	if err := got.into(nil, 200); err != nil {
		return fmt.Errorf("tournament %s: %w", m.name, err)
	}
	m.acknowledged = append(m.acknowledged, m.pending...)
	m.pending = nil
	return nil
}

// advance makes one request for a match.
func (c *contest) advance(ctx context.Context, a *api, m *match) (ended bool, err error) {
	switch {
	case m.id == "":
		return false, c.createTournament(ctx, a, m)
	case len(m.pending) > 0:
		c.count["results reported"] += len(m.pending)
		return false, m.report(ctx, a)
	}
	return c.ask(ctx, a, m)
}

func (c *contest) step(ctx context.Context, a *api) error {
	if c.crowded() {
		return c.dismiss(ctx, a)
	}
	if c.now == nil {
		c.made++
		c.now = &match{name: fmt.Sprint(c.name, " ", c.made), seed: c.r.Uint64() >> 12}
	}
	ended, err := c.advance(ctx, a, c.now)
	if err != nil || !ended {
		return err
	}
	c.count["tournaments played"]++
	c.ended, c.now = append(c.ended, c.now), nil
	return nil
}

// crowded reports whether the first match that has ended is to be deleted.
func (c *contest) crowded() bool { return len(c.ended) > maxEnded }

// dismiss deletes the first match that has ended.
func (c *contest) dismiss(ctx context.Context, a *api) error {
	m := c.ended[0]
	if err := m.remove(ctx, a); err != nil {
		return err
	}
	c.count["tournaments deleted"]++
	c.ended, c.gone, m.left = c.ended[1:], m, true
	return nil
}

// remove deletes the tournament, which must be there unless an earlier attempt may have succeeded.
func (m *match) remove(ctx context.Context, a *api) error {
	statuses := []int{200}
	if m.left {
		statuses = []int{404}
	} else if m.leaving {
		statuses = []int{200, 404}
	}
	m.leaving = true
	got, err := a.call(ctx, "DELETE", m.path(), nil)
	if err != nil {
		return err
	}
	if err := got.into(nil, statuses...); err != nil {
		return fmt.Errorf("deletion of tournament %s: %w", m.name, err)
	}
	return nil
}

// matches returns the matches on the server.
func (c *contest) matches() []*match {
	if c.now == nil || c.now.id == "" {
		return c.ended
	}
	return append(c.ended[:len(c.ended):len(c.ended)], c.now)
}

// check reports acknowledged results again, and their opposites: none may be new to the
// server. A match whose deletion was requested may have left, and one that has left stays away.
func (c *contest) check(ctx context.Context, a *api) error {
	if c.gone != nil {
		if _, err := c.absent(ctx, a, c.gone); err != nil {
			return err
		}
	}
	for _, m := range c.matches() {
		if m.leaving {
			if absent, err := c.absent(ctx, a, m); err != nil {
				return err
			} else if absent {
				continue
			}
		}
		for range min(3, len(m.acknowledged)) {
			r := m.acknowledged[c.r.IntN(len(m.acknowledged))]
			if err := m.known(ctx, a, r); err != nil {
				return fmt.Errorf("tournament %s, duel %d, acknowledged as %t: %w", m.name, r.ID, r.AWon, err)
			}
		}
	}
	return nil
}

// absent reports whether a match whose deletion was requested has left, and fails if it is back.
func (c *contest) absent(ctx context.Context, a *api, m *match) (bool, error) {
	got, err := a.call(ctx, "GET", m.path(), nil)
	if err != nil {
		return false, err
	}
	if err := got.into(nil, 200, 404); err != nil {
		return false, fmt.Errorf("tournament %s: %w", m.name, err)
	}
	switch there := got.status == 200; {
	case there && m.left:
		return false, fmt.Errorf("tournament %s, %s, was deleted and is there", m.name, m.id)
	case there:
		return false, nil
	case !m.left:
		c.count["tournaments deleted without an answer"]++
	}
	m.left = true
	return true, nil
}

// known fails if a result is new to the server.
func (m *match) known(ctx context.Context, a *api, r duelResult) error {
	for _, won := range []bool{r.AWon, !r.AWon} {
		got, err := a.call(ctx, "POST", m.path()+"/report?lenient", jsonBody([]duelResult{{r.ID, won}}, ""))
		if err != nil {
			return err
		}
		var answer struct {
			Receipts []struct{ Status string }
		}
		if err := got.into(&answer, 200); err != nil {
			return err
		}
		status := answer.Receipts[0].Status
		if status == "accepted" || status == "conflicting" == (won == r.AWon) && status != "void" {
			return fmt.Errorf("a report of a_won = %t was answered %s", won, status)
		}
	}
	return nil
}

// finish plays the current match to its end and replays all remaining ones undisturbed: both
// must end alike.
func (c *contest) finish(ctx context.Context, a *api) error {
	for c.now != nil || c.crowded() {
		if err := c.step(ctx, a); err != nil {
			return err
		}
	}
	if err := c.check(ctx, a); err != nil {
		return err
	}
	for _, m := range c.ended {
		calm := &match{name: m.name + ", undisturbed", seed: m.seed}
		for ended := false; !ended; {
			var err error
			if ended, err = c.advance(ctx, a, calm); err != nil {
				return err
			}
		}
		if err := m.same(ctx, a, calm); err != nil {
			return fmt.Errorf("tournament %s: %w", m.name, err)
		}
		for _, m := range []*match{m, calm} {
			if err := m.remove(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// same fails unless two tournaments ended alike, to the last count.
func (m *match) same(ctx context.Context, a *api, calm *match) error {
	var ends [2]struct {
		Done  bool
		State json.RawMessage
	}
	for i, m := range []*match{m, calm} {
		if err := a.get(ctx, m.path(), &ends[i]); err != nil {
			return err
		}
	}
	if !ends[0].Done || !reflect.DeepEqual(ends[0], ends[1]) {
		return fmt.Errorf("it ended as %s, undisturbed as %s", ends[0].State, ends[1].State)
	}
	if !strings.Contains(string(ends[0].State), `"eliminated":[{`) {
		return fmt.Errorf("no arm was eliminated: %s", ends[0].State)
	}
	return nil
}

func (c *contest) done() map[string]int { return c.count }
