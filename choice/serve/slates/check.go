package slates

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"go.etcd.io/bbolt"

	"thresher/service/jsonbody"
	"thresher/store"
)

// Check reads every record of the slates' database. Nothing is changed.
func Check(ctx context.Context, bolt *bbolt.DB, tell func(store.Item)) error {
	return bolt.View(func(tx *bbolt.Tx) error {
		root := tx.Bucket(collectionsBucket())
		if root == nil {
			return nil // the server stopped before creating it
		}
		return root.ForEachBucket(func(name []byte) error {
			i := store.Item{Kind: "slates", Name: string(name), Verdict: store.Intact}
			n, err := findRecords(tx, string(name)).check(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			i.Detail = fmt.Sprintf("%d slates, %d users", n.slates, n.users)
			if err != nil {
				i.Verdict, i.Detail = store.Broken, fmt.Sprintf("%s: %v", filepath.Base(bolt.Path()), err)
			}
			tell(i)
			return nil
		})
	})
}

// check reads all records of a collection and counts them.
func (r *records) check(ctx context.Context) (n counts, err error) {
	if _, err := r.settings(); err != nil {
		return n, err
	}
	if _, _, err := r.model(); err != nil {
		return n, err
	}
	if _, err := r.counts(); err != nil {
		return n, err
	}
	for _, s := range []struct {
		bucket string
		read   func(k, v []byte) error
	}{
		{slatesBucket, func(k, v []byte) error { return new(issuedSlate).decode(k, v) }},
		{statesBucket, func(k, v []byte) error { return new(savedState).decode(k, v) }},
		{logsBucket, func(k, v []byte) error { return new(feedback).decode(k, v) }},
	} {
		b := r.sub(s.bucket)
		if b == nil {
			return n, r.damaged(s.bucket, errors.New("they are missing"))
		}
		err := b.ForEach(func(k, v []byte) error {
			if err := s.read(k, v); err != nil {
				return r.damaged(fmt.Sprintf("%s %q", s.bucket, jsonbody.Clip(string(k))), err)
			}
			return ctx.Err()
		})
		if err != nil {
			return n, err
		}
	}
	return r.recount()
}

// recount counts slates, and users with a state or feedback.
func (r *records) recount() (n counts, err error) {
	err = r.sub(slatesBucket).ForEach(func(_, _ []byte) error { n.slates++; return nil })
	if err != nil {
		return n, err
	}
	users := map[string]bool{}
	err = r.sub(statesBucket).ForEach(func(user, _ []byte) error { users[string(user)] = true; return nil })
	if err != nil {
		return n, err
	}
	err = r.sub(logsBucket).ForEach(func(key, _ []byte) error {
		if size, at := binary.Uvarint(key); at > 0 && size <= uint64(len(key)-at) {
			users[string(key[at:at+int(size)])] = true
		}
		return nil
	})
	n.users = int64(len(users))
	return n, err
}

// Repair corrects the counts of the database at path, parts of which are lost.
func Repair(path string) error {
	bolt, _, err := store.Open(path, nil)
	if err != nil {
		return err
	}
	defer bolt.Close()
	return bolt.Update(func(tx *bbolt.Tx) error {
		names, err := complete(tx)
		if err != nil {
			return err
		}
		for _, name := range names {
			r := findRecords(tx, name)
			n, err := r.recount()
			if err != nil {
				return err
			}
			if err := r.setCounts(n); err != nil {
				return err
			}
		}
		return nil
	})
}
