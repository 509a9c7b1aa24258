package tournaments

import (
	"container/list"
	"context"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// live is a tournament in memory.
type live struct {
	id string

	// Guarded by the mutex of the Store: the number of its users, its memory, and its
	// position in the order of use, nil once it is evicted.
	users    int
	bytes    int64
	position *list.Element
	// given is the part of bytes for remembered answers.
	given int64

	held   chan struct{} // contains one value while a call uses the fields below
	record record
	stored        // game is nil until it is read
	last   *write // of the last event; nil if there was none

	transcript *transcript // nil if none is kept

	answers atomic.Int64 // bytes of remembered answers
	pending atomic.Int64 // events and snapshots that are not known to be durable yet
	failing atomic.Pointer[error]
}

// lock waits for the exclusive use of l.
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

// fail makes l unfit for use; the first reason is kept.
func (l *live) fail(err error) { l.failing.CompareAndSwap(nil, &err) }

// failure returns why l is unfit for use, nil if it is not.
func (l *live) failure() error {
	if err := l.failing.Load(); err != nil {
		return *err
	}
	return nil
}

// put changes the records of a tournament.
type put func(tx *bbolt.Tx, r *record) error

// recordEvent submits an event that the game of l has executed or, once the log is long or
// takes long to replay, a snapshot in place of the log. The caller has locked l.
func (s *Store) recordEvent(l *live, e event) error {
	text, err := store.Seal(e)
	if err != nil {
		return err
	}
	l.events++
	l.logged += len(text)
	n := l.events
	if err := l.transcript.add(n, l.game.told); err != nil {
		return err
	}
	change := func(tx *bbolt.Tx, r *record) error { return r.appendEvent(tx, n, text) }
	if l.logged > max(s.o.logBytes, l.kept) || l.game.work >= maxReplay {
		if change, err = l.snapshot(n - 1); err != nil {
			return err
		}
	}
	before := l.record.Done
	concluded := l.concluded(s.o.Now())
	after := l.record.Done
	r := l.record // a copy of the current record
	l.last = &write{of: l, do: func(tx *bbolt.Tx) error {
		if err := change(tx, &r); err != nil || !concluded {
			return err
		}
		return r.save(tx)
	}}
	if concluded {
		l.last.then = func() { s.count(before, -1); s.count(after, 1) }
	}
	s.journal.submit(l.last)
	return nil
}

// snapshot encodes the state of the game, to replace the log whose last event has number
// recorded. The caller has locked l.
func (l *live) snapshot(recorded uint64) (put, error) {
	n := l.events
	if err := l.transcript.flush(); err != nil { // before the records of these calls are removed
		return nil, err
	}
	state, rest, err := l.game.snapshot(n)
	if err != nil {
		return nil, err
	}
	l.logged, l.kept, l.game.work = 0, len(state)+len(rest), 0
	return func(tx *bbolt.Tx, r *record) error { return r.replaceLog(tx, recorded, n, state, rest) }, nil
}

// concluded records the winner if the game has just ended, now, or that there is none any more. It
// reports whether the record has changed.
func (l *live) concluded(now time.Time) bool {
	ended := l.game.tournament.State().Done
	if ended == l.record.Done {
		return false
	}
	l.record.Done, l.record.Winner, l.record.EndedAt = ended, 0, 0
	if ended {
		l.record.Winner, l.record.EndedAt = l.game.tournament.State().Leader, now.Unix()
	}
	return true
}
