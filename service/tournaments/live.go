package tournaments

import (
	"container/list"
	"context"
	"sync/atomic"

	"go.etcd.io/bbolt"
)

// live is a tournament in memory.
type live struct {
	id string

	// Guarded by the mutex of the Store: by how many it is used, what it takes, its
	// place in the order of use, nil once it was forgotten.
	users    int
	bytes    int64
	position *list.Element
	// given is what of bytes is for answers that are remembered.
	given int64

	held   chan struct{} // holds one while somebody uses what follows
	record record
	stored        // game is nil before it was read
	last   *write // of the last event; nil if there was none

	answers atomic.Int64 // bytes of answers that are remembered
	pending atomic.Int64 // events and snapshots that are not yet known to be durable
	failing atomic.Pointer[error]
}

// lock waits for the turn to use l.
func (l *live) lock(ctx context.Context) error {
	select {
	case l.held <- struct{}{}:
		return nil
	default:
	}
	select {
	case l.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *live) unlock() { <-l.held }

// fail makes l unfit for use; the first reason stays.
func (l *live) fail(err error) { l.failing.CompareAndSwap(nil, &err) }

// failure is why l is unfit for use.
func (l *live) failure() error {
	if err := l.failing.Load(); err != nil {
		return *err
	}
	return nil
}

// put is a change of what the database has of a tournament.
type put func(tx *bbolt.Tx, r *record) error

// recordEvent has an event recorded that the game of l has just gone through, or, once the log
// is long or takes long to replay, a snapshot in its place. The caller has the turn.
func (s *Store) recordEvent(l *live, e event) error {
	text, err := sealed(e)
	if err != nil {
		return err
	}
	l.events++
	l.logged += len(text)
	n := l.events
	change := func(tx *bbolt.Tx, r *record) error { return r.appendEvent(tx, n, text) }
	if l.logged > max(s.o.logBytes, l.kept) || l.game.work >= mostReplay {
		if change, err = l.snapshot(n - 1); err != nil {
			return err
		}
	}
	ended := l.concluded()
	r := l.record // as it is now
	l.last = &write{of: l, do: func(tx *bbolt.Tx) error {
		if err := change(tx, &r); err != nil || !ended {
			return err
		}
		return r.save(tx)
	}}
	if ended {
		l.last.then = func() { s.count(false, -1); s.count(true, 1) }
	}
	s.journal.submit(l.last)
	return nil
}

// snapshot takes the state of the game to be recorded in the place of the log, whose
// last event is that of number recorded. The caller has the turn.
func (l *live) snapshot(recorded uint64) (put, error) {
	n := l.events
	state, rest, err := l.game.snapshot(n)
	if err != nil {
		return nil, err
	}
	l.logged, l.kept, l.game.work = 0, len(state)+len(rest), 0
	return func(tx *bbolt.Tx, r *record) error { return r.replaceLog(tx, recorded, n, state, rest) }, nil
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
