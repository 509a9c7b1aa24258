package catalog

import (
	"cmp"
	"context"
	"errors"

	"go.etcd.io/bbolt"

	"thresher/collection"
	"thresher/segments/folder"
	"thresher/service/problem"
	"thresher/store"
)

// refuseEarly refuses, before the body is read, requests that are invalid in any case. A
// known idempotency key is answered whatever the state, and waiting for a running build comes
// later.
func (c *Catalog) refuseEarly(ctx context.Context, name, key string, may func(*entry) error) error {
	if known, err := c.knows(name, key); err != nil || known {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return draining()
	}
	e := c.entries[name]
	if e != nil && e.Next != nil && c.o.Patience > 0 && wanted(ctx).version == 0 {
		e = &entry{record: record{Ready: cmp.Or(e.Ready, e.Next)}} // the state after the running build
	}
	return may(e)
}

// mayCreate checks whether a collection can be created in place of e, which may be nil.
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

// mayChange checks whether e, which may be nil, can be changed.
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
	p := problem.New(problem.Conflict, "version %d of collection %s is being built; one change is made at a time", e.Next.Version, name).In("name")
	p.RetryAfter = retryAfter
	return p
}

// accept records ch, whose files are durable, and starts building it. It takes over from, a
// use of the version that ch changes, or nil. The collection must be in the required state.
func (c *Catalog) accept(name, key, fingerprint string, ch *change, s *staged, from *Version, required onlyOn, may func(*entry) error) (Info, error) {
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
	if i, found, err := c.findByKey(name, key, fingerprint); err != nil || found {
		return i, err
	}
	defer c.endWrites(name)()
	c.mu.Lock()
	e, closed := c.entries[name], c.closed
	err := may(e)
	c.mu.Unlock()
	if err == nil {
		err = c.isAt(name, required)
	}
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
		p := problem.New(problem.Conflict, "collection %s was changed in the meantime, to version %d", name, versionOf(rec.Ready)).In("name")
		p.RetryAfter = retryAfter
		return Info{}, p
	}
	if err := c.checkLimits(share, ch); err != nil {
		return Info{}, err
	}
	if err := c.record(name, key, fingerprint, rec, s, c.loggedKeys(name)); err != nil {
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

// record records rec, whose next version is new, under the next number of the name. It writes
// the manifest first, then the files, then the record: a process that dies in between leaves
// a manifest without files, which is ignored, or a complete version that was not
// acknowledged. logged are the keys in the log of the version before it.
func (c *Catalog) record(name, key, fingerprint string, rec record, s *staged, logged []*folder.Key) (err error) {
	ch := rec.Next
	ch.CreatedAt = c.o.Now().UTC()
	err = c.db.View(func(tx *bbolt.Tx) error { ch.Version = max(lastNumber(tx, name)+1, ch.least); return nil })
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.dropFile(ch.manifest())
		}
	}()
	if err := c.writeManifest(&manifest{Name: name, Change: *ch, Key: key, Fingerprint: fingerprint}); err != nil {
		return err
	}
	if err := s.rename(); err != nil {
		return err
	}
	if err := c.o.disk.At("record", name); err != nil {
		return store.Full(err)
	}
	return store.Full(c.db.Update(func(tx *bbolt.Tx) error {
		return errors.Join(useNumber(tx, name, ch.Version), putRecord(tx, name, rec), c.adoptKeys(tx, logged), recordKey(tx, key, fingerprint, name, ch))
	}))
}

// checkLimits checks the rows of ch, as far as they are known, against the limits, and reserves
// memory for them.
func (c *Catalog) checkLimits(share *share, ch *change) error {
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

// shape returns what is known of ch's size.
func (ch *change) shape() (shape, error) {
	metric, err := collection.StoredMetric(ch.Metric)
	if err != nil {
		return shape{}, err
	}
	basis, err := collection.ParseBasis(ch.Basis)
	return shape{rows: ch.Count, dim: ch.Dim, metric: metric, basis: basis, elem: ch.elem()}, err
}
