package service

import (
	"context"
	"time"

	"thresher/service/files"
	"thresher/service/offline"
)

// Retention is how long a server keeps what clients leave behind; 0 keeps it for ever. What is in use
// stays: files that an unfinished batch reads or writes, batches that are not final, tournaments that
// have not ended.
type Retention struct {
	Files       time.Duration // since they were stored
	Batches     time.Duration // since they ended; their files are files
	Tournaments time.Duration // since they ended
}

// The kinds of what Retention removes, as the log and the metrics call them.
const (
	oldFiles       = "files"
	oldBatches     = "batches"
	oldTournaments = "tournaments"
)

// interval returns the time between two looks for what is too old; 0 if nothing ever is.
func (r Retention) interval() time.Duration {
	const often, seldom = time.Second, time.Hour
	least := time.Duration(0)
	for _, d := range []time.Duration{r.Files, r.Batches, r.Tournaments} {
		if d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	if least == 0 {
		return 0
	}
	return min(max(least/16, often), seldom)
}

// beginRetention removes what is too old, at once and from time to time, until the server drains.
// closeStores waits for it.
func (s *Server) beginRetention() {
	for _, kind := range []string{oldFiles, oldBatches, oldTournaments} {
		s.countExpired(kind, 0) // so that the series are there before something goes
	}
	every := s.o.Retention.interval()
	if every == 0 {
		return
	}
	s.tasks.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			s.expire(s.draining, time.Now())
			select {
			case <-tick.C:
			case <-s.draining.Done():
				return
			}
		}
	})
}

// expire removes what is too old now. What cannot be removed is logged, and tried again next time.
func (s *Server) expire(ctx context.Context, now time.Time) {
	r := s.o.Retention
	for _, x := range []struct {
		kind string
		keep time.Duration
		do   func(before time.Time) error
	}{
		{oldBatches, r.Batches, func(before time.Time) error {
			return s.batches.Expire(ctx, before, func(b offline.Batch) { s.expired(oldBatches, b.ID, r.Batches) })
		}},
		{oldFiles, r.Files, func(before time.Time) error {
			return s.files.Expire(ctx, before, s.batches.Delivering, func(f files.File) { s.expired(oldFiles, f.ID, r.Files) })
		}},
		{oldTournaments, r.Tournaments, func(before time.Time) error {
			return s.tournaments.Expire(ctx, before, func(id string) { s.expired(oldTournaments, id, r.Tournaments) })
		}},
	} {
		if x.keep <= 0 || ctx.Err() != nil {
			continue
		}
		if err := x.do(now.Add(-x.keep)); err != nil && ctx.Err() == nil {
			s.o.Log.Error("what is too old could not be removed", "kind", x.kind, "error", err)
		}
	}
}

// expired counts and logs what was removed.
func (s *Server) expired(kind, id string, keep time.Duration) {
	s.o.Log.Info("removed, because it was kept long enough", "kind", kind, "id", id, "keep", keep.String())
	s.countExpired(kind, 1)
}

func (s *Server) countExpired(kind string, n int) {
	if s.o.Metrics != nil {
		s.o.Metrics.Expired(kind, n)
	}
}
