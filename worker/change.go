package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	sets "thresher/segments"
)

// changes are the vectors of an index that was changed, as segments. Clients know a vector by its row, counted without
// gaps; the set knows it by a number, which it keeps. Rows are in the order of the numbers.
type changes struct {
	set     *sets.Set
	wide    bool // it keeps float64
	upkeep  context.Context
	stop    context.CancelFunc // of upkeep
	tending sync.WaitGroup     // goroutines that do it

	mu      sync.Mutex     // held by whoever writes; guards what follows
	n       int            // vectors
	next    int64          // the number of the next new one
	numbers []int64        // of rows, ascending; nil: they are the rows
	change  dataset.Change // of the vectors written, by rounding
	block   *index         // what is there, for what cannot walk; nil: it has not been made since the last write
}

// number is the number of a row below n.
func number(numbers []int64, row int64) int64 {
	if numbers == nil {
		return row
	}
	return numbers[row]
}

// changing returns the vectors of v as segments, which they become by their first change. They keep v as long
// as v is used.
func (v *index) changing(ctx context.Context, o *Options) (*changes, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.changes != nil:
		return v.changes, nil
	case v.columns != nil:
		return nil, wrong("handle", "the collection has columns; add and remove build one with other vectors")
	}
	d, err := o.Device(ctx, v.device, v.options.Threads, v.Collection)
	if err != nil {
		return nil, err
	}
	threads := v.options.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	elem := dataset.ElemFloat32 // which has all values of narrower types
	if v.Float64() {
		elem = dataset.ElemFloat64
	}
	so := sets.Options{
		Collection: collection.Options{Metric: v.Metric, Elem: elem, Basis: v.Basis, Seed: v.Seed, Threads: max(1, threads/4), Origin: v.Origin},
		Backend:    d.Backend,
	}
	if d.Engine != nil {
		so.Engine = *d.Engine
	}
	first, err := sets.New(ctx, v.Collection, nil, d.Backend, d.Engine, -1, nil)
	if err != nil {
		return nil, err
	}
	set, err := sets.Open(v.Dim, so, sets.Holding{Segment: first})
	if err != nil {
		return nil, errors.Join(err, first.Close())
	}
	made := &changes{set: set, wide: v.Float64(), n: v.N, next: int64(v.N)}
	made.upkeep, made.stop = context.WithCancel(context.Background())
	v.changes = made
	return made, nil
}

// changed returns the vectors as segments; nil if they have not changed.
func (v *index) changed() *changes {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changes
}

// close ends upkeep and lets go of the segments, which nobody uses any more.
func (x *changes) close() error {
	x.stop()
	x.tending.Wait()
	return errors.Join(x.forget(), x.set.Close())
}

// forget gives up the block, which is no longer what is there.
func (x *changes) forget() error {
	block := x.block
	x.block = nil
	if block == nil {
		return nil
	}
	return block.release()
}

// tend seals and merges aside what is due. A failure leaves the segments as they are, which later writes try again.
func (x *changes) tend(s *Child) {
	if !x.set.Due() {
		return
	}
	x.tending.Go(func() {
		if err := x.set.Maintain(x.upkeep); err != nil && x.upkeep.Err() == nil {
			s.o.Log.Error("segments are not merged", "error", err)
		}
	})
}

// upsert writes vectors: those of the array rows, which are below the number of vectors, are replaced, and others, which
// continue the rows, are added.
func (c *call) upsert(ctx context.Context) (any, *reply, error) {
	v, handle, change, err := c.written()
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	given, _, err := c.vectors("vectors")
	if err != nil {
		return nil, nil, err
	}
	if !given.Elem().Narrow() && !v.Float64() {
		return nil, nil, wrong("vectors", "are %v, which the collection does not keep: rounded by the client they are told from others by rounded", given.Elem())
	}
	dim := given.Dim()
	if dim != v.Dim {
		return nil, nil, wrong("vectors", "%d columns; the collection has %d", dim, v.Dim)
	}
	rows, err := c.rowNumbers("rows", given.Len())
	if err == nil && rows == nil {
		err = wrong("rows", "is missing")
	}
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, nil, err
	}
	x, err := v.changing(ctx, &c.s.o)
	if err != nil {
		return nil, nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	numbers, added, err := x.numbered(rows)
	if err != nil {
		return nil, nil, err
	}
	if err := x.put(numbers, given, *change); err != nil {
		var id *sets.IDError
		if errors.As(err, &id) {
			return nil, nil, wrong("rows", "entry %d: row %d is there twice", id.Row, rows[id.Row])
		}
		return nil, nil, err
	}
	if x.numbers != nil {
		x.numbers = append(x.numbers, numbers[len(numbers)-added:]...)
	}
	x.n, x.next = x.n+added, x.next+int64(added)
	x.change.Add(*change)
	return c.wrote(v, x, handle)
}

// put writes vectors in the type in which the set keeps them.
func (x *changes) put(numbers []int64, given dataset.Vectors, change dataset.Change) error {
	n := given.Len() * given.Dim()
	if x.wide {
		wide := given.Float64s()
		if wide == nil {
			wide = make([]float64, n)
			given.Read64(wide, 0)
		}
		_, err := x.set.UpsertFloat64(numbers, wide, change, nil)
		return err
	}
	narrow := given.Float32s()
	if narrow == nil {
		narrow = make([]float32, n)
		given.Read32(narrow, 0)
	}
	_, err := x.set.UpsertRounded(numbers, narrow, change)
	return err
}

// numbered returns the numbers of rows that are written, of which the last are added.
func (x *changes) numbered(rows []int64) (numbers []int64, added int, err error) {
	numbers = make([]int64, len(rows))
	for i, row := range rows {
		switch {
		case row >= 0 && row < int64(x.n) && added == 0:
			numbers[i] = number(x.numbers, row)
		case row != int64(x.n+added):
			return nil, 0, wrong("rows", "entry %d: row %d; there are %d vectors, and those that are added continue their rows", i, row, x.n)
		default:
			numbers[i] = x.next + int64(added)
			added++
		}
	}
	if added > collection.MaxAtoms-x.n {
		return nil, 0, wrong("vectors", "%d rows and %d more, at most %d", x.n, added, collection.MaxAtoms).within(collection.MaxAtoms)
	}
	return numbers, added, nil
}

// delete removes the vectors of the array rows. Those behind them move up.
func (c *call) delete(ctx context.Context) (any, *reply, error) {
	v, handle, _, err := c.written()
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	rows, err := c.rowNumbers("rows", -1)
	if err == nil && rows == nil {
		err = wrong("rows", "is missing")
	}
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, nil, err
	}
	x, err := v.changing(ctx, &c.s.o)
	if err != nil {
		return nil, nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	gone := map[int64]bool{}
	for i, row := range rows {
		if row < 0 || row >= int64(x.n) {
			return nil, nil, wrong("rows", "entry %d: row %d of %d", i, row, x.n).within(x.n)
		}
		gone[number(x.numbers, row)] = true
	}
	if len(gone) == x.n {
		return nil, nil, wrong("rows", "no row would be left")
	}
	left, ids := make([]int64, 0, x.n-len(gone)), make([]int64, 0, len(gone))
	for row := range int64(x.n) {
		if id := number(x.numbers, row); gone[id] {
			ids = append(ids, id)
		} else {
			left = append(left, id)
		}
	}
	if _, err := x.set.Delete(ids); err != nil {
		return nil, nil, err
	}
	x.n, x.numbers = len(left), left
	return c.wrote(v, x, handle)
}

// written decodes the fields of a write, and holds its collection.
func (c *call) written() (*index, int64, *dataset.Change, error) {
	var f struct {
		Handle  int64          `json:"handle"`
		Rounded dataset.Change `json:"rounded"`
	}
	if err := c.fields(&f); err != nil {
		return nil, 0, nil, err
	}
	v, err := c.s.registry.hold(f.Handle)
	return v, f.Handle, &f.Rounded, err
}

// wrote ends a write: it describes what is there now. x.mu is held.
func (c *call) wrote(v *index, x *changes, handle int64) (any, *reply, error) {
	if err := x.forget(); err != nil {
		return nil, nil, err
	}
	x.tend(c.s)
	return x.amend(v.about(handle)), nil, nil
}

// amend makes a description that of what is there now. x.mu is held.
func (x *changes) amend(info *about) *about {
	if info.N, info.DType = x.n, dataset.ElemFloat32; x.wide {
		info.DType = dataset.ElemFloat64
	}
	if x.change.Values > 0 {
		all := x.change
		if info.Rounded != nil {
			all.Add(*info.Rounded)
		}
		info.Rounded = &all
	}
	return info
}

// hold returns a collection for use, which the caller releases: if it was changed, a block of what is there now, which
// is made once after each change.
func (c *call) hold(ctx context.Context, handle int64) (*index, error) {
	v, err := c.s.registry.hold(handle)
	if err != nil {
		return nil, err
	}
	x := v.changed()
	if x == nil {
		return v, nil
	}
	defer v.release()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.block == nil {
		if x.block, err = c.makeBlock(ctx, v, x); err != nil {
			return nil, err
		}
	}
	x.block.users.Add(1)
	return x.block, nil
}

// makeBlock builds a collection of what is there.
func (c *call) makeBlock(ctx context.Context, v *index, x *changes) (*index, error) {
	s := x.set.Snapshot()
	defer s.Release()
	r, err := s.Rows()
	if err != nil {
		return nil, err
	}
	o := v.options
	o.Change, o.Elem = r.Change(), r.Elem()
	if err := c.fits("vectors", collection.Size(int64(r.Len()), r.Dim(), &o)); err != nil {
		return nil, err
	}
	rows, err := r.Vectors()
	if err != nil {
		return nil, err
	}
	built, err := collection.BuildVectors(ctx, rows, &o)
	if err != nil {
		return nil, err
	}
	block := &index{Collection: built, options: o}
	if err := c.ready(ctx, block, v.device); err != nil {
		return nil, err
	}
	return block, nil
}

// rowWalk searches a snapshot of changed vectors, by rows.
type rowWalk struct {
	*sets.Snapshot
	numbers []int64 // as of changes
}

// walk returns what is there now; the caller releases the snapshot.
func (x *changes) walk() *rowWalk {
	x.mu.Lock()
	defer x.mu.Unlock()
	return &rowWalk{x.set.Snapshot(), x.numbers}
}

// Search answers a request that has row numbers, as a batch.Engine does.
func (w *rowWalk) Search(ctx context.Context, req batch.Request) (*batch.Response, error) {
	var err error
	numbered := func(field string, query int, rows []int64) []int64 {
		if rows == nil || err != nil {
			return rows
		}
		out := make([]int64, len(rows))
		for i, row := range rows {
			if row < 0 || row >= int64(w.Len()) {
				err = &batch.RequestError{Field: field, Query: query, Err: fmt.Errorf("entry %d: row %d; the vectors are 0 to %d", i, row, w.Len()-1)}
				return nil
			}
			out[i] = number(w.numbers, row)
		}
		return out
	}
	req.Filter, req.Exclude = numbered("filter", -1, req.Filter), numbered("exclude", -1, req.Exclude)
	req.Goals = slices.Clone(req.Goals)
	filters := map[batch.Wanted][]int64{}
	for j := range req.Goals {
		g := &req.Goals[j]
		g.Exclude, g.Candidates = numbered("exclude", j, g.Exclude), numbered("candidates", j, g.Candidates)
		if g.Filter == nil {
			continue
		}
		wanted := req.WantedOf(g) // lists that share their memory go on doing so
		wanted.K = 0
		if filters[wanted] == nil {
			filters[wanted] = numbered("filter", j, g.Filter)
		}
		g.Filter = filters[wanted]
	}
	if req.ExcludeSelf {
		selves := req.Selves
		for j := int64(0); req.Selves == nil && j < int64(max(len(req.Queries), len(req.Queries64))/w.Dim()); j++ {
			selves = append(selves, req.SelfFirst+j)
		}
		req.Selves, req.SelfFirst = numbered("exclude_self", -1, selves), 0
	}
	if err != nil {
		return nil, err
	}
	found, err := w.Snapshot.Search(ctx, req)
	if found == nil || w.numbers == nil {
		return found, err
	}
	for j := range found.Answers {
		for i, id := range found.Answers[j].IDs {
			row, _ := slices.BinarySearch(w.numbers, id)
			found.Answers[j].IDs[i] = int64(row)
		}
	}
	return found, err
}
