package files

import (
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// Hold protects a file from deletion, durably, until owner releases it. Holding it twice has
// no further effect.
func (s *Store) Hold(id, owner string) error {
	if owner == "" || strings.Contains(owner, "\x00") {
		return fmt.Errorf("holding file %s: %q is no name of an owner", id, owner)
	}
	return store.Full(s.db.Update(func(tx *bbolt.Tx) error {
		if _, err := getRecord(tx, id); err != nil {
			return err
		}
		return errors.Join(bucket(tx, holdsBucket).Put(store.JoinKey(id, owner), nil), bucket(tx, ownersBucket).Put(store.JoinKey(owner, id), nil))
	}))
}

// Release removes all holds of owner, of which there may be none.
func (s *Store) Release(owner string) error {
	return store.Full(s.db.Update(func(tx *bbolt.Tx) error {
		prefix := store.JoinKey(owner, "")
		held, err := store.KeysWith(bucket(tx, ownersBucket), prefix)
		if err != nil {
			return err
		}
		for _, key := range held {
			id := string(key[len(prefix):])
			err := errors.Join(bucket(tx, ownersBucket).Delete(key), bucket(tx, holdsBucket).Delete(store.JoinKey(id, owner)))
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// Owners lists the owners of holds whose names begin with prefix.
func (s *Store) Owners(prefix string) (owners []string, err error) {
	err = s.db.View(func(tx *bbolt.Tx) (err error) {
		owners, err = store.FirstParts(bucket(tx, ownersBucket), prefix)
		return err
	})
	return owners, err
}
