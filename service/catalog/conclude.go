package catalog

import (
	"errors"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// conclude announces the version that was built, or why it failed. The version that it
// replaces is removed unless it is pinned or in use.
func (c *Catalog) conclude(b *build, o *opened, err error) (Info, error) {
	c.change.Lock()
	defer c.change.Unlock()
	defer c.endWrites(b.name)()
	e := c.current(b)
	if e == nil { // deleted in the meantime
		if err == nil {
			err = o.stop()
			c.mu.Lock()
			c.vacate(b.name) // removes what was reported since the deletion
			c.mu.Unlock()
		}
		b.clear(b.change.files()...)
		return Info{}, errors.Join(unknown(b.name), err)
	}
	rec := e.record
	rec.Next = nil
	if err == nil {
		former := rec.Ready
		rec.Ready, rec.Failed = &o.change, nil
		o.change.Rows, o.change.Drop = nil, "" // the sources are no longer needed
		if err = c.markReady(b.name, &o.change); err == nil {
			err = c.replace(b.name, rec, former)
		}
		if err != nil {
			err = errors.Join(err, o.stop())
			rec = e.record
			rec.Next = nil
		}
	}
	if err != nil {
		return c.fail(b, e, rec, err, true), nil
	}

	c.mu.Lock()
	former := c.versions[ref{b.name, versionOf(e.Ready)}]
	e.record, e.build = rec, nil
	o.state = Ready
	close(o.loaded)
	c.versions[ref{b.name, o.change.Version}] = o
	gone := former != nil && former.retire()
	info := o.info()
	c.mu.Unlock()
	b.clear(b.change.sources()...)
	if gone {
		former.dispose()
	}
	c.o.Log.Info("collection is ready", "collection", b.name, "version", info.Version, "rows", info.Count)
	return info, nil
}

// current returns the collection that b builds a version of, nil if it was deleted. The
// caller holds change, which guards entries.
func (c *Catalog) current(b *build) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[b.name]; e != nil && e.build == b {
		return e
	}
	return nil
}

// retire marks o as no longer the newest, and reports whether the caller must dispose of it.
// The caller holds mu.
func (o *opened) retire() bool {
	o.retired = true
	return o.unneeded()
}

func versionOf(ch *change) int64 {
	if ch == nil {
		return 0
	}
	return ch.Version
}

// replace records rec, and keeps the record of the replaced version if that is pinned.
func (c *Catalog) replace(name string, rec record, former *change) error {
	if err := c.o.disk.At("record", name); err != nil {
		return store.Full(err)
	}
	return store.Full(c.db.Update(func(tx *bbolt.Tx) error {
		return errors.Join(putRecord(tx, name, rec), c.keepPinned(tx, name, former))
	}))
}

// postpone abandons a build whose base version cannot be used now; it is tried again when the
// folder is next opened.
func (c *Catalog) postpone(b *build, err error) (Info, error) {
	if c.ctx.Err() != nil {
		return Info{}, draining()
	}
	c.change.Lock()
	defer c.change.Unlock()
	e := c.current(b)
	if e == nil {
		b.clear(b.change.files()...)
		return Info{}, unknown(b.name)
	}
	rec := e.record
	rec.Next = nil
	return c.fail(b, e, rec, err, false), nil
}

// fail announces why a version could not be built and, if durable, records it.
func (c *Catalog) fail(b *build, e *entry, rec record, err error, durable bool) Info {
	failed := b.change
	from, path := &origin{Called: "the rows"}, ""
	if failed.Rows != nil {
		from, path = failed.Rows, c.at(failed.Rows)
	}
	p := describe(err, from, path)
	failed.Failure, failed.Rows, failed.Drop = newFailure(p), nil, ""
	rec.Failed = &failed
	c.o.Log.Error("collection could not be built", "collection", b.name, "version", failed.Version, "reason", calledIn(err, from, path))
	if durable {
		err = c.o.disk.At("record failure", b.name)
		if err == nil {
			err = c.db.Update(func(tx *bbolt.Tx) error { return putRecord(tx, b.name, rec) })
		}
		if err != nil {
			c.o.Log.Error("the failure could not be recorded", "collection", b.name, "reason", err)
		}
	}
	switch m, lost := c.readManifest(b.change.Base); {
	case durable && err == nil:
		b.clear(b.change.files()...)
	case lost == nil && m.Ready: // built but not recorded: recording is tried again at the next start
	default:
		b.clear(b.change.data(), b.change.ids(), b.change.columns())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.record, e.build = rec, nil
	return infoOf(b.name, &failed, Failed)
}
