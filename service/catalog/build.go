package catalog

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"sync/atomic"

	"thresher/collection"
	"thresher/dataset"
	"thresher/service/problem"
)

// build is a version being built.
type build struct {
	c        *Catalog
	name     string
	change   change
	from     *Version // a use of the version that it changes, or nil
	share    *share
	cancel   context.CancelFunc
	progress atomic.Uint64 // float64 in [0, 1]
	warnings []string      // of columns that are not kept

	done chan struct{} // closed when the build has ended; then
	info Info          // info is the result, or
	err  error         // err why the build was interrupted
}

// startBuild starts building a version that has been recorded. share holds the memory that it
// is known to need. The caller holds mu.
func (c *Catalog) startBuild(e *entry, name string, from *Version, share *share) {
	ctx, cancel := context.WithCancel(c.ctx)
	b := &build{c: c, name: name, change: *e.Next, from: from, share: share, cancel: cancel, done: make(chan struct{})}
	e.build = b
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		defer close(b.done)
		defer cancel()
		b.info, b.err = b.run(ctx)
	}()
}

// run builds the version and announces it.
func (b *build) run(ctx context.Context) (Info, error) {
	defer func() {
		if b.from != nil {
			b.from.Release()
		}
	}()
	if err := b.wait(ctx); err != nil {
		b.share.settle(0)
		b.forget()
		return Info{}, err
	}
	defer func() { <-b.c.buildSlot }()
	if b.change.From != 0 && b.from == nil { // accepted by an earlier process
		var err error
		if b.from, err = b.c.Use(b.name, b.change.From); err != nil {
			b.share.settle(0)
			return b.c.postpone(b, err)
		}
	}
	o, err := b.makeVersion(ctx)
	if err != nil {
		if serr := o.stop(); serr != nil {
			b.c.o.Log.Warn("closing a version that failed", "collection", b.name, "reason", serr)
		}
	}
	if ctx.Err() != nil && err != nil {
		b.clear(b.change.data(), b.change.ids(), b.change.columns())
		b.forget()
		return Info{}, b.stopReason()
	}
	return b.c.conclude(b, o, err)
}

// wait waits until all versions are loaded and the build slot is free.
func (b *build) wait(ctx context.Context) error {
	select {
	case <-b.c.ready:
	case <-ctx.Done():
		return b.stopReason()
	}
	select {
	case b.c.buildSlot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return b.stopReason()
	}
}

// forget removes the sources of the version if the collection was deleted.
func (b *build) forget() {
	if b.c.ctx.Err() == nil {
		b.clear(b.change.files()...)
	}
}

// stopReason returns the error of a build that was stopped.
func (b *build) stopReason() error {
	if b.c.ctx.Err() != nil {
		return draining()
	}
	return unknown(b.name)
}

func (b *build) clear(names ...string) {
	for _, name := range names {
		b.c.dropFile(name)
	}
}

// makeVersion builds the version without announcing it. The returned version owns what was opened,
// also if there is an error.
func (b *build) makeVersion(ctx context.Context) (*opened, error) {
	o := b.c.newOpened(b.name, b.change)
	o.share = b.share
	b.clear(b.change.data(), b.change.ids(), b.change.columns()) // an earlier process may have left them
	if err := b.c.checkLimits(b.share, &b.change); err != nil {
		return o, err
	}
	if err := b.c.unchanged(b.change.Rows); err != nil {
		return o, err
	}
	if err := b.collect(ctx, o); err != nil {
		return o, err
	}
	if err := b.columns(ctx, o); err != nil {
		return o, err
	}
	if err := b.c.unchanged(b.change.Rows); err != nil { // since it was read
		return o, err
	}
	ch := &o.change
	ch.Count, ch.Dim, ch.Metric, ch.Basis, ch.IDs = int64(o.col.N), o.col.Dim, o.col.Metric.String(), o.col.Basis.String(), o.ids.kind
	ch.Bytes = o.col.Bytes() + o.ids.bytes()
	ch.keptAs(o.col)
	if o.columns != nil {
		ch.Bytes += o.columns.Bytes()
		if err := b.share.resize(max(b.share.held, ch.Bytes), shape{rows: ch.Count, dim: ch.Dim}.String()+" with columns"); err != nil {
			return o, err
		}
	}
	if ch.Rounded = nil; o.col.Change.Values > 0 {
		ch.Rounded = roundingOf(o.col.Change)
	}
	o.share.settle(ch.Bytes)
	return o, o.start(ctx)
}

// keptAs notes how the rows of a version are kept, which those that are added to it are, too.
func (ch *change) keptAs(col *collection.Collection) {
	if ch.DType = ""; col.Float64() {
		ch.DType = col.Elem().String()
	}
}

// unchanged checks that the file at o, if o lies in a root, is still the one that was
// accepted.
func (c *Catalog) unchanged(o *origin) error {
	if o == nil || o.Path == "" {
		return nil
	}
	real, info, err := c.roots.resolve(cmp.Or(o.Asked, o.Called))
	if err != nil {
		return err
	}
	if real != o.Path || info.Size() != o.Size || info.ModTime().UnixNano() != o.Modified {
		return problem.New(problem.Conflict, "%s: the file has changed since the request", o.Called).In("source.path")
	}
	return nil
}

// savedIDs writes the ids of a prepared collection, which are in a file beside the original.
func (b *build) savedIDs(r *origin, o *opened) error {
	saved, err := dataset.SavedIDs(r.Path, o.col.N)
	if err != nil {
		return describe(err, r, r.Path)
	}
	if saved == nil {
		return problem.New(problem.Conflict, "%s: the file of its ids was removed since the request", r.Called).In("source.path")
	}
	ids := newIDsBuilder(o.change.IDs, b.c.o.MaxIDBytes)
	for row := range int64(saved.Len()) {
		if err := ids.add(saved.Text(row)); err != nil {
			return err
		}
	}
	if o.ids, err = ids.finish(); err != nil {
		return err
	}
	o.change.NextID = ids.next
	return writeIDs(b.c.o.disk, filepath.Join(b.c.dir, b.change.ids()), o.ids)
}

// collect writes the files of the collection and the ids.
func (b *build) collect(ctx context.Context, o *opened) error {
	path := filepath.Join(b.c.dir, b.change.data())
	if r := b.change.Rows; r != nil && r.Prepared {
		if err := b.takePrepared(ctx, r.Path, path); err != nil {
			return err
		}
		col, err := collection.Open(path)
		if err != nil {
			return err
		}
		o.col, o.ids, o.change.NextID = col, rowNumbers(col.N), int64(col.N)
		if !r.SavedIDs {
			return nil
		}
		return b.savedIDs(r, o)
	}
	if o := b.change.Rows; b.from != nil && o != nil && o.IDColumn != "" {
		// before the rows of the previous version are written
		if err := b.c.collides(ctx, b.from.o, o, b.c.at(o)); err != nil {
			return err
		}
	}
	src, options, err := b.rows()
	if err != nil {
		return err
	}
	if src.src != nil {
		defer src.src.Close()
	}
	if err := b.c.o.disk.At("build", path); err != nil {
		return err
	}
	if o.col, err = collection.Create(ctx, path, src.source(), true, options); err != nil {
		return err
	}
	if o.ids, o.change.NextID = rowNumbers(o.col.N), int64(o.col.N); src.ids == nil {
		return nil
	}
	o.change.NextID = src.ids.next
	if o.ids, err = src.ids.finish(); err != nil {
		return err
	}
	return writeIDs(b.c.o.disk, filepath.Join(b.c.dir, b.change.ids()), o.ids)
}

// takePrepared gives a prepared collection its name in the catalog's folder.
func (b *build) takePrepared(ctx context.Context, from, to string) error {
	if b.c.o.Linked {
		return b.c.o.disk.Link(from, to)
	}
	return b.c.o.disk.Copy(ctx, from, to)
}

// rows opens the sources of the version.
func (b *build) rows() (*rows, *collection.Options, error) {
	need, err := b.change.shape()
	if err != nil {
		return nil, nil, err
	}
	r := &rows{dim: need.dim, wide: need.elem, most: b.c.o.MaxRows, progress: func(part float64) { b.setProgress(readShare * part) }}
	r.reserve = func(n, ids int64) error {
		need.rows, need.idBytes = max(n, b.change.Count), ids
		return b.share.resize(max(b.share.held, need.estimate()), need.String())
	}
	if b.from != nil {
		r.from = b.from.o
	}
	if err := b.openRows(r); err != nil {
		return nil, nil, err
	}
	options := &collection.Options{Metric: need.metric, Basis: need.basis, Elem: need.elem, Seed: b.change.Seed, Threads: b.c.o.Threads, Mode: 0o600,
		Progress: func(done, total int64) { b.setProgress(min(1, readShare+(1-readShare)*float64(done)/float64(total))) }}
	return r, options, nil
}

// reading returns how new rows are read: relative to what those of the version are that they are added to.
func (b *build) reading(o *origin) *dataset.Options {
	opt := b.c.options(o)
	if b.from != nil {
		opt.Origin = b.from.o.col.QueryOrigin()
		return opt
	}
	metric, err := collection.ParseMetric(b.change.Metric)
	opt.Centre = err == nil && metric.Differences()
	return opt
}

// openRows opens r's files and decides how its rows get ids.
func (b *build) openRows(r *rows) error {
	ch := &b.change
	if ch.Drop != "" {
		ids, err := readIDs(filepath.Join(b.c.dir, ch.Drop))
		if err != nil {
			return err
		}
		for row := range int64(ids.n) {
			r.drop = append(r.drop, ids.Int(row))
		}
	}
	if o := ch.Rows; o != nil {
		if o.Keys != "" {
			keys, err := readIDs(filepath.Join(b.c.dir, o.Keys))
			if err != nil {
				return err
			}
			r.keys = keys
		}
		src, err := dataset.Open(b.c.at(o), b.reading(o))
		if err != nil {
			return err
		}
		r.src, r.called = src, o.Called
		if src.Dim() != ch.Dim {
			src.Close()
			return problem.New(problem.Conflict, "%s: the file has changed since the request", o.Called).In("source.path")
		}
	}
	named := ch.Rows != nil && (r.keys != nil || ch.Rows.IDColumn != "")
	r.number = !named
	if r.from == nil {
		if named {
			r.ids = newIDsBuilder(ch.IDs, b.c.o.MaxIDBytes)
		}
		return nil
	}
	was := &r.from.change
	if was.IDs == RowNumbers && was.NextID == was.Count && !named && ch.Drop == "" {
		return nil // the new rows continue the numbering
	}
	kind := was.IDs
	if kind == RowNumbers {
		kind = Integers
	}
	r.ids = newIDsBuilder(kind, b.c.o.MaxIDBytes)
	r.ids.base = r.from.col.N - len(r.drop)
	r.ids.next = was.NextID
	return nil
}

// readShare is the assumed share of a build's time spent reading rows, for progress.
const readShare = .2

func (b *build) setProgress(progress float64) { b.progress.Store(math.Float64bits(progress)) }
