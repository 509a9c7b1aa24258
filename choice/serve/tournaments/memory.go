package tournaments

import (
	"container/list"
	"context"
	"errors"
	"time"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
)

// memory holds the tournaments in use and the recently used ones. It is part of a Store,
// whose mu guards it.
type memory struct {
	live  map[string]*live
	used  list.List // of *live, most recently used first
	bytes int64     // of all tournaments in memory
}

// footprint estimates the memory of a tournament of k arms, in bytes: counts of every ordered
// pair, what is known of it and its part of the state that undos begin from, names, winners and the
// calls that can be undone. Remembered answers to calls with keys are added to it.
func footprint(k int) int64 { return 48*int64(k)*int64(k) + 4*maxName*int64(k) + 1<<18 }

// Memory returns the bytes of the tournaments in memory.
func (s *Store) Memory() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory.bytes
}

// errBroken is the error of tournaments whose game was interrupted within an event.
var errBroken = errors.New("a call broke off in the middle")

// play calls f with the exclusive use of a tournament, and waits until all events of the
// tournament up to then are durable.
func (s *Store) play(ctx context.Context, id string, f func(*live) error) (err error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return errClosed()
	}
	l, err := s.acquire(ctx, id)
	if err != nil {
		return err
	}
	whole := false
	defer func() {
		if !whole { // f panicked
			l.fail(errBroken)
		}
		if lost := s.release(ctx, l); lost != nil {
			err = lost
		}
	}()
	err = f(l)
	whole = true
	return err
}

// acquire waits for the exclusive use of a tournament and loads it if necessary; release ends
// the use.
func (s *Store) acquire(ctx context.Context, id string) (*live, error) {
	s.mu.Lock()
	l := s.memory.live[id]
	if l != nil && l.failure() != nil {
		s.forget(l)
		l = nil
	}
	if l == nil {
		l = &live{id: id, held: make(chan struct{}, 1)}
		l.position = s.memory.used.PushFront(l)
		s.memory.live[id] = l
	}
	s.memory.used.MoveToFront(l.position)
	l.users++
	s.mu.Unlock()

	if err := l.lock(ctx); err != nil {
		s.leaveLive(l)
		return nil, err
	}
	err := l.failure()
	if err == nil && l.game == nil {
		// A call that gives up reading does not prevent others from reading.
		if err = s.readGame(ctx, l); err != nil && ctx.Err() == nil {
			l.fail(err)
		}
	}
	if err != nil {
		l.unlock()
		s.leaveLive(l)
		return nil, err
	}
	return l, nil
}

// readGame loads l, once there is memory for it. It replays after the transaction, because a long
// transaction would block others that have to grow the file.
func (s *Store) readGame(ctx context.Context, l *live) error {
	if err := s.journal.pass(ctx); err != nil {
		return err
	}
	var r *record
	var t *texts
	err := s.db.View(func(tx *bbolt.Tx) (err error) {
		if r, err = findRecord(tx, l.id); err != nil {
			return err
		}
		if err := s.reserve(l, footprint(len(r.Config.Arms))); err != nil {
			return err
		}
		t, err = r.texts(tx)
		return err
	})
	if err != nil {
		return err
	}
	s.o.step("replay")
	l.transcript = s.transcriptOf(l.id)
	removed, err := l.transcript.settle(t.last())
	if err != nil {
		return err
	}
	if removed > 0 {
		s.o.Log.Warn("calls that the database does not have were removed from the transcript of a tournament", "tournament", l.id, "calls", removed)
	}
	st, err := t.replay(ctx, r, l.transcript.add)
	if err != nil {
		return err
	}
	l.record, l.stored = *r, *st
	l.answers.Store(l.game.given.bytes())
	return nil
}

// reserve reserves memory for l, evicting tournaments that are not in use. A tournament that
// is the only one may exceed the memory.
func (s *Store) reserve(l *live, bytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.bytes > 0 { // of an abandoned read
		return nil
	}
	s.shrink(s.o.Memory - bytes)
	if m := &s.memory; m.bytes > 0 && m.bytes+bytes > s.o.Memory {
		full := problem.New(problem.QueueFull, "tournaments in use take %d bytes of memory; another %d would exceed the limit of %d", m.bytes, bytes, s.o.Memory).Within(s.o.Memory)
		full.RetryAfter = time.Second
		return full
	}
	l.bytes = bytes
	s.memory.bytes += bytes
	return nil
}

// shrink evicts tournaments that are not in use and equal to the database, the least recently
// used first, until all take at most most bytes. The caller holds mu.
func (s *Store) shrink(most int64) {
	for e := s.memory.used.Back(); e != nil && s.memory.bytes > most; {
		l, before := e.Value.(*live), e.Prev()
		if l.users == 0 && l.pending.Load() == 0 {
			s.forget(l)
		}
		e = before
	}
}

// forget evicts l; the next call loads it again. The caller holds mu.
func (s *Store) forget(l *live) {
	if l.position == nil {
		return
	}
	s.memory.used.Remove(l.position)
	l.position = nil
	delete(s.memory.live, l.id)
	s.freeForgotten(l)
}

// freeForgotten releases the memory of l once it is evicted and unused. The caller holds mu.
func (s *Store) freeForgotten(l *live) {
	if l.users == 0 && l.position == nil {
		s.memory.bytes -= l.bytes
		l.bytes = 0
	}
}

// release ends the exclusive use, waits until the events of l are durable, and returns their
// result. It is called once for every acquire.
func (s *Store) release(ctx context.Context, l *live) error {
	last := l.last
	l.unlock()
	err := last.wait(ctx)
	s.leaveLive(l)
	return err
}

// leaveLive counts one user of l less.
func (s *Store) leaveLive(l *live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.users--
	if l.bytes > 0 {
		more := l.answers.Load() - l.given
		l.given += more
		l.bytes += more
		s.memory.bytes += more
	}
	if l.failure() != nil {
		s.forget(l)
	}
	s.freeForgotten(l)
	s.shrink(s.o.Memory)
}
