package service

import (
	"context"
	"time"

	"thresher/service/extension"
	"thresher/service/files"
	"thresher/service/offline"
)

// Retention is how long a server keeps what clients leave behind; 0 keeps it for ever. What is in use
// stays: files that an unfinished batch reads or writes, batches that are not final. What
// extensions keep, they say themselves.
type Retention struct {
	Files   time.Duration // since they were stored
	Batches time.Duration // since they ended; their files are files
}

// The kinds of what Retention removes, as the log and the metrics call them.
const (
	oldFiles   = "files"
	oldBatches = "batches"
)

// interval returns the time between two looks for what is kept for these times; 0 if nothing is ever too old.
func interval(keeps []time.Duration) time.Duration {
	const often, seldom = time.Second, time.Hour
	least := time.Duration(0)
	for _, d := range keeps {
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
	// The series are there before something goes.
	s.countExpired(oldFiles, 0)
	s.countExpired(oldBatches, 0)
	keeps := []time.Duration{s.o.Retention.Files, s.o.Retention.Batches}
	for _, one := range s.expiring() {
		s.countExpired(one.Kind(), 0)
		keeps = append(keeps, one.Keep())
	}
	every := interval(keeps)
	if every == 0 {
		return
	}
	s.tasks.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			s.expire(s.draining, s.o.Now())
			select {
			case <-tick.C:
			case <-s.draining.Done():
				return
			}
		}
	})
}

// expiry is a kind of things that are removed once they were kept for keep; do removes those from before a time.
type expiry struct {
	kind string
	keep time.Duration
	do   func(before time.Time) error
}

// expiring are the extensions whose things are removed when they are old.
func (s *Server) expiring() (all []extension.Expiring) {
	for _, one := range s.o.Extensions {
		if e, ok := one.(extension.Expiring); ok {
			all = append(all, e)
		}
	}
	return all
}

// expire removes what is too old now. What cannot be removed is logged, and tried again next time.
func (s *Server) expire(ctx context.Context, now time.Time) {
	r := s.o.Retention
	all := []expiry{
		{oldBatches, r.Batches, func(before time.Time) error {
			return s.batches.Expire(ctx, before, func(b offline.Batch) { s.expired(oldBatches, b.ID, r.Batches) })
		}},
		{oldFiles, r.Files, func(before time.Time) error {
			return s.files.Expire(ctx, before, s.batches.Delivering, func(f files.File) { s.expired(oldFiles, f.ID, r.Files) })
		}},
	}
	for _, one := range s.expiring() {
		all = append(all, expiry{one.Kind(), one.Keep(), func(before time.Time) error {
			return one.Expire(ctx, before, func(id string) { s.expired(one.Kind(), id, one.Keep()) })
		}})
	}
	for _, x := range all {
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
