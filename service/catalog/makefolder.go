package catalog

import (
	"context"
	"errors"
	"path/filepath"

	"go.etcd.io/bbolt"

	"thresher/segments/folder"
	"thresher/service/problem"
	"thresher/store"
)

// folderOf returns the version of a folder that v is, or becomes, in use.
func (c *Catalog) folderOf(ctx context.Context, v *Version) (*opened, error) {
	if v.Changes() {
		c.mu.Lock()
		defer c.mu.Unlock()
		v.o.acquire()
		return v.o, nil
	}
	var made *opened
	_, err := c.serialize(ctx, v.o.name, func() (i Info, err error) {
		made, err = c.makeFolder(ctx, v)
		return i, err
	})
	return made, err
}

// makeFolder replaces a version that is a file by one that changes, and returns it in use. A writer that comes just after another finds it made.
func (c *Catalog) makeFolder(ctx context.Context, v *Version) (*opened, error) {
	name, base := v.o.name, newBase(v.o.name)
	if made, err := c.madeOf(v); made != nil || err != nil {
		return made, err
	}
	ch := v.o.change.after(base)
	ch.Seed, ch.Rounded, ch.NextID, ch.Bytes, ch.VectorColumns, ch.Folder = v.o.change.Seed, v.o.change.Rounded, v.o.change.NextID, v.o.change.Bytes, v.o.change.VectorColumns, true
	if ch.IDs == RowNumbers {
		ch.IDs = Integers
	}
	o := c.newOpened(name, *ch)
	err := c.startFolder(ctx, v, o)
	if err == nil {
		defer func() { <-c.buildSlot }()
		err = c.intend(name, ch)
	}
	if err == nil {
		err = c.o.disk.At("make folder", ch.folder())
	}
	if err == nil {
		err = folder.CreateFrom(ctx, filepath.Join(c.dir, ch.folder()), filepath.Join(c.dir, v.o.change.data()), v.o.col, v.o.ids.ids, v.o.columns)
	}
	if err == nil {
		err = o.openFolder(ctx)
	}
	if err == nil {
		err = c.recordFolder(v.o, o)
	}
	if err != nil {
		err = errors.Join(err, o.stop())
		for _, file := range o.change.files() {
			c.dropFile(file)
		}
		return nil, store.Full(err)
	}
	c.o.Log.Info("collection changes by rows from now on", "collection", name, "version", o.change.Version, "rows", o.change.Count)
	return o, nil
}

// startFolder waits until the folder o of a version that is a file may be made, as builds are, and reserves memory for it. Whoever makes it empties
// buildSlot afterwards.
func (c *Catalog) startFolder(ctx context.Context, v *Version, o *opened) error {
	if err := c.occupy(ctx, c.buildSlot); err != nil {
		return err
	}
	if folder.Ordered(v.Len(), v.o.ids.ids) {
		o.share.settle(o.change.Bytes) // the pages of the file are those of the version before
		return nil
	}
	need := shape{rows: int64(v.Len()), dim: v.Dim(), metric: v.o.col.Metric, basis: v.o.col.Basis, elem: v.elem(), idBytes: v.idBytes()}
	err := o.share.resize(need.estimate(), need.String()+", put into the order of their ids to be changed,")
	if err != nil {
		<-c.buildSlot
	}
	return err
}

// idBytes is about what the ids take once they are read from where they change, and put in order.
func (v *Version) idBytes() int64 {
	each := int64(idWork)
	if v.IDs().Kind() == Strings {
		each = textBytes
	}
	return each * int64(v.Len())
}

// intend writes the manifest of a version whose files are going to be made, and which will be recorded with another number if this one is taken then: what a
// process leaves that is killed before is known to be useless by it.
func (c *Catalog) intend(name string, ch *change) error {
	next := *ch
	next.CreatedAt = c.o.Now().UTC()
	if err := c.db.View(func(tx *bbolt.Tx) error { next.Version = lastNumber(tx, name) + 1; return nil }); err != nil {
		return err
	}
	return c.writeManifest(&manifest{Name: name, Change: next})
}

// intended reports whether what lies there was intended only, and is no change that was acknowledged.
func (l *lying) intended() bool {
	return l.manifest != nil && !l.Ready && (l.Change.Folder || l.Change.CopyOf != 0)
}

// madeOf returns the version that a version became when another writer made it a folder, in use; nil if it is the ready one still.
func (c *Catalog) madeOf(v *Version) (*opened, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[v.o.name]
	if e == nil {
		return nil, unknown(v.o.name)
	}
	now := c.versions[ref{v.o.name, versionOf(e.Ready)}]
	switch {
	case now == v.o:
		return nil, nil
	case now != nil && now.changing != nil && now.change.From == v.o.change.Version:
		now.acquire()
		return now, nil
	}
	return nil, c.overtaken(v.o.name, versionOf(e.Ready))
}

func (c *Catalog) overtaken(name string, version int64) error {
	p := problem.New(problem.Conflict, "collection %s was changed in the meantime, to version %d", name, version).In("name")
	p.RetryAfter = retryAfter
	return p
}

// recordFolder records a version that was made of another, former, or of none, and announces it, in use.
func (c *Catalog) recordFolder(former, o *opened) error {
	c.change.Lock()
	defer c.change.Unlock()
	var was *change
	if former != nil {
		was = &former.change
	}
	c.mu.Lock()
	e, closed := c.entries[o.name], c.closed
	c.mu.Unlock()
	switch {
	case closed:
		return draining()
	case e == nil && former != nil:
		return unknown(o.name)
	case e != nil && (versionOf(e.Ready) != versionOf(was) || e.Next != nil):
		return c.overtaken(o.name, max(versionOf(e.Ready), versionOf(e.Next)))
	}
	ch := &o.change
	ch.CreatedAt = c.o.Now().UTC()
	if err := c.db.View(func(tx *bbolt.Tx) error { ch.Version = max(lastNumber(tx, o.name)+1, ch.least); return nil }); err != nil {
		return err
	}
	if err := c.writeManifest(&manifest{Name: o.name, Ready: true, Change: *ch}); err != nil {
		return err
	}
	if err := c.o.disk.At("record", o.name); err != nil {
		return store.Full(err)
	}
	rec, logged := record{Ready: ch}, c.loggedKeys(o.name)
	err := c.db.Update(func(tx *bbolt.Tx) error {
		err := errors.Join(useNumber(tx, o.name, ch.Version), putRecord(tx, o.name, rec), c.adoptKeys(tx, logged))
		if former != nil {
			err = errors.Join(err, c.keepPinned(tx, o.name, was))
		}
		return err
	})
	if err != nil {
		return store.Full(err)
	}
	c.mu.Lock()
	if e == nil {
		e = &entry{}
		c.entries[o.name] = e
	}
	e.record = rec
	o.state = Ready
	close(o.loaded)
	c.versions[ref{o.name, ch.Version}] = o
	o.acquire()
	gone := former != nil && former.retire()
	c.mu.Unlock()
	if gone {
		former.dispose()
	}
	return nil
}
