package catalog

import (
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
	"thresher/store"
)

// pinKey is the key of a pin in its bucket.
func pinKey(owner, name string, version int64) []byte {
	return store.JoinKey(owner, string(versionKey(name, version)))
}

// cutPinKey splits a pinKey.
func cutPinKey(key []byte) (owner string, pinned ref, err error) {
	by, rest, _ := store.CutKey(key)
	pinned.name, pinned.version, err = cutVersionKey(rest)
	return string(by), pinned, err
}

// recallPins reads the replaced versions that are pinned, and counts pins.
func (c *Catalog) recallPins(tx *bbolt.Tx) error {
	err := eachRetired(tx, func(r ref, ch change, err error) error {
		if err != nil {
			return err
		}
		o := c.newOpened(r.name, ch)
		o.retired = true
		c.versions[r] = o
		return nil
	})
	if err != nil {
		return err
	}
	return bucket(tx, pinsBucket).ForEach(func(key, _ []byte) error {
		_, pinned, err := cutPinKey(key)
		if o := c.versions[pinned]; o != nil {
			o.pins++
		}
		return err
	})
}

// eachRetired visits the recorded versions that have been replaced, with the error of one whose
// record is damaged.
func eachRetired(tx *bbolt.Tx, visit func(ref, change, error) error) error {
	return bucket(tx, retiredBucket).ForEach(func(key, text []byte) error { return visit(readRetired(key, text)) })
}

func readRetired(key, text []byte) (r ref, ch change, err error) {
	if r.name, r.version, err = cutVersionKey(key); err == nil {
		err = store.ReadJSON(fmt.Sprintf("version %d of collection %s", r.version, clip(r.name)), text, &ch)
	}
	return r, ch, err
}

// checkRetired returns what is wrong with the record of a replaced version.
func checkRetired(key, text []byte) error {
	r, ch, err := readRetired(key, text)
	if err == nil && ch.Version != r.version {
		err = fmt.Errorf("it describes version %d of %s, not %d", ch.Version, clip(r.name), r.version)
	}
	return errors.Join(err, checkName(r.name), ch.check())
}

// keepPinned records a version that is no longer the newest, if it is pinned. The caller
// holds Catalog.change.
func (c *Catalog) keepPinned(tx *bbolt.Tx, name string, ch *change) error {
	if ch == nil {
		return nil
	}
	c.mu.Lock()
	pins := c.versions[ref{name, ch.Version}].pins
	c.mu.Unlock()
	if pins == 0 {
		return nil
	}
	return store.PutJSON(bucket(tx, retiredBucket), versionKey(name, ch.Version), ch)
}

// Pin keeps a version, durably, until owner unpins; version 0 is the ready one. An owner may
// pin several versions; pinning a version twice has no further effect.
func (c *Catalog) Pin(name string, version int64, owner string) error {
	if owner == "" || strings.Contains(owner, "\x00") {
		return problem.New(problem.InvalidValue, "%q is no name of an owner", clip(owner))
	}
	c.change.Lock()
	defer c.change.Unlock()
	v, err := c.Use(name, version)
	if err != nil {
		return err
	}
	defer v.Release()
	return c.pin(v.o, owner)
}

// PinAgain pins a version that an earlier process had pinned, even if it is still being
// loaded.
func (c *Catalog) PinAgain(name string, version int64, owner string) error {
	c.change.Lock()
	defer c.change.Unlock()
	c.mu.Lock()
	o := c.versions[ref{name, version}]
	if o == nil {
		c.mu.Unlock()
		return problem.New(problem.UnknownCollection, "there is no version %d of collection %s", version, name).In("version")
	}
	o.acquire()
	c.mu.Unlock()
	defer o.release()
	return c.pin(o, owner)
}

// pin records a pin on a version in use. The caller holds change.
func (c *Catalog) pin(o *opened, owner string) error {
	name := o.name
	if err := c.o.disk.At("record", name); err != nil {
		return store.Full(err)
	}
	again := false
	key := pinKey(owner, name, o.change.Version)
	err := c.db.Update(func(tx *bbolt.Tx) error {
		pins := bucket(tx, pinsBucket)
		again = pins.Get(key) != nil
		if err := pins.Put(key, []byte{}); err != nil || !o.retired {
			return err
		}
		return store.PutJSON(bucket(tx, retiredBucket), versionKey(name, o.change.Version), o.change)
	})
	if err != nil || again {
		return store.Full(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o.pins++
	return nil
}

// Unpin removes all pins of owner, of which there may be none.
func (c *Catalog) Unpin(owner string) error {
	c.change.Lock()
	defer c.change.Unlock()
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return draining()
	}
	var dropped []*opened
	err := c.db.Update(func(tx *bbolt.Tx) error {
		dropped = dropped[:0]
		keys, err := store.KeysWith(bucket(tx, pinsBucket), store.JoinKey(owner, ""))
		if err != nil {
			return err
		}
		for _, key := range keys {
			_, pinned, err := cutPinKey(key)
			if err != nil {
				return err
			}
			if err := bucket(tx, pinsBucket).Delete(key); err != nil {
				return err
			}
			o := c.pinned(pinned)
			if o == nil {
				continue
			}
			dropped = append(dropped, o)
			if o.pins > 1 {
				continue // an owner has one pin on a version
			}
			if err := bucket(tx, retiredBucket).Delete(versionKey(pinned.name, pinned.version)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return store.Full(err)
	}
	for _, o := range dropped {
		c.mu.Lock()
		o.pins--
		gone := o.unneeded()
		c.mu.Unlock()
		if gone {
			o.dispose()
		}
	}
	return nil
}

// pinned returns an open version. The caller holds change, which guards pins.
func (c *Catalog) pinned(r ref) *opened {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.versions[r]
}

// Owners lists the owners of pins whose names begin with prefix.
func (c *Catalog) Owners(prefix string) (owners []string, err error) {
	err = c.db.View(func(tx *bbolt.Tx) (err error) {
		owners, err = store.FirstParts(bucket(tx, pinsBucket), prefix)
		return err
	})
	return owners, err
}
