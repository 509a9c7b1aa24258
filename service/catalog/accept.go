package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.etcd.io/bbolt"

	"thresher/collection"
	"thresher/service/db"
	"thresher/service/durable"
	"thresher/service/problem"
)

// refuseEarly refuses what is refused anyhow, before a body is read. A key that is known
// has an answer whatever the state is, and what is being made is waited for later.
func (c *Catalog) refuseEarly(ctx context.Context, name, key string, may func(*entry) error) error {
	known := false
	err := c.db.View(func(tx *bbolt.Tx) error {
		_, found, err := db.FindKey(bucket(tx, keysBucket), key, "")
		known = found || err != nil
		return nil
	})
	if err != nil || known {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return draining()
	}
	e := c.entries[name]
	if e != nil && e.Next != nil && c.o.Patience > 0 && wanted(ctx) == 0 {
		e = &entry{record: record{Ready: cmp.Or(e.Ready, e.Next)}} // as it will be
	}
	return may(e)
}

// findByKey looks for what was made under a key.
func (c *Catalog) findByKey(key, fingerprint string) (i Info, found bool, err error) {
	err = c.db.View(func(tx *bbolt.Tx) error {
		text, ok, err := db.FindKey(bucket(tx, keysBucket), key, fingerprint)
		if err != nil || !ok {
			return err
		}
		found = true
		return json.Unmarshal(text, &i)
	})
	if err != nil || !found {
		return Info{}, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.version(i.Name, i.Version); ok {
		i = now
	}
	return i, true, nil
}

// mayCreate says whether a collection can be created in place of e, which may be nil.
func (c *Catalog) mayCreate(name string, e *entry, replace bool) error {
	switch {
	case e == nil && len(c.entries) >= c.o.MaxCollections:
		return problem.New(problem.OverLimit, "there are %d collections, at most %d", len(c.entries), c.o.MaxCollections).
			In("name").Within(c.o.MaxCollections)
	case e == nil:
		return nil
	case !replace && (e.Ready != nil || e.Next != nil):
		return problem.New(problem.NameTaken, "there is a collection %s already", name).In("name")
	}
	return busy(name, e)
}

// mayChange says whether e, which may be nil, can be changed.
func (c *Catalog) mayChange(name string, e *entry) error {
	if e == nil {
		return unknown(name)
	}
	return busy(name, e)
}

func busy(name string, e *entry) error {
	if e.Next == nil {
		return nil
	}
	p := problem.New(problem.Conflict, "version %d of collection %s is being made; one change is made at a time", e.Next.Version, name).In("name")
	p.RetryAfter = retryAfter
	return p
}

// accept records ch, whose files are durable, and begins to make it. It takes over from,
// a use of the version that ch changes, or nil.
func (c *Catalog) accept(name, key, fingerprint string, ch *change, s *staged, from *Version, may func(*entry) error) (Info, error) {
	share := c.memory.share(name)
	begun := false
	defer func() {
		if !begun {
			share.settle(0)
			if from != nil {
				from.Release()
			}
		}
	}()
	c.change.Lock()
	defer c.change.Unlock()
	if i, found, err := c.findByKey(key, fingerprint); err != nil || found {
		return i, err
	}
	c.mu.Lock()
	e, closed := c.entries[name], c.closed
	err := may(e)
	c.mu.Unlock()
	if closed {
		return Info{}, draining()
	}
	if err != nil {
		return Info{}, err
	}
	rec := record{Next: ch}
	if e != nil {
		rec.Ready = e.Ready
	}
	if ch.From != versionOf(rec.Ready) && ch.From != 0 {
		p := problem.New(problem.Conflict, "collection %s was changed meanwhile, to version %d", name, versionOf(rec.Ready)).In("name")
		p.RetryAfter = retryAfter
		return Info{}, p
	}
	if err := c.fits(share, ch); err != nil {
		return Info{}, err
	}
	if err := c.record(name, key, fingerprint, rec, s); err != nil {
		return Info{}, err
	}
	s.keep()
	begun = true

	c.mu.Lock()
	defer c.mu.Unlock()
	if e == nil {
		e = &entry{}
		c.entries[name] = e
	}
	e.record = rec
	c.startBuild(e, name, from, share)
	return infoOf(name, ch, Building), nil
}

// record records rec, whose next version is new, under the next number of the name. The
// manifest comes first, then its files, then the record: who dies in between leaves a
// manifest without files, which is nothing, or a version that nobody was told of, which
// is there as a whole.
func (c *Catalog) record(name, key, fingerprint string, rec record, s *staged) (err error) {
	ch := rec.Next
	ch.CreatedAt = time.Now().UTC()
	err = c.db.View(func(tx *bbolt.Tx) error { ch.Version = lastNumber(tx, name) + 1; return nil })
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.drop(ch.manifest())
		}
	}()
	if err := c.writeManifest(&manifest{Name: name, Change: *ch, Key: key, Fingerprint: fingerprint}); err != nil {
		return err
	}
	if err := s.land(); err != nil {
		return err
	}
	if err := c.o.disk.At("record", name); err != nil {
		return durable.Full(err)
	}
	return durable.Full(c.db.Update(func(tx *bbolt.Tx) error {
		text, err := json.Marshal(infoOf(name, ch, Building))
		if err != nil {
			return err
		}
		return errors.Join(useNumber(tx, name, ch.Version), putRecord(tx, name, rec),
			db.PutKey(bucket(tx, keysBucket), key, fingerprint, text, ch.CreatedAt))
	}))
}

// fits holds the rows of ch, as far as they are known, against the limits, and takes the
// memory for them.
func (c *Catalog) fits(share *share, ch *change) error {
	if ch.Count > c.o.MaxRows {
		return problem.New(problem.OverLimit, "%d rows, at most %d", ch.Count, c.o.MaxRows).In("rows").Within(c.o.MaxRows)
	}
	if ch.Count == 0 {
		return nil
	}
	need, err := ch.shape()
	if err != nil {
		return err
	}
	return share.resize(need.estimate(), need.String())
}

// shape is what is known of ch's size.
func (ch *change) shape() (shape, error) {
	metric, err := collection.ParseMetric(ch.Metric)
	if err != nil {
		return shape{}, err
	}
	basis, err := collection.ParseBasis(ch.Basis)
	return shape{rows: ch.Count, dim: ch.Dim, metric: metric, basis: basis}, err
}
