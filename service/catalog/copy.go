package catalog

import (
	"context"
	"errors"
	"path/filepath"

	"go.etcd.io/bbolt"

	"thresher/collection"
	"thresher/service/problem"
	"thresher/store"
)

// PinNow pins what the ready version of a collection holds, durably, until owner unpins, and returns the version that has it. Of a
// version that changes by rows that is a copy of its own, with the next number.
func (c *Catalog) PinNow(ctx context.Context, name, owner string) (version int64, err error) {
	v, err := c.Use(name, 0)
	if err != nil {
		return 0, err
	}
	defer v.Release() // in use until it is pinned
	if !v.Changes() {
		return v.o.change.Version, c.Pin(name, v.o.change.Version, owner)
	}
	c.change.Lock()
	o := c.copyOf(v)
	if o != nil {
		defer o.release()
		err = c.pin(o, owner)
	}
	c.change.Unlock()
	if o != nil {
		return o.change.Version, err
	}
	if o, err = c.makeCopy(ctx, v); err == nil {
		err = c.recordCopy(o, owner)
	}
	if err != nil {
		if o != nil {
			err = errors.Join(err, o.stop())
			for _, file := range o.change.files() {
				c.dropFile(file)
			}
		}
		return 0, store.Full(err)
	}
	return o.change.Version, nil
}

// copyOf returns the copy of what v holds, in use; nil if there is none.
func (c *Catalog) copyOf(v *Version) *opened {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r, o := range c.versions {
		if r.name == v.o.name && o.state == Ready && o.change.CopyOf == v.o.change.Version && o.change.Writes == v.now.Version() {
			o.acquire()
			return o
		}
	}
	return nil
}

// makeCopy builds a version of what v holds, which changes. It is not recorded, and its files are there also if there is an error.
func (c *Catalog) makeCopy(ctx context.Context, v *Version) (*opened, error) {
	if v.Len() == 0 {
		return nil, problem.New(problem.Conflict, "collection %s has no vectors", v.o.name).In("name")
	}
	ch := v.o.change.after(newBase(v.o.name))
	ch.From, ch.CopyOf, ch.Writes, ch.NextID = 0, v.o.change.Version, v.now.Version(), v.o.change.NextID
	o := c.newOpened(v.o.name, *ch)
	form := v.o.changing.Form()
	need := shape{rows: int64(v.Len()), dim: v.Dim(), metric: form.Metric, basis: form.Basis, elem: form.Elem, idBytes: v.idBytes()}
	if err := o.share.resize(need.estimate(), need.String()); err != nil {
		return o, err
	}
	in, err := v.now.Rows()
	if err != nil {
		return o, err
	}
	if err := c.intend(v.o.name, ch); err != nil {
		return o, err
	}
	path := filepath.Join(c.dir, ch.data())
	if err := c.o.disk.At("build", path); err != nil {
		return o, err
	}
	if o.col, err = collection.Create(ctx, path, in, true, &collection.Options{Metric: form.Metric, Basis: form.Basis, Elem: form.Elem, Seed: ch.Seed, Threads: c.o.Threads, Mode: 0o600}); err != nil {
		return o, err
	}
	o.ids = rowIDs(v.now.IDs(in.IDs()))
	if err := writeIDs(c.o.disk, filepath.Join(c.dir, ch.ids()), o.ids); err != nil {
		return o, err
	}
	o.change.Count, o.change.Bytes = int64(o.col.N), o.col.Bytes()+o.ids.bytes()
	if o.columns = columnsOf(in, form.Columns, o.ids); o.columns != nil {
		if err := c.writeColumnsFile(ch, o.columns); err != nil {
			return o, err
		}
		o.change.Bytes += o.columns.Bytes()
	}
	if o.change.Rounded = nil; o.col.Change.Values > 0 {
		o.change.Rounded = roundingOf(o.col.Change)
	}
	o.share.settle(o.change.Bytes)
	return o, o.start(ctx)
}

// recordCopy records a copy with its first pin, and announces it.
func (c *Catalog) recordCopy(o *opened, owner string) error {
	c.change.Lock()
	defer c.change.Unlock()
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return draining()
	}
	ch := &o.change
	ch.CreatedAt = c.o.Now().UTC()
	if err := c.db.View(func(tx *bbolt.Tx) error { ch.Version = lastNumber(tx, o.name) + 1; return nil }); err != nil {
		return err
	}
	if err := c.writeManifest(&manifest{Name: o.name, Ready: true, Change: *ch}); err != nil {
		return err
	}
	if err := c.o.disk.At("record", o.name); err != nil {
		return err
	}
	err := c.db.Update(func(tx *bbolt.Tx) error {
		return errors.Join(useNumber(tx, o.name, ch.Version), bucket(tx, pinsBucket).Put(pinKey(owner, o.name, ch.Version), []byte{}),
			store.PutJSON(bucket(tx, retiredBucket), versionKey(o.name, ch.Version), ch))
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o.state, o.retired, o.pins = Ready, true, 1
	close(o.loaded)
	c.versions[ref{o.name, ch.Version}] = o
	return nil
}
