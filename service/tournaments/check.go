package tournaments

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"thresher/service/db"
)

// Check plays every tournament of bolt to where it is. Nothing is changed.
func Check(ctx context.Context, bolt *bbolt.DB, tell func(db.Item)) error {
	return bolt.View(func(tx *bbolt.Tx) error {
		if bucket(tx, recordsBucket) == nil || bucket(tx, gamesBucket) == nil {
			return nil // of a server that never came so far
		}
		return bucket(tx, recordsBucket).ForEach(func(n, text []byte) error {
			i := db.Item{Kind: "tournament", Name: fmt.Sprintf("number %x", n), Verdict: db.Whole}
			r, err := decodeRecord(text)
			if err == nil {
				i.Name = r.ID
				i.Detail, err = r.check(ctx, tx)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				i.Verdict, i.Detail = db.Broken, err.Error()
			}
			tell(i)
			return nil
		})
	})
}

// check plays what is recorded, and says how much that is.
func (r *record) check(ctx context.Context, tx *bbolt.Tx) (string, error) {
	t, err := r.texts(tx)
	if err != nil {
		return "", err
	}
	s, err := t.replay(ctx, r)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d arms, %d calls", len(r.Config.Arms), s.events), nil
}

// Repair has every tournament of bolt be found by its id.
func Repair(bolt *bbolt.DB) error {
	return bolt.Update(func(tx *bbolt.Tx) error {
		if err := createBuckets(tx); err != nil {
			return err
		}
		return sequence(tx).Reindex(func(text []byte) (string, error) {
			r, err := decodeRecord(text)
			if err != nil {
				return "", err // Check names it
			}
			return r.ID, nil
		})
	})
}
