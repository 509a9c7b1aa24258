package tournaments

import (
	"container/list"
	"encoding/json"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"
)

// live is a tournament in memory.
type live struct {
	id string

	// Guarded by the mutex of the Store: by how many it is used, what it takes, its
	// place in the order of use, nil once it was forgotten.
	users int
	bytes int64
	place *list.Element

	mu     sync.Mutex
	record record
	stored        // game is nil before it was read
	last   *write // of the last event; nil if all are durable

	failing atomic.Pointer[error]
}

// fail makes l unfit for use; the first reason stays.
func (l *live) fail(err error) { l.failing.CompareAndSwap(nil, &err) }

// failure is why l is unfit for use.
func (l *live) failure() error {
	if err := l.failing.Load(); err != nil {
		return *err
	}
	return nil
}

// did has an event recorded that the game has just gone through, or a snapshot in its
// place. The caller holds mu; least is the length in bytes that the log has in any case
// before it gives way, unless a replay takes mostReplay.
func (l *live) did(j *journal, e event, least int) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	l.events++
	l.logged += len(text)
	n := l.events
	put := func(tx *bbolt.Tx, r *record) error { return r.log(tx, n, text) }
	if l.logged > max(least, l.kept) || l.game.work >= mostReplay {
		state, rest, err := l.game.snapshot(n)
		if err != nil {
			return err
		}
		l.logged, l.kept, l.game.work = 0, len(state)+len(rest), 0
		put = func(tx *bbolt.Tx, r *record) error { return r.keep(tx, state, rest) }
	}
	ended := l.concluded()
	r := l.record // as it is now
	l.last = &write{of: l, do: func(tx *bbolt.Tx) error {
		if err := put(tx, &r); err != nil || !ended {
			return err
		}
		return r.save(tx)
	}}
	j.submit(l.last)
	return nil
}

// concluded notes the winner when the game has just ended.
func (l *live) concluded() bool {
	if l.record.Done {
		return false
	}
	s := l.game.tournament.State()
	l.record.Done, l.record.Winner = s.Done, s.Leader
	return s.Done
}
