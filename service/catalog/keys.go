package catalog

import (
	"encoding/json"
	"time"

	"go.etcd.io/bbolt"

	"thresher/segments/folder"
	"thresher/service/api"
	"thresher/store"
)

// An idempotency key lies where its change becomes durable: that of a change by rows in the log of the collection's folder, until the log is removed or
// another version takes the folder's place; all others in the database.

// knows reports whether something was made under an idempotency key, whatever was asked for.
func (c *Catalog) knows(name, key string) (known bool, err error) {
	_, found, err := c.lookUp(name, key, "")
	return found || err != nil, nil
}

// findByKey looks up what was made under an idempotency key: a version as it is now, or the answer to a change by rows, which is that of the first request.
func (c *Catalog) findByKey(name, key, fingerprint string) (i Info, found bool, err error) {
	text, found, err := c.lookUp(name, key, fingerprint)
	if err != nil || !found {
		return Info{}, false, err
	}
	if err := store.ReadJSON("idempotency key", text, &i); err != nil {
		return Info{}, false, err
	}
	if i.Writes != nil || i.Change != nil {
		return i, true, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.version(i.Name, i.Version); ok {
		i = now
	}
	return i, true, nil
}

// lookUp returns what is recorded under an idempotency key, in the folder of a collection or in the database. The folder comes first: it hands its keys
// over before it forgets them.
func (c *Catalog) lookUp(name, key, fingerprint string) (text []byte, found bool, err error) {
	if key == "" {
		return nil, false, nil
	}
	if f := c.folderNow(name); f != nil {
		if k := f.FindKey(key); k != nil {
			if found, err := store.MatchKey(k.At, k.Fingerprint, fingerprint, c.o.Now()); found || err != nil {
				return k.Answer, found, err
			}
		}
	}
	err = c.db.View(func(tx *bbolt.Tx) (err error) {
		text, found, err = store.FindKey(bucket(tx, keysBucket), key, fingerprint, c.o.Now())
		return err
	})
	return text, found, err
}

// folderNow returns the folder of a collection's newest version; nil if that is a file or not open.
func (c *Catalog) folderNow(name string) *changing {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[name]
	if e == nil {
		return nil
	}
	o := c.versions[ref{name, versionOf(e.Ready)}]
	if o == nil || o.state != Ready {
		return nil
	}
	return o.changing
}

// loggedKeys returns the keys in the log of a collection's newest version.
func (c *Catalog) loggedKeys(name string) []*folder.Key {
	if f := c.folderNow(name); f != nil {
		return f.Keys()
	}
	return nil
}

// keepKeys takes over the keys of a folder's log that is going to be removed.
func (c *Catalog) keepKeys(keys []*folder.Key) error {
	err := c.o.disk.At("keep keys", "")
	if err == nil {
		err = c.db.Update(func(tx *bbolt.Tx) error { return c.adoptKeys(tx, keys) })
	}
	return store.Full(err)
}

// adoptKeys records keys that were in a log.
func (c *Catalog) adoptKeys(tx *bbolt.Tx, keys []*folder.Key) error {
	b, now := bucket(tx, keysBucket), c.o.Now()
	for _, k := range keys {
		if err := store.AdoptKey(b, k.Name, k.Fingerprint, k.Answer, k.At, now); err != nil {
			return err
		}
	}
	return nil
}

// newKey returns the key of a change by rows of o, whose answer describes the collection as it is before the change, but for what the change does.
func (o *opened) newKey(key, fingerprint string, warnings []string) *folder.Key {
	return &folder.Key{Name: key, Fingerprint: fingerprint, At: o.c.o.Now(), Answering: func(will folder.Written, vectors int) ([]byte, error) {
		o.c.mu.Lock()
		i := o.info()
		o.c.mu.Unlock()
		i.Count = int64(vectors)
		return json.Marshal(i.changed(will, warnings))
	}}
}

// changed returns a description of a collection with what a change of it did.
func (i Info) changed(done folder.Written, warnings []string) Info {
	i.Writes, i.Warnings, i.Change = &done.Version, warnings, &api.RowChange{Written: done.Rows, Replaced: done.Replaced, Deleted: done.Deleted}
	return i
}

// recordKey records, under an idempotency key, the version that it made.
func recordKey(tx *bbolt.Tx, key, fingerprint, name string, ch *change) error {
	return recordAnswer(tx, key, fingerprint, infoOf(name, ch, Building), ch.CreatedAt)
}

// recordAnswer records, under an idempotency key, the answer to a change.
func recordAnswer(tx *bbolt.Tx, key, fingerprint string, i Info, at time.Time) error {
	text, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return store.PutKey(bucket(tx, keysBucket), key, fingerprint, text, at)
}
