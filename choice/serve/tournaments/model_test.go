package tournaments

import (
	"errors"
	"slices"

	"pgregory.net/rapid"

	"thresher/choice/duel"
)

// model is a tournament of package duel, played as a Store should.
type model struct {
	*duel.Tournament
	arms []string
	won  map[uint64]bool // accepted results
	keys map[string][]duel.Duel
	out  []duel.Duel // all issued duels, by the ids that clients see
	// shown are the ids of duels that clients see, by those of the tournament less one; used is the
	// greatest ever.
	shown []uint64
	used  uint64
}

func newModel(t rapid.TB, s Spec, c *clock) *model {
	config, err := checkSpec(&s, duel.MaxArms)
	if err != nil {
		t.Fatal(err)
	}
	tournament, err := duel.New(config, c.time)
	if err != nil {
		t.Fatal(err)
	}
	if err := tournament.KeepUndo(keptUndo); err != nil {
		t.Fatal(err)
	}
	return &model{Tournament: tournament, arms: config.Arms, won: map[uint64]bool{}, keys: map[string][]duel.Duel{}}
}

// next draws duels one at a time, with coins in between.
func (m *model) next(count int, key string) ([]duel.Duel, error) {
	if before, ok := m.keys[key]; ok {
		return before, nil
	}
	var duels []duel.Duel
	tossed := false
	for again := true; again; {
		again = false
		more, err := m.Tournament.Next(count - len(duels))
		if err != nil && !tossed {
			return nil, err
		}
		var coins []duel.Result
		for _, d := range more {
			if d.A == d.B {
				coins = append(coins, m.Coin(d))
			} else {
				duels = append(duels, d)
			}
		}
		if len(coins) > 0 {
			tossed = true
			m.take(coins...)
			duels = slices.DeleteFunc(duels, func(d duel.Duel) bool { return errors.Is(m.check(d.ID), duel.ErrWithdrawn) })
			again = len(duels) < count
		}
	}
	m.number()
	if key != "" && (m.State().Done || len(duels) > 0) {
		m.keys[key] = duels
	}
	m.out = append(m.out, m.see(duels)...)
	return duels, nil
}

// number gives new duels their ids.
func (m *model) number() {
	for uint64(len(m.shown)) < m.Drawn() {
		m.used++
		m.shown = append(m.shown, m.used)
	}
}

// see returns duels with the ids that clients see.
func (m *model) see(duels []duel.Duel) []duel.Duel {
	duels = slices.Clone(duels)
	for i := range duels {
		duels[i].ID = m.shown[duels[i].ID-1]
	}
	return duels
}

// of returns the tournament's id of a duel, 0 if it was never drawn or was taken back.
func (m *model) of(shown uint64) uint64 { return uint64(slices.Index(m.shown, shown) + 1) }

// undo takes back the last report, and returns the ids of its duels until then.
func (m *model) undo() ([]uint64, error) {
	results, err := m.Undo()
	if err != nil {
		return nil, err
	}
	m.shown = m.shown[:m.Drawn()]
	var undone []uint64
	for _, r := range results {
		undone = append(undone, m.shown[r.Duel-1])
		m.used++
		m.shown[r.Duel-1] = m.used
		delete(m.won, r.Duel)
	}
	for id := range m.won {
		if id > m.Drawn() {
			delete(m.won, id)
		}
	}
	for key, duels := range m.keys {
		if len(duels) == 0 || slices.ContainsFunc(duels, func(d duel.Duel) bool { return d.ID > m.Drawn() }) {
			delete(m.keys, key)
		}
	}
	return undone, nil
}

// view is the state as clients see it.
func (m *model) view(standings bool) State {
	v := viewState(m.arms, m.State(), standings)
	v.Undoable = []uint64{}
	for _, r := range m.Undoable() {
		v.Undoable = append(v.Undoable, m.shown[r.Duel-1])
	}
	return v
}
