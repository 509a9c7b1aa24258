package catalog

import (
	"context"
	"errors"
	"io"
	"sync"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/service/problem"
)

// blocks is what a version that changes held at an instant, as one collection in memory, for what does not go from segment
// to segment. The newest is kept until the vectors change and another is needed.
type blocks struct {
	mu     sync.Mutex
	latest *block
}

// block is one of them, or is being made.
type block struct {
	writes uint64
	done   chan struct{} // closed when it is made; then
	made   *opened       // made is it, or
	err    error         // err why it is not
}

// Stands reports whether Whole returns at once: v does not change, or what it holds was read into one collection already.
func (v *Version) Stands() bool {
	if !v.Changes() {
		return true
	}
	all := &v.o.changing.block
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.latest != nil && all.latest.writes == v.now.Version() && all.latest.isMade()
}

// Whole returns v as a version that is one collection: v itself unless it changes. The caller releases both.
func (c *Catalog) Whole(ctx context.Context, v *Version) (*Version, error) {
	if !v.Changes() {
		c.mu.Lock()
		defer c.mu.Unlock()
		v.o.acquire()
		return &Version{o: v.o}, nil
	}
	all := &v.o.changing.block
	for {
		all.mu.Lock()
		b := all.latest
		current := b != nil && b.writes == v.now.Version()
		if !current && (b == nil || b.isMade()) {
			return all.renew(ctx, v)
		}
		all.mu.Unlock() // one is made at a time, also of what there was before
		if err := await(ctx, b.done); err != nil {
			return nil, err
		}
		switch {
		case !current:
			continue
		case b.err != nil && ctx.Err() == nil && (errors.Is(b.err, context.Canceled) || errors.Is(b.err, context.DeadlineExceeded)):
			continue // the request that made it has ended
		case b.err != nil:
			return nil, b.err
		}
		c.mu.Lock()
		given := b.made.retired // meanwhile, and closed perhaps
		if !given {
			b.made.acquire()
		}
		c.mu.Unlock()
		if !given {
			return &Version{o: b.made}, nil
		}
	}
}

// isMade reports whether a block is no longer being made.
func (b *block) isMade() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// renew makes a block of v, in use, in place of the newest, which is not being made. all.mu is held, and let go of.
func (all *blocks) renew(ctx context.Context, v *Version) (*Version, error) {
	b, old := &block{writes: v.now.Version(), done: make(chan struct{})}, all.latest
	all.latest = b
	all.mu.Unlock()
	err := old.retire()
	var made *opened
	if err == nil {
		made, err = v.o.c.makeBlock(ctx, v)
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	defer close(b.done)
	if b.made, b.err = made, err; err != nil {
		if all.latest == b {
			all.latest = nil
		}
		return nil, err
	}
	v.o.c.mu.Lock()
	defer v.o.c.mu.Unlock()
	made.acquire()
	return &Version{o: made}, nil
}

// retire gives up a block, which is closed when nobody uses it any more. It waits until it is made.
func (b *block) retire() error {
	if b == nil {
		return nil
	}
	<-b.done
	if b.made == nil {
		return nil
	}
	b.made.c.mu.Lock()
	gone := !b.made.retired && b.made.retire()
	b.made.c.mu.Unlock()
	if gone {
		return b.made.stop()
	}
	return nil
}

// drop gives up the newest block.
func (all *blocks) drop() error {
	all.mu.Lock()
	b := all.latest
	all.latest = nil
	all.mu.Unlock()
	return b.retire()
}

// typedRows are the rows of a snapshot.
type typedRows interface {
	Dim() int
	Len() int
	Elem() dataset.Elem
	ReadTyped(dst []byte) (rows int, err error)
	Columns() *columns.Columns
}

// inMemory reads rows, in the type in which they are kept.
func inMemory(in typedRows) (dataset.Vectors, error) {
	row := in.Dim() * in.Elem().Size()
	rows := make([]byte, in.Len()*row)
	for at := 0; at < len(rows); {
		n, err := in.ReadTyped(rows[at:])
		if err != nil && err != io.EOF {
			return dataset.Vectors{}, err
		}
		at += n * row
	}
	return dataset.NewVectors(in.Elem(), in.Dim(), rows)
}

// columnsOf returns the columns of rows with ids, nil if they have none.
func columnsOf(in typedRows, fields []columns.Field, ids *RowIDs) *columns.Columns {
	if len(fields) == 0 {
		return nil
	}
	all := in.Columns()
	all.RowsOf = ids.rowsOf()
	return all
}

// makeBlock makes one collection, in memory, of what a version holds.
func (c *Catalog) makeBlock(ctx context.Context, v *Version) (made *opened, err error) {
	if v.Len() == 0 {
		return nil, problem.New(problem.Conflict, "collection %s has no vectors", v.o.name).In("name")
	}
	form := v.o.changing.Form()
	o := c.newOpened(v.o.name, v.o.change)
	o.whole, o.change.Folder = v.o, false
	defer func() {
		if made == nil {
			err = errors.Join(err, o.stop())
		}
	}()
	need := shape{rows: int64(v.Len()), dim: v.Dim(), metric: form.Metric, basis: form.Basis, elem: form.Elem, idBytes: v.idBytes()}
	if err := o.share.resize(need.estimate(), need.String()+", read into one to be searched so,"); err != nil {
		return nil, err
	}
	in, err := v.now.Rows()
	if err != nil {
		return nil, err
	}
	rows, err := inMemory(in)
	if err != nil {
		return nil, err
	}
	options := &collection.Options{Metric: form.Metric, Basis: form.Basis, Seed: form.Seed, Origin: form.Origin, Change: in.Change(), Threads: c.o.Threads}
	if o.col, err = collection.BuildVectors(ctx, rows, options); err != nil {
		return nil, err
	}
	o.ids = rowIDs(v.now.IDs(in.IDs()))
	o.state = Ready
	o.change.Count, o.change.Writes, o.change.Bytes = int64(o.col.N), v.now.Version(), o.col.Bytes()+o.ids.bytes()
	if o.columns = columnsOf(in, form.Columns, o.ids); o.columns != nil {
		o.change.Bytes += o.columns.Bytes()
	}
	o.share.settle(o.change.Bytes)
	if err := o.start(ctx); err != nil {
		return nil, err
	}
	return o, nil
}
