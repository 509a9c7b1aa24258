package catalog

import (
	"context"

	"thresher/segments/folder"
	"thresher/service/problem"
	"thresher/store"
)

// Put writes src's rows under their ids, which they must have: those that are there are replaced. A collection that is a file
// becomes one that changes by rows. It returns when the rows are durable; the next search has them. See Create for key.
func (c *Catalog) Put(ctx context.Context, name string, src Source, key string) (Info, error) {
	if err := c.refuseEarly(ctx, name, key, func(e *entry) error { return mayWrite(name, e) }); err != nil {
		return Info{}, err
	}
	if known, err := c.knows(name, key); err != nil || known {
		return c.answeredBefore(ctx, name, key, &src, func(id string) string { return putPrint(name, id, &src) })
	}
	v, err := c.settled(ctx, name, key)
	if err != nil {
		return Info{}, err
	}
	defer v.Release()
	if key == "" { // else the change that is required to come first may have been made under it
		if err := c.isAt(name, wanted(ctx)); err != nil {
			return Info{}, err
		}
	}
	if !v.Changes() {
		if err := v.o.mayBecomeFolder(); err != nil {
			return Info{}, err
		}
	}
	rows, err := c.readRows(ctx, v, &src, key != "")
	if err != nil {
		return Info{}, err
	}
	defer rows.free()
	if rows.ids == nil {
		return Info{}, problem.New(problem.InvalidValue, "the rows to put have no ids, under which they are written").In("ids")
	}
	fingerprint := putPrint(name, rows.id, &src)
	return c.changeRowsOnce(ctx, name, key, fingerprint, func() (Info, error) {
		if err := c.isAt(name, wanted(ctx)); err != nil {
			return Info{}, err
		}
		return c.changeRows(ctx, v, rows.change(), rows.warnings, key, fingerprint)
	})
}

// answeredBefore answers a change of a collection by the rows of src, of which something was made under its key: as then if it was the same, whatever
// has become of the collection since, so that the rows are not compared with it. print is the fingerprint of the change by rows that are known by id.
func (c *Catalog) answeredBefore(ctx context.Context, name, key string, src *Source, print func(id string) string) (Info, error) {
	s, err := c.stage(ctx, newBase(name), src, c.coordinates(name), false)
	defer s.discard()
	if err != nil && (src.Rows != nil || src.Rows64 != nil || s.id == "") { // else the rows only do not fit the collection as it is now
		return Info{}, err
	}
	i, found, other := c.findByKey(name, key, print(s.id))
	switch {
	case other != nil:
		return Info{}, other
	case !found && err == nil: // its time has ended meanwhile
		err = unknown(name)
	case found:
		return i, nil
	}
	return Info{}, err
}

// putPrint is the fingerprint of a Put of rows that are known by id.
func putPrint(name, id string, src *Source) string {
	return printOf("put", name, id, src.columns(), src.IDColumn, nil)
}

// appendPrint is putPrint of an Append.
func appendPrint(name, id string, src *Source) string {
	return printOf("append", name, id, src.columns(), src.IDColumn, nil)
}

// changeRowsOnce makes a change by rows unless one was made under its idempotency key, whose answer it returns then. Requests under one key
// come one after the other.
func (c *Catalog) changeRowsOnce(ctx context.Context, name, key, fingerprint string, change func() (Info, error)) (Info, error) {
	if key == "" {
		return change()
	}
	leave, err := c.enter(ctx, c.keyed, key)
	if err != nil {
		return Info{}, err
	}
	defer leave()
	if i, found, err := c.findByKey(name, key, fingerprint); err != nil || found {
		return i, err
	}
	return change()
}

// mayWrite checks whether rows of e, which may be nil, can be written.
func mayWrite(name string, e *entry) error {
	if e == nil {
		return unknown(name)
	}
	return nil
}

// settled returns the ready version of a collection, in use, once builds that were accepted before have ended; at once for a change that was
// made under its idempotency key.
func (c *Catalog) settled(ctx context.Context, name, key string) (v *Version, err error) {
	known, err := c.knows(name, key)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	e := c.entries[name]
	building := e != nil && e.Next != nil
	c.mu.Unlock()
	if !building || known {
		return c.Use(name, 0)
	}
	_, err = c.serialize(ctx, name, func() (i Info, err error) {
		v, err = c.Use(name, 0)
		return i, err
	})
	return v, err
}

// changingVersion returns the ready version of a collection, in use, if it changes by rows or may become one that does; else nil.
func (c *Catalog) changingVersion(ctx context.Context, name, key string) (*Version, error) {
	c.mu.Lock()
	unknown := c.entries[name] == nil
	c.mu.Unlock()
	if unknown || c.o.Place == nil {
		return nil, nil
	}
	v, err := c.settled(ctx, name, key)
	if err != nil || v.Changes() || v.o.mayBecomeFolder() == nil {
		return v, err
	}
	v.Release()
	return nil, nil
}

// mayBecomeFolder refuses changes by rows where the server makes none.
func (o *opened) mayBecomeFolder() error {
	if o.c.o.Place != nil {
		return nil
	}
	return problem.New(problem.Conflict, "this server changes no collections by rows: POST appends rows, and PUT of the collection with overwrite replaces it").In("name")
}

// changeRows makes a change of the version's folder, which is made if it has none.
func (c *Catalog) changeRows(ctx context.Context, v *Version, ch folder.Change, warnings []string, key, fingerprint string) (Info, error) {
	if !v.Changes() {
		if err := v.o.checkFirst(&ch); err != nil {
			return Info{}, err
		}
	}
	o, err := c.folderOf(ctx, v)
	if err != nil {
		return Info{}, err
	}
	defer o.release()
	return o.changeBeside(ctx, v, ch, warnings, key, fingerprint)
}

// changeBeside makes a change of the folder that v has, or became, beside other writers.
func (o *opened) changeBeside(ctx context.Context, v *Version, ch folder.Change, warnings []string, key, fingerprint string) (Info, error) {
	o.writing.RLock()
	defer o.writing.RUnlock()
	return o.changeHeld(ctx, v, func() (folder.Change, error) { return ch, nil }, warnings, key, fingerprint)
}

// changeHeld makes the change that is returned of the folder that v has, or became. The caller holds writing, so that it is not replaced meanwhile.
func (o *opened) changeHeld(ctx context.Context, v *Version, change func() (folder.Change, error), warnings []string, key, fingerprint string) (Info, error) {
	c := o.c
	err := o.mayWrite(wanted(ctx))
	if err != nil {
		return Info{}, err
	}
	ch, err := change()
	if err != nil {
		return Info{}, err
	}
	if ch.If, err = o.wantedWrites(ctx, o != v.o); err != nil {
		return Info{}, err
	}
	if key != "" {
		ch.Key = o.newKey(key, fingerprint, warnings)
	}
	done, err := o.write(ctx, ch)
	if err != nil {
		return Info{}, err
	}
	if key != "" { // who repeats it gets the same
		var i Info
		return i, store.ReadJSON("idempotency key", ch.Key.Answer, &i)
	}
	c.mu.Lock()
	i := o.info()
	c.mu.Unlock()
	return i.changed(done, warnings), nil
}

// mayWrite refuses writes to a version that was replaced or deleted, or is going to be. The caller holds writing.
func (o *opened) mayWrite(w onlyOn) error {
	c := o.c
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[o.name]
	switch {
	case e == nil:
		return unknown(o.name)
	case c.versions[ref{o.name, versionOf(e.Ready)}] != o && w.version != 0:
		return mismatch(c.describe(o.name, e))
	case c.versions[ref{o.name, versionOf(e.Ready)}] != o:
		return c.overtaken(o.name, versionOf(e.Ready))
	}
	return busy(o.name, e)
}

// endWrites waits for the writes of rows to a collection's newest version, and keeps others waiting until resume is called. The caller holds change,
// which guards which version that is.
func (c *Catalog) endWrites(name string) (resume func()) {
	c.mu.Lock()
	var o *opened
	if e := c.entries[name]; e != nil {
		o = c.versions[ref{name, versionOf(e.Ready)}]
	}
	c.mu.Unlock()
	if o == nil {
		return func() {}
	}
	o.writing.Lock()
	return o.writing.Unlock
}

// write makes a change of a version's folder, which the caller uses, within the limits.
func (o *opened) write(ctx context.Context, ch folder.Change) (Written, error) {
	f := o.changing
	if !ch.Deletes() {
		if err := o.fits(ch.IDs, ch.IDs.Len()); err != nil {
			return Written{}, err
		}
		form := f.Form()
		need := o.shapeOfRows(&ch, form.Metric, form.Basis, form.Elem)
		bytes := need.estimate()
		if err := o.share.grow(bytes, need.String()); err != nil {
			return Written{}, err
		}
		f.reserved.Add(bytes)
		defer func() {
			f.reserved.Add(-bytes)
			o.measure()
		}()
	} else {
		defer o.measure()
	}
	done, err := f.Apply(ctx, ch)
	return done, o.describeWrite(err)
}
