package catalog

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/service/api"
	"thresher/service/problem"
)

// opened is a version that was built: open for search, being loaded, or failed. The fields
// above mu belong to the goroutine that opens it until it is announced.
type opened struct {
	c       *Catalog
	name    string
	change  change
	col     *collection.Collection
	engine  *batch.Engine
	first   string // the backend on which the engine was first opened
	runs    *batch.Coalescer
	ids     *RowIDs
	columns *columns.Columns // by which filters select, or nil
	share   *share
	// changing is the form of a version whose vectors are in a folder; then col, engine, runs and ids are nil.
	changing *changing
	// writing is held for reading by writers of rows, from when they find the version the newest, with no build after it, until they are done,
	// and for writing while that ends. It is locked after Catalog.change and before mu.
	writing sync.RWMutex
	// whole is the version of which this is what it held at an instant, in memory; nil if it is a version itself.
	whole *opened

	kept atomic.Int64 // bytes of what searches have made of it, which share has

	// Catalog.mu guards the rest.
	state   State            // Loading, Ready or Failed
	failure *problem.Problem // why the version could not be opened
	uses    int
	pins    int
	retired bool          // another version is the newest, or the name was deleted
	loaded  chan struct{} // closed when the state is no longer Loading
}

func (c *Catalog) newOpened(name string, ch change) *opened {
	return &opened{c: c, name: name, change: ch, state: Loading, share: c.memory.share(name), loaded: make(chan struct{})}
}

// openFiles maps the version's files and opens an engine.
func (o *opened) openFiles(ctx context.Context) error {
	if o.change.Folder {
		return o.openFolder(ctx)
	}
	if err := o.share.resize(o.change.Bytes, shape{rows: o.change.Count, dim: o.change.Dim}.String()); err != nil {
		return err
	}
	col, err := collection.Open(filepath.Join(o.c.dir, o.change.data()))
	if err != nil {
		return err
	}
	o.col = col
	if o.change.IDs == RowNumbers {
		o.ids = rowNumbers(col.N)
	} else if o.ids, err = readIDs(filepath.Join(o.c.dir, o.change.ids())); err != nil {
		return err
	}
	if o.ids.n != col.N {
		return errors.Join(errIDs, errors.New("another number of rows than the collection's"))
	}
	if o.change.Columns != nil {
		if o.columns, err = readColumns(filepath.Join(o.c.dir, o.change.columns()), o.ids); err != nil {
			return err
		}
	}
	return o.start(ctx)
}

// start opens an engine for the collection, which is open.
func (o *opened) start(ctx context.Context) error {
	engine, err := o.c.o.Open(ctx, o.name, o.col)
	if err != nil {
		return err
	}
	o.engine, o.first = engine, engine.Backend()
	options := batch.CoalescerOptions{Window: batch.DefaultWindow}
	if o.c.o.Coalesce != nil {
		options = *o.c.o.Coalesce
	}
	if o.c.o.Runs != nil {
		options.Observer = o.c.o.Runs(o.name)
	}
	o.runs = batch.NewCoalescer(engine, &options)
	return nil
}

// stop closes everything; the version is not in use.
func (o *opened) stop() error {
	var err error
	if o.runs != nil {
		o.runs.Close()
	}
	if o.engine != nil {
		err = o.engine.Close()
	}
	if o.col != nil {
		err = errors.Join(err, o.col.Close())
	}
	if o.changing != nil {
		err = errors.Join(err, o.changing.block.drop(), o.changing.Close())
	}
	o.runs, o.engine, o.col, o.changing = nil, nil, nil, nil
	o.share.settle(0)
	return err
}

// unneeded removes o from the catalog if it is neither newest, in use nor pinned. The caller
// holds Catalog.mu and, if the result is true, calls dispose without it.
func (o *opened) unneeded() bool {
	if o.whole != nil {
		return o.retired && o.uses == 0
	}
	key := ref{o.name, o.change.Version}
	if !o.retired || o.uses > 0 || o.pins > 0 || o.c.versions[key] != o {
		return false
	}
	delete(o.c.versions, key)
	o.c.vacate(o.name)
	return true
}

// vacate reports a name as removed if nothing is left under it. The caller holds mu.
func (c *Catalog) vacate(name string) {
	if c.o.OnRemoved == nil || c.entries[name] != nil {
		return
	}
	for r := range c.versions {
		if r.name == name {
			return
		}
	}
	c.o.OnRemoved(name)
}

// dispose closes o and deletes its files, which no record names any more.
func (o *opened) dispose() {
	if err := o.stop(); err != nil {
		o.c.o.Log.Warn("closing a version", "collection", o.name, "version", o.change.Version, "reason", err)
	}
	if o.whole != nil {
		return
	}
	for _, name := range o.change.files() {
		o.c.dropFile(name)
	}
}

// info describes o. The caller holds Catalog.mu.
func (o *opened) info() Info {
	i := infoOf(o.name, &o.change, o.state)
	switch {
	case o.state == Ready && o.changing != nil:
		o.changing.describe(&i)
	case o.state == Ready:
		i.Backend, i.DType = o.engine.Backend(), o.col.Elem().String()
		i.Methods = methodNames(o.engine.Methods())
	}
	if o.whole != nil {
		writes := o.change.Writes
		i.Writes = &writes
	}
	if o.failure != nil {
		i.Failure, i.Error = o.failure, o.failure.Error()
	}
	return i
}

// methodNames returns methods as texts.
func methodNames(methods []batch.Method) []string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = string(m)
	}
	return names
}

// infoOf describes a version in a given state.
func infoOf(name string, ch *change, s State) Info {
	i := Info{Collection: api.Collection{Name: name, Version: ch.Version, State: s, Count: ch.Count, Dim: ch.Dim, Dimension: ch.Dim, Metric: ch.metric(),
		Basis: ch.Basis, IDs: ch.IDs, Bytes: ch.Bytes, Rounded: ch.Rounded, CreatedAt: ch.CreatedAt, Adopted: ch.Adopted, VectorColumns: ch.VectorColumns, Warnings: ch.Warnings}}
	for _, f := range ch.Columns {
		i.Columns = append(i.Columns, api.Column{Name: f.Name, Type: f.Type.String()})
	}
	if p := ch.Failure.problem(); p != nil {
		i.Failure, i.Error = p, p.Error()
	}
	return i
}
