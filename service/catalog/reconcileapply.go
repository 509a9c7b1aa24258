package catalog

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// apply records the decisions.
func (r *reconciliation) apply(tx *bbolt.Tx) error {
	r.tx = tx
	for name, n := range r.numbers {
		if err := useNumber(tx, name, n); err != nil {
			return err
		}
	}
	for name, rec := range r.put {
		old := r.records[name].Ready
		if old != nil && rec.Ready != nil && old.Base != rec.Ready.Base && r.pinned(name, old.Version) {
			if err := store.PutJSON(bucket(tx, retiredBucket), versionKey(name, old.Version), old); err != nil {
				return err
			}
		}
		if err := putRecord(tx, name, rec); err != nil {
			return err
		}
	}
	for _, m := range r.retain {
		if err := store.PutJSON(bucket(tx, retiredBucket), versionKey(m.Name, m.Change.Version), m.Change); err != nil {
			return err
		}
	}
	for _, m := range r.retired {
		if r.c.o.LostOwner == "" || r.pinned(m.Name, m.Change.Version) {
			continue
		}
		if err := bucket(tx, pinsBucket).Put(pinKey(r.c.o.LostOwner, m.Name, m.Change.Version), []byte{}); err != nil {
			return err
		}
	}
	for _, m := range r.keys {
		if err := recallKey(tx, m); err != nil {
			return err
		}
	}
	return nil
}

// recallKey records the idempotency key of a version that was found, unless it is in use.
func recallKey(tx *bbolt.Tx, m *manifest) error {
	if _, found, err := store.FindKey(bucket(tx, keysBucket), m.Key, m.Fingerprint, m.Change.CreatedAt); found || err != nil {
		return nil
	}
	return recordKey(tx, m.Key, m.Fingerprint, m.Name, &m.Change)
}

// tidy moves and removes files.
func (r *reconciliation) tidy() error {
	c := r.c
	for _, name := range slices.Sorted(maps.Keys(r.adopted)) {
		c.found.Adopted = append(c.found.Adopted, name)
		c.o.Log.Warn("a collection missing from the database was restored", "collection", name, "found", strings.Join(r.adopted[name], "; "))
	}
	for _, name := range c.found.Missing {
		c.o.Log.Error("files of a collection are missing", "collection", name)
	}
	if err := c.unmarkDeleted(r.restore); err != nil {
		return err
	}
	for _, m := range r.write {
		if err := c.writeManifest(m); err != nil {
			return err
		}
	}
	for _, file := range r.remove {
		if err := c.remove(file); err != nil {
			return err
		}
	}
	for _, file := range slices.Sorted(maps.Keys(r.keep)) {
		if err := c.found.Move(c.o.disk, c.o.Log, filepath.Join(c.dir, file), r.keep[file]); err != nil {
			return err
		}
	}
	return nil
}
