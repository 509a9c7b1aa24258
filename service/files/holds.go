package files

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/bbolt"

	"thresher/service/durable"
)

// Hold protects a file from deletion, durably, until owner releases it. Holding it twice has
// no further effect.
func (s *Store) Hold(id, owner string) error {
	if owner == "" || strings.Contains(owner, "\x00") {
		return fmt.Errorf("holding file %s: %q is no name of an owner", id, owner)
	}
	return durable.Full(s.db.Update(func(tx *bbolt.Tx) error {
		if _, err := get(tx, id); err != nil {
			return err
		}
		return errors.Join(bucket(tx, holdsBucket).Put(pair(id, owner), nil), bucket(tx, ownersBucket).Put(pair(owner, id), nil))
	}))
}

// Release removes all holds of owner, of which there may be none.
func (s *Store) Release(owner string) error {
	return durable.Full(s.db.Update(func(tx *bbolt.Tx) error {
		prefix := pair(owner, "")
		var held []string
		c := bucket(tx, ownersBucket).Cursor()
		for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
			held = append(held, string(k[len(prefix):]))
		}
		for _, id := range held {
			err := errors.Join(bucket(tx, ownersBucket).Delete(pair(owner, id)), bucket(tx, holdsBucket).Delete(pair(id, owner)))
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// Owners lists the owners of holds whose names begin with prefix.
func (s *Store) Owners(prefix string) (owners []string, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		c := bucket(tx, ownersBucket).Cursor()
		for k, _ := c.Seek([]byte(prefix)); k != nil && bytes.HasPrefix(k, []byte(prefix)); k, _ = c.Next() {
			owner, _, _ := bytes.Cut(k, []byte{0})
			if n := len(owners); n == 0 || owners[n-1] != string(owner) {
				owners = append(owners, string(owner))
			}
		}
		return nil
	})
	return owners, err
}
