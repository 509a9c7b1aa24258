package thresher

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"thresher/collection"
	"thresher/dataset"
	"thresher/segments"
)

// Upsert writes vectors, rows of Dim values, under their ids: it replaces those that are there and adds the others. It
// returns how many were replaced. The next search sees all of them, searches that are under way none. Values are copied. A file
// that was opened stays as it is: Save writes what is there now.
//
// A vector that is replaced keeps its row number, and others get the next ones; where vectors have no ids of their own, an id is
// the row number. An error names row and id of what cannot be written, and nothing was written then. The first change
// makes the Index one of segments, to which each write adds a few microseconds a row; they are merged by a goroutine, on a
// quarter of the threads. Search and Truth walk the segments. The other methods prepare what is there now once, at
// their first call after a change.
func (x *Index) Upsert(ctx context.Context, ids *IDs, rows []float32) (replaced int, err error) {
	if x.atoms.Origin == nil && x.Dtype() != Float64 {
		return x.upsert(ctx, ids, rows, nil, dataset.Change{})
	}
	given := make([]float64, len(rows))
	for i, v := range rows {
		given[i] = float64(v)
	}
	return x.UpsertFloat64(ctx, ids, given)
}

// UpsertFloat64 is Upsert of float64 values. An Index of float64 keeps them as they are given; others round them as New does, and
// certificates say by how much that changed one.
func (x *Index) UpsertFloat64(ctx context.Context, ids *IDs, rows []float64) (replaced int, err error) {
	if err := x.checkSize(ids, len(rows)); err != nil {
		return 0, err
	}
	if x.Dtype() == Float64 {
		return x.upsert(ctx, ids, nil, rows, dataset.Change{})
	}
	narrow := make([]float32, len(rows))
	change, err := collection.Narrow(narrow, rows, x.Dim(), x.atoms.Origin)
	if err != nil {
		return 0, named(ids, err)
	}
	return x.upsert(ctx, ids, narrow, nil, change)
}

// checkSize compares the number of values with that of ids.
func (x *Index) checkSize(ids *IDs, values int) error {
	if values != ids.Len()*x.Dim() {
		return fmt.Errorf("rows: %d values for %d ids of %d dimensions", values, ids.Len(), x.Dim())
	}
	return nil
}

// named adds the id to an error of a row.
func named(ids *IDs, err error) error {
	var row *collection.RowError
	if errors.As(err, &row) {
		return fmt.Errorf("id %.60q: %w", ids.Text(int64(row.Row)), err)
	}
	return err
}

// upsert writes rows relative to the origin, which rounding has changed so; or, to an Index of float64, wide as it is.
func (x *Index) upsert(ctx context.Context, ids *IDs, rows []float32, wide []float64, change dataset.Change) (replaced int, err error) {
	if err := x.checkSize(ids, max(len(rows), len(wide))); err != nil {
		return 0, err
	}
	err = x.Metric().CheckRows(rows, x.Dim())
	if wide != nil {
		err = x.Metric().CheckRows64(wide, x.Dim(), x.atoms.Origin)
	}
	if err != nil {
		return 0, named(ids, err)
	}
	c, leave, err := x.change(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.table.Check("ids", ids); err != nil {
		return 0, err
	}
	if n := c.len(); ids.Len() > collection.MaxAtoms-n {
		return 0, fmt.Errorf("rows: %d vectors and %d more, at most %d", n, ids.Len(), collection.MaxAtoms)
	}
	numbers, err := c.table.Assign(ids)
	if err != nil {
		return 0, err
	}
	if wide != nil {
		replaced, err = c.set.UpsertFloat64(numbers, wide, change, nil)
	} else {
		replaced, err = c.set.UpsertRounded(numbers, rows, change)
	}
	if err != nil {
		return 0, err
	}
	c.tend()
	return replaced, nil
}

// Remove removes the vectors of these ids. The next search does not find them. Row numbers of others stay, and those of
// removed ones are not given to others. An id that no vector has is an error, and then nothing was removed.
func (x *Index) Remove(ctx context.Context, ids *IDs) error {
	if _, err := x.Rows(ids); err != nil {
		return err
	}
	c, leave, err := x.change(ctx)
	if err != nil {
		return err
	}
	defer leave()
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.table.Check("ids", ids); err != nil {
		return err
	}
	rows, err := c.rows(ids)
	if err != nil {
		return err
	}
	if _, err := c.set.Delete(rows); err != nil {
		return err
	}
	c.tend()
	return nil
}

// changeable returns an error if the vectors are of a kind that segments do not have.
func (x *Index) changeable() error {
	if x.columns != nil {
		return errors.New("vectors with columns are not changed: an upsert has none for them")
	}
	return nil
}

// change returns the vectors as segments, for a write, and what ends their use.
func (x *Index) change(ctx context.Context) (*changes, func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := x.changeable(); err != nil {
		return nil, nil, err
	}
	x.life.beginning.Lock()
	defer x.life.beginning.Unlock()
	c, leave := x.life.enter()
	if c != nil {
		return c, leave, nil
	}
	defer leave()
	c, err := x.segmented(ctx)
	if err != nil {
		return nil, nil, err
	}
	x.life.changeTo(c)
	c, leave = x.life.enter()
	return c, leave, nil
}

// segmented returns the vectors, which have not changed yet, as a set of one segment. That keeps the atoms of x.
func (x *Index) segmented(ctx context.Context) (*changes, error) {
	threads := x.o.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	b, engine := x.backend()
	elem := Float32 // which has all values of narrower types
	if x.Dtype() == Float64 {
		elem = Float64
	}
	o := segments.Options{
		Collection: collection.Options{Metric: x.Metric(), Elem: elem, Basis: x.atoms.Basis, Seed: x.atoms.Seed, Threads: max(1, threads/4), Origin: x.atoms.Origin},
		Backend:    b, Engine: *engine,
	}
	taken := false // the segment is in the place of the block, and so ends it
	block, err := segments.New(ctx, x.atoms, nil, b, &o.Engine, -1, func() error {
		if !taken {
			return nil
		}
		return x.life.endBlock(x.closeBlock)
	})
	if err != nil {
		return nil, err
	}
	set, err := segments.Open(x.atoms.Dim, o, segments.Holding{Segment: block})
	if err != nil {
		return nil, errors.Join(err, block.Close())
	}
	taken = true
	c := &changes{index: x, set: set, table: segments.TableOf(x.ids)}
	c.upkeep, c.stop = context.WithCancel(context.Background())
	return c, nil
}
