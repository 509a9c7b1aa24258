package catalog

import (
	"errors"
	"fmt"
	"iter"
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
	for v, err := range eachRetired(tx) {
		if err != nil {
			return err
		}
		o := c.newOpened(v.name, v.change)
		o.retired = true
		c.versions[v.ref] = o
	}
	return bucket(tx, pinsBucket).ForEach(func(key, _ []byte) error {
		_, pinned, err := cutPinKey(key)
		if o := c.versions[pinned]; o != nil {
			o.pins++
		}
		return err
	})
}

// replaced is the record of a version that has been replaced, and is pinned.
type replaced struct {
	ref
	change
}

func readRetired(key, text []byte) (v replaced, err error) {
	if v.name, v.version, err = cutVersionKey(key); err == nil {
		err = store.ReadJSON(fmt.Sprintf("version %d of collection %s", v.version, clip(v.name)), text, &v.change)
	}
	return v, err
}

// eachRetired visits the records of all replaced versions.
func eachRetired(tx *bbolt.Tx) iter.Seq2[replaced, error] {
	return store.Each(bucket(tx, retiredBucket), readRetired)
}

// checkRetired returns what is wrong with the record of a replaced version.
func checkRetired(key, text []byte) error {
	v, err := readRetired(key, text)
	if err == nil && v.Version != v.version {
		err = fmt.Errorf("it describes version %d of %s, not %d", v.Version, clip(v.name), v.version)
	}
	return errors.Join(err, checkName(v.name), v.check())
}

// checkPin returns what is wrong with the entry of a pin.
func checkPin(key, _ []byte) error {
	owner, pinned, err := cutPinKey(key)
	if err == nil && (owner == "" || pinned.version < 1) {
		err = errors.New("it names no owner and version")
	}
	return errors.Join(err, checkName(pinned.name))
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
