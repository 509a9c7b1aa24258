package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/segments/folder"
	"thresher/service/api"
	"thresher/service/problem"
	"thresher/store"
)

// changing is the second form of a version: its vectors are in a folder, and change by rows. Searches read
// what the folder held when they began.
type changing struct {
	*folder.Folder
	backend string
	// reserved is the memory of writes on their way, which the folder does not hold yet.
	reserved atomic.Int64
	// numbering is held while rows without ids get theirs.
	numbering sync.Mutex
	block     blocks
}

// folderSuffix is the suffix of the name of a version's folder.
const folderSuffix = ".folder"

func (ch *change) folder() string { return ch.Base + folderSuffix }

// openFolder opens the folder of a version, whose vectors change.
func (o *opened) openFolder(ctx context.Context) error {
	if o.c.o.Place == nil {
		return errors.New("this server searches no collections that change by rows")
	}
	b, engine, err := o.c.o.Place(o.name)
	if err != nil {
		return err
	}
	made := &changing{backend: b.Name()}
	upkept := func(f *folder.Folder) { o.share.settle(made.bytes(f)) }
	f, err := folder.Open(ctx, filepath.Join(o.c.dir, o.change.folder()), folder.Options{Backend: b, Engine: *engine, Threads: o.c.upkeepThreads(), Upkept: upkept, ReadOnly: o.c.o.Linked})
	if err != nil {
		return err
	}
	made.Folder = f
	o.changing = made
	if r := f.Recovered(); r.File != "" {
		o.c.o.Log.Warn("a write of rows that was not whole, and so was never acknowledged, is cut off", "collection", o.name, "file", filepath.Base(r.File), "offset", r.Offset, "bytes", r.Cut)
	}
	now := f.Snapshot()
	defer now.Release()
	return o.share.resize(bytesOf(now), shape{rows: int64(now.Len()), dim: o.change.Dim}.String())
}

// CopyFolder makes a folder at to that has what a version's folder of this name holds now; done is false if this catalog does not have it
// open, and so writes nothing to it.
func (c *Catalog) CopyFolder(name, to string) (done bool, err error) {
	<-c.ready // opening a folder changes it; one that could not be opened is written by nobody
	c.mu.Lock()
	var o *opened
	for _, one := range c.versions {
		if one.state == Ready && one.changing != nil && one.change.folder() == name {
			o = one
			o.acquire()
		}
	}
	c.mu.Unlock()
	if o == nil {
		return false, nil
	}
	defer o.release()
	_, err = o.changing.Copy(to)
	return true, err
}

// upkeepThreads are those of seals and merges: a quarter of a build's, 0 a quarter of GOMAXPROCS.
func (c *Catalog) upkeepThreads() int { return (c.o.Threads + 3) / 4 }

// textBytes is about what the table of a folder takes for an id that is a text, and for the text.
const textBytes = 80

// bytesOf returns the memory of what a folder holds.
func bytesOf(now *folder.Snapshot) int64 {
	n := now.Size().Bytes
	if now.Textual() {
		n += textBytes * int64(now.Len())
	}
	return n
}

// Placer returns the backend that searches the segments of a collection that changes by rows, and the options of their engines.
type Placer func(name string) (backend.Backend, *batch.Options, error)

// Written says what a change by rows did.
type Written = folder.Written

// Put writes src's rows under their ids, which they must have: those that are there are replaced. A collection that is a file
// becomes one that changes by rows. It returns when the rows are durable; the next search has them. See Create for key.
func (c *Catalog) Put(ctx context.Context, name string, src Source, key string) (Info, error) {
	if err := c.refuseEarly(ctx, name, key, func(e *entry) error { return mayWrite(name, e) }); err != nil {
		return Info{}, err
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
	if rows.ids == nil {
		return Info{}, problem.New(problem.InvalidValue, "the rows to put have no ids, under which they are written").In("ids")
	}
	fingerprint := printOf("put", name, rows.id, src.columns(), src.IDColumn, nil)
	return c.changeRowsOnce(ctx, key, fingerprint, func() (Info, error) {
		if err := c.isAt(name, wanted(ctx)); err != nil {
			return Info{}, err
		}
		return c.changeRows(ctx, v, folder.Change{IDs: rows.ids, Rows: rows.values, Columns: rows.columns, Rounding: rows.rounding}, rows.warnings, key, fingerprint)
	})
}

// changeRowsOnce makes a change by rows unless one was made under its idempotency key, whose answer it returns then. Requests under one key
// come one after the other.
func (c *Catalog) changeRowsOnce(ctx context.Context, key, fingerprint string, change func() (Info, error)) (Info, error) {
	if key == "" {
		return change()
	}
	leave, err := c.enter(ctx, c.keyed, key)
	if err != nil {
		return Info{}, err
	}
	defer leave()
	if i, found, err := c.findByKey(key, fingerprint); err != nil || found {
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
	known, err := c.knows(key)
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

// mayBecomeFolder refuses what folders cannot hold.
func (o *opened) mayBecomeFolder() error {
	what := ""
	switch {
	case o.c.o.Place == nil:
		what = "this server changes no collections by rows"
	case o.col.Elem() == dataset.ElemFloat64:
		what = fmt.Sprintf("collection %s is kept as %s, and collections that change by rows are float32 or narrower", o.name, o.col.Elem())
	default:
		return nil
	}
	return problem.New(problem.Conflict, "%s: POST appends rows, and PUT of the collection with overwrite replaces it", what).In("name")
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
	done, err := o.write(ctx, ch)
	if err != nil {
		return Info{}, err
	}
	c.mu.Lock()
	i := o.info()
	c.mu.Unlock()
	i.Writes, i.Warnings, i.Change = &done.Version, warnings, &api.RowChange{Written: done.Rows, Replaced: done.Replaced, Deleted: done.Deleted}
	if key == "" {
		return i, nil
	}
	if err = c.o.disk.At("record answer", o.name); err == nil {
		err = c.db.Update(func(tx *bbolt.Tx) error { return recordAnswer(tx, key, fingerprint, i, c.o.Now()) })
	}
	if err != nil { // the change is made
		c.o.Log.Error("the idempotency key of a change of rows could not be recorded", "collection", o.name, "reason", err)
	}
	return i, nil
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
	if n := len(ch.Rows) / o.change.Dim; n > 0 {
		if err := o.fits(ch.IDs, n); err != nil {
			return Written{}, err
		}
		need := o.shapeOfRows(&ch, f.Form().Metric, f.Form().Basis)
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

// checkFirst refuses, before a version that is a file becomes a folder, rows that the folder would refuse.
func (o *opened) checkFirst(ch *folder.Change) error {
	if ch.Rows == nil { // ids that are there are deleted
		return nil
	}
	n, dim := ch.IDs.Len(), o.change.Dim
	if err := o.describeWrite(cmp.Or(o.col.Metric.CheckRows(ch.Rows, dim), collection.CheckElem(ch.Rows, dim, o.col.Elem()))); err != nil {
		return err
	}
	if total := int64(o.col.N + n); total > o.c.o.MaxRows {
		for row := range int64(n) {
			if _, there := o.ids.rowOfText(ch.IDs.Text(row)); there {
				total--
			}
		}
		if err := o.c.checkRowLimit(total); err != nil {
			return err
		}
	}
	for row := range int64(n) {
		if at, there := o.ids.rowOfText(ch.IDs.Text(row)); there && ch.Only == folder.OnlyNew {
			return taken(int(row), o.ids, at)
		}
	}
	need := o.shapeOfRows(ch, o.col.Metric, o.col.Basis)
	bytes := need.estimate()
	if err := o.share.grow(bytes, need.String()); err != nil {
		return err
	}
	return o.share.grow(-bytes, "")
}

// shapeOfRows is the size of rows that are written, with what describes them. They wait in float32, whatever their type.
func (o *opened) shapeOfRows(ch *folder.Change, metric collection.Metric, basis collection.Basis) shape {
	n := int64(ch.IDs.Len())
	s := shape{rows: n, dim: o.change.Dim, metric: metric, basis: basis, idBytes: textBytes * n}
	if ch.Columns != nil {
		s.idBytes += ch.Columns.Bytes()
	}
	return s
}

// checkRowLimit refuses more rows than a collection may have.
func (c *Catalog) checkRowLimit(total int64) error {
	if most := c.o.MaxRows; total > most {
		return problem.New(problem.OverLimit, "%d rows, at most %d", total, most).In("rows").Within(most)
	}
	return nil
}

// measure sets the share of a version that changes to what it holds.
func (o *opened) measure() { o.share.settle(o.changing.bytes(o.changing.Folder)) }

// bytes is the memory of what the folder holds now, and of writes on their way.
func (ch *changing) bytes(f *folder.Folder) int64 {
	now := f.Snapshot()
	defer now.Release()
	return bytesOf(now) + ch.reserved.Load()
}

// fits refuses rows that are too many with those that are there.
func (o *opened) fits(ids *dataset.IDs, n int) error {
	now := o.changing.Snapshot()
	defer now.Release()
	if int64(now.Len()+n) <= o.c.o.MaxRows {
		return nil
	}
	total := now.Len()
	for _, number := range now.Numbers(ids) {
		if number < 0 || !now.Has(number) {
			total++
		}
	}
	return o.c.checkRowLimit(int64(total))
}

// describeWrite returns the problem of a write that failed.
func (o *opened) describeWrite(err error) error {
	var at *dataset.Error
	var row *collection.RowError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, folder.ErrChanged):
		return o.mismatch()
	case errors.Is(err, folder.ErrThere) && errors.As(err, &at):
		return problem.New(problem.InvalidValue, "row %d: %v", at.Row, at.Err).At("ids", int(at.Row)).Because(err)
	case errors.Is(err, folder.ErrMissing) && errors.As(err, &at):
		return problem.New(problem.UnknownID, "%v", at.Err).At("ids", int(at.Row)).Because(err)
	case errors.As(err, &at):
		return problem.New(problem.InvalidValue, "row %d: %v", at.Row, at.Err).At("ids", int(at.Row)).Because(err)
	case errors.As(err, &row):
		return problem.New(problem.InvalidValue, "the rows: %v", row).At("rows", row.Row).Because(err)
	case errors.Is(err, folder.ErrClosed):
		return draining()
	}
	return store.Full(err)
}

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
	select {
	case c.buildSlot <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return draining()
	}
	if folder.Ordered(v.Len(), v.o.ids.ids) {
		o.share.settle(o.change.Bytes) // the pages of the file are those of the version before
		return nil
	}
	need := shape{rows: int64(v.Len()), dim: v.Dim(), metric: v.o.col.Metric, basis: v.o.col.Basis, idBytes: v.idBytes()}
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
	rec := record{Ready: ch}
	err := c.db.Update(func(tx *bbolt.Tx) error {
		err := errors.Join(useNumber(tx, o.name, ch.Version), putRecord(tx, o.name, rec))
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

// wantedWrites returns the number of writes that the folder must have for a change, nil for any; made says that it was made for this change.
func (o *opened) wantedWrites(ctx context.Context, made bool) (*uint64, error) {
	w := wanted(ctx)
	switch {
	case w.version == 0:
		return nil, nil
	case made: // of the version that is required, which has no writes
		return new(uint64), nil
	case w.version != o.change.Version || w.writes == nil:
		return nil, o.mismatch()
	}
	return w.writes, nil
}

// mismatch is the problem of a change that requires another state than that of the version.
func (o *opened) mismatch() error {
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	return mismatch(o.info())
}

// mismatch is the problem of a change that requires another state of a collection than i.
func mismatch(i Info) error {
	if i.Writes == nil {
		return problem.New(problem.Conflict, "the newest version of collection %s is %d, and the change requires another", i.Name, i.Version).In("If-Match").Within(i.Version)
	}
	return problem.New(problem.Conflict, "the newest version of collection %s is %d with %d writes, and the change requires another", i.Name, i.Version, *i.Writes).In("If-Match").Within(i.Tag())
}

// describe fills in what a version that changes holds now.
func (f *changing) describe(i *Info) {
	now := f.Snapshot()
	defer now.Release()
	describeSnapshot(i, now)
	form := f.Form()
	i.Backend, i.DType = f.backend, form.Elem.String()
	// Its segments have codes where they are large enough.
	coded := form.Basis == collection.Rotated && form.Dim >= collection.MinRotated
	i.Methods = methodNames(batch.Searchable{Basis: form.Basis, Metric: form.Metric, Float64: form.Elem == dataset.ElemFloat64, Dim: form.Dim, Coded: coded}.Methods())
}

// describeSnapshot fills in what a version held at an instant.
func describeSnapshot(i *Info, now *folder.Snapshot) {
	size, writes := now.Size(), now.Version()
	i.Count, i.Bytes, i.Writes, i.Segments, i.Unsealed = int64(now.Len()), bytesOf(now), &writes, size.Segments, int64(size.Waiting)
	if i.Rounded = nil; now.Change().Values > 0 {
		i.Rounded = roundingOf(now.Change())
	}
}
