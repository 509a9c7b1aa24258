package files

import (
	"context"
	"time"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
)

// Expire deletes the files that were stored before a time, and calls tell with each. Files that are
// held stay, and so do those for which inUse, if not nil, reports true.
func (s *Store) Expire(ctx context.Context, before time.Time, inUse func(File) bool, tell func(File)) error {
	var old []File
	err := s.db.View(func(tx *bbolt.Tx) error {
		for r, err := range eachRecord(tx) { // what cannot be read is left to the next start
			if err == nil && r.CreatedAt.Before(before) {
				old = append(old, r.File)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, f := range old {
		if err := ctx.Err(); err != nil {
			return err
		}
		if inUse != nil && inUse(f) {
			continue
		}
		err := s.Delete(f.ID)
		if gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		tell(f)
	}
	return nil
}

// gone reports whether a file could not be deleted because it was meanwhile, or is held.
func gone(err error) bool {
	kind := problem.Of(err).Kind
	return err != nil && (kind == problem.UnknownFile || kind == problem.Conflict)
}
