package tournaments

import (
	"context"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
)

// Close refuses further calls, waits for pending writes, and replaces the logs of tournaments
// by snapshots until ctx ends, so that the next Open has nothing to replay. A tournament for
// which this fails is logged and keeps its log. No call may be running. Close may be called
// twice.
func (s *Store) Close(ctx context.Context) {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if !again {
		s.settleLogs(ctx)
	}
	s.journal.close()
}

// settling bounds the bytes of snapshots being written at the same time.
const settling = 32 << 20

// settleLogs replaces every log by a snapshot.
func (s *Store) settleLogs(ctx context.Context) {
	ids, err := s.logs(ctx)
	if err != nil {
		s.o.Log.Warn("the logs of tournaments were not replaced by snapshots", "reason", err)
		return
	}
	var under []*write
	bytes := 0
	settle := func() {
		for _, w := range under {
			if err := w.wait(ctx); err != nil {
				s.o.Log.Warn("the log of a tournament was not replaced by a snapshot", "tournament", w.of.id, "reason", err)
			}
		}
		under, bytes = under[:0], 0
	}
	for _, id := range ids {
		w, size, err := s.settleLog(ctx, id)
		if err != nil && problem.Of(err).Kind == problem.QueueFull { // the snapshots being written take all memory
			settle()
			w, size, err = s.settleLog(ctx, id)
		}
		if err != nil {
			s.o.Log.Warn("the log of a tournament was not replaced by a snapshot", "tournament", id, "reason", err)
			continue
		}
		under = append(under, w)
		if bytes += size; bytes > settling {
			settle()
		}
	}
	settle()
}

// settleLog submits a snapshot of a tournament and returns its size in bytes.
func (s *Store) settleLog(ctx context.Context, id string) (w *write, size int, err error) {
	l, err := s.acquire(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	defer s.leaveLive(l)
	defer l.unlock()
	change, err := l.snapshot(l.events)
	if err != nil {
		return nil, 0, err
	}
	r := l.record
	l.last = &write{of: l, do: func(tx *bbolt.Tx) error { return change(tx, &r) }}
	s.journal.submit(l.last)
	return l.last, l.kept, nil
}

// logs returns the ids of tournaments with events after their last snapshot.
func (s *Store) logs(ctx context.Context) (ids []string, err error) {
	if err := s.journal.settled(ctx); err != nil {
		return nil, err
	}
	err = s.db.View(func(tx *bbolt.Tx) error {
		return bucket(tx, idsBucket).ForEach(func(id, n []byte) error {
			game := bucket(tx, gamesBucket).Bucket(n)
			if game == nil || game.Bucket([]byte(logBucket)) == nil {
				return nil // damaged: it has no events that could be settled
			}
			if first, _ := game.Bucket([]byte(logBucket)).Cursor().First(); first != nil {
				ids = append(ids, string(id))
			}
			return nil
		})
	})
	return ids, err
}
