package tournaments

import (
	"context"
	"time"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
)

// Expire deletes the tournaments that ended before a time, and calls tell with the id of each. Those
// that have not ended stay, however old they are: somebody may be judging. One of an earlier release,
// which did not record when a tournament ended, counts as ended when Expire first sees it.
func (s *Store) Expire(ctx context.Context, before time.Time, tell func(id string)) error {
	var old, unsaid []string
	err := s.db.View(func(tx *bbolt.Tx) error {
		return bucket(tx, recordsBucket).ForEach(func(_, text []byte) error {
			r, err := decodeRecord(text)
			switch {
			case err != nil: // Open has logged it, and Check names it
			case r.Done && r.EndedAt == 0:
				unsaid = append(unsaid, r.ID)
			case r.expired(before):
				old = append(old, r.ID)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	if err := s.stateEnds(ctx, unsaid); err != nil {
		return err
	}
	for _, id := range old {
		err := s.delete(ctx, id, func(r *record) error {
			if !r.expired(before) { // the end was undone
				return problem.New(problem.Conflict, "tournament %s goes on", id)
			}
			return nil
		})
		if err != nil && !passing(err) {
			return err
		}
		if err == nil {
			tell(id)
		}
	}
	return nil
}

// passing reports whether an error of deleting says that a client did something else meanwhile.
func passing(err error) bool {
	kind := problem.Of(err).Kind
	return kind == UnknownTournament || kind == problem.Conflict
}

// expired reports whether a tournament that says when it ended did so before a time.
func (r *record) expired(before time.Time) bool {
	return r.Done && time.Unix(r.EndedAt, 0).Before(before)
}

// stateEnds records of tournaments that are done, and do not say when they ended, that they ended now.
// One in memory does not notice, which changes nothing: its record is saved when it ends again, or goes
// on, and these set the time.
func (s *Store) stateEnds(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	now := s.o.Now().Unix()
	w := &write{do: func(tx *bbolt.Tx) error {
		for _, id := range ids {
			r, err := findRecord(tx, id)
			if err != nil || !r.Done || r.EndedAt != 0 { // deleted, or continued by an undo
				continue
			}
			r.EndedAt = now
			if err := r.save(tx); err != nil {
				return err
			}
		}
		return nil
	}}
	s.journal.submit(w)
	return w.wait(ctx)
}
