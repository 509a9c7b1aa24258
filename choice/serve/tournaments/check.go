package tournaments

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// Check replays every tournament of bolt. Nothing is changed.
func Check(ctx context.Context, bolt *bbolt.DB, tell func(store.Item)) error {
	return bolt.View(func(tx *bbolt.Tx) error {
		if bucket(tx, recordsBucket) == nil || bucket(tx, gamesBucket) == nil || bucket(tx, idsBucket) == nil {
			return nil // the server stopped before creating it
		}
		return bucket(tx, recordsBucket).ForEach(func(n, text []byte) error {
			if text == nil {
				return nil // a bucket, which is damage of the database
			}
			i := store.Item{Kind: "tournament", Name: fmt.Sprintf("number %x", n), Verdict: store.Intact}
			r, err := decodeRecord(text)
			if err == nil {
				i.Name = r.ID
				i.Detail, err = r.check(ctx, tx, n)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				i.Verdict, i.Detail = store.Broken, err.Error()
			}
			tell(i)
			return nil
		})
	})
}

// check replays a tournament, whose record lies under number n, and describes its size.
func (r *record) check(ctx context.Context, tx *bbolt.Tx, n []byte) (string, error) {
	if !bytes.Equal(n, bucket(tx, idsBucket).Get([]byte(r.ID))) {
		return "", errors.New("it is not in the index; a start adds it")
	}
	t, err := r.texts(tx)
	if err != nil {
		return "", err
	}
	s, err := t.replay(ctx, r, nil)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d arms, %d calls", len(r.Config.Arms), s.events), nil
}

// Repair rebuilds the index of tournaments by id.
func Repair(bolt *bbolt.DB) error {
	return bolt.Update(reindex)
}
