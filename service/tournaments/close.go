package tournaments

import (
	"context"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
)

// Close refuses everything from now on, waits for what is being made durable, and has
// the states of tournaments recorded in the place of their logs, as long as ctx lasts:
// what opens them again has nothing to replay. What that fails for is logged and keeps
// its log. No call may be under way. Closing twice is allowed.
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

// settling is how many bytes of snapshots may be on their way to the database at once.
const settling = 32 << 20

// settleLogs puts a snapshot in the place of every log.
func (s *Store) settleLogs(ctx context.Context) {
	ids, err := s.logs(ctx)
	if err != nil {
		s.o.Log.Warn("tournaments keep their logs", "reason", err)
		return
	}
	var under []*write
	bytes := 0
	settle := func() {
		for _, w := range under {
			if err := w.wait(ctx); err != nil {
				s.o.Log.Warn("a tournament keeps its log", "tournament", w.of.id, "reason", err)
			}
		}
		under, bytes = under[:0], 0
	}
	for _, id := range ids {
		w, size, err := s.settleLog(ctx, id)
		if err != nil && problem.Of(err).Kind == problem.QueueFull { // those under way take all memory
			settle()
			w, size, err = s.settleLog(ctx, id)
		}
		if err != nil {
			s.o.Log.Warn("a tournament keeps its log", "tournament", id, "reason", err)
			continue
		}
		under = append(under, w)
		if bytes += size; bytes > settling {
			settle()
		}
	}
	settle()
}

// settleLog has a snapshot of a tournament recorded, of so many bytes.
func (s *Store) settleLog(ctx context.Context, id string) (w *write, size int, err error) {
	l, err := s.acquire(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	defer s.leave(l)
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

// logs are the ids of tournaments that have had calls since their states were recorded.
func (s *Store) logs(ctx context.Context) (ids []string, err error) {
	if err := s.journal.settled(ctx); err != nil {
		return nil, err
	}
	err = s.db.View(func(tx *bbolt.Tx) error {
		return bucket(tx, idsBucket).ForEach(func(id, n []byte) error {
			log := bucket(tx, gamesBucket).Bucket(n).Bucket([]byte(logBucket))
			if first, _ := log.Cursor().First(); first != nil {
				ids = append(ids, string(id))
			}
			return nil
		})
	})
	return ids, err
}
