package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
)

// Change is a write of one or more vectors. All of it is done or nothing.
type Change struct {
	// IDs name the vectors, each once: numbers below 2^64-1, or texts, as the first write to the folder has
	// them. See segments.Table for what of the other kind is taken.
	IDs *dataset.IDs
	// Rows are the vectors to write under IDs, [IDs.Len()][Dim], row-major. Without them and Rows64 those that are there are deleted. They
	// are not copied, and must not change until Apply returns.
	Rows []float32
	// Rows64 are Rows in float64, in their place, for a folder that keeps vectors so (Form.Elem). It takes Rows, too, all of whose
	// values it has.
	Rows64 []float64
	// Columns are those of Rows, of which the folder's that they lack are null; nil has none. They replace those of the vectors that
	// were there. Columns.As says what may be written to a column.
	Columns *columns.Columns
	// Rounding is what rounding to float32 has changed of Rows. Certificates say so; see segments.Set.UpsertRounded.
	Rounding dataset.Change
	// Only restricts the change to ids that have a vector, or to those that have none.
	Only Only
	// If, if not nil, is the version that the folder must have, as Written.Version and Snapshot.Version have it.
	If *uint64
	// Key, if not nil, becomes durable with the change, and is found by FindKey from then on. Whoever gives one has looked for it.
	Key *Key
}

// Only says about which ids a change may be.
type Only uint8

const (
	// Any ids: those that are there are replaced, and those that are not are ignored when they are deleted.
	Any Only = iota
	// OnlyNew: ErrThere if one has a vector.
	OnlyNew
	// OnlyThere: ErrMissing if one has none.
	OnlyThere
)

// Written says what a Change did.
type Written struct {
	Rows     int    // vectors written
	Replaced int    // of them, those of ids that were there
	Deleted  int    // vectors deleted; ids that were not there are ignored
	Version  uint64 // the number of writes to the folder until then
}

// write is a change that waits to be written.
type write struct {
	*Change
	done    bool
	written Written
	err     error
}

// Upsert writes rows, [ids.Len()][Dim], under ids: it replaces those that are there. See Apply.
func (f *Folder) Upsert(ctx context.Context, ids *dataset.IDs, rows []float32) (Written, error) {
	if rows == nil {
		rows = []float32{}
	}
	return f.Apply(ctx, Change{IDs: ids, Rows: rows})
}

// Delete removes the vectors of ids. See Apply.
func (f *Folder) Delete(ctx context.Context, ids *dataset.IDs) (Written, error) {
	return f.Apply(ctx, Change{IDs: ids})
}

// Apply does a change, and returns when it is durable and the next Snapshot has it. It may be called from many goroutines: those
// that come together share one flush. After an error of ids, rows or version nothing was written; after one of the
// disk the change is not done, though if flushing failed (ErrFailed) it may be there when the folder is opened
// again. ctx is looked at before the change is begun.
func (f *Folder) Apply(ctx context.Context, c Change) (Written, error) {
	if err := ctx.Err(); err != nil {
		return Written{}, err
	}
	if f.readOnly {
		return Written{}, fmt.Errorf("%s: %w", f.path, ErrReadOnly)
	}
	if err := f.check(&c); err != nil {
		return Written{}, err
	}
	if c.IDs.Len() == 0 && c.If == nil && c.Key == nil {
		return f.applyNothing()
	}
	w := &write{Change: &c}
	f.queueing.Lock()
	f.queue = append(f.queue, w)
	f.queueing.Unlock()

	f.committing.Lock()
	defer f.committing.Unlock()
	for !w.done { // else another writer has written it with its own
		f.commitGroup(f.takeGroup())
	}
	return w.written, w.err
}

// applyNothing is Apply of no vectors, which is no write.
func (f *Folder) applyNothing() (Written, error) {
	f.committing.Lock()
	defer f.committing.Unlock()
	if f.closed {
		return Written{}, fmt.Errorf("%s: %w", f.path, ErrClosed)
	}
	return Written{Version: f.version}, nil
}

// check refuses what cannot be written.
func (f *Folder) check(c *Change) error {
	n := c.IDs.Len()
	if err := f.checkType(c); err != nil {
		return err
	}
	if !c.Deletes() && c.values() != n*f.dim {
		return fmt.Errorf("%d values for %d ids of %d dimensions", c.values(), n, f.dim)
	}
	if size := c.bytes(); size > MaxChangeBytes {
		return fmt.Errorf("a write of %d bytes, at most %d at once", size, int64(MaxChangeBytes))
	}
	if err := f.table.Check("ids", c.IDs); err != nil {
		return err
	}
	if err := f.checkColumns(c); err != nil {
		return err
	}
	if err := checkRounding(c.Rounding); err != nil {
		return err
	}
	switch {
	case c.Deletes():
		return nil
	case c.Rows64 != nil:
		return f.metric.CheckRows64(c.Rows64, f.dim, f.origin)
	}
	if err := f.metric.CheckRows(c.Rows, f.dim); err != nil {
		return err
	}
	return collection.CheckElem(c.Rows, f.dim, f.elem)
}

// checkType puts the rows of a change into the type that the log has them in: Rows64 of a folder of float64, else Rows.
func (f *Folder) checkType(c *Change) error {
	wide := f.elem == dataset.ElemFloat64
	switch {
	case c.Rows64 != nil && c.Rows != nil:
		return errors.New("rows are given both in float32 and in float64")
	case c.Rows64 != nil && !wide:
		return fmt.Errorf("rows of %v for a folder of %v", dataset.ElemFloat64, f.elem)
	case c.Rows != nil && wide:
		c.Rows64 = make([]float64, len(c.Rows))
		for i, x := range c.Rows {
			c.Rows64[i] = float64(x)
		}
		c.Rows = nil
	}
	return nil
}

// Deletes reports whether the change deletes vectors.
func (c *Change) Deletes() bool { return c.Rows == nil && c.Rows64 == nil }

// values is the number of values of the rows.
func (c *Change) values() int { return max(len(c.Rows), len(c.Rows64)) }

// checkColumns puts the columns of a change into the form of the folder's.
func (f *Folder) checkColumns(c *Change) (err error) {
	if c.Columns == nil {
		return nil
	}
	if n := c.IDs.Len(); c.Columns.Rows() != n || c.Deletes() {
		return fmt.Errorf("columns of %d rows for %d vectors to write", c.Columns.Rows(), c.values()/f.dim)
	}
	c.Columns, err = c.Columns.As(f.fields)
	return err
}

// bytes is about what a change takes in the log.
func (c *Change) bytes() int64 {
	size := 32 + 4*int64(len(c.Rows)) + 8*int64(len(c.Rows64)) + 8*int64(c.IDs.Len())
	if c.IDs.Textual() {
		size += int64(len(c.IDs.Packed().Text))
	}
	if c.Columns != nil {
		size += c.Columns.Bytes()
	}
	if c.Key != nil {
		size += c.Key.bytes()
	}
	return size
}

// appendFrame makes a frame durable at the end of the log.
func (f *Folder) appendFrame(b []byte) error {
	n, err := f.log.WriteAt(b, f.logEnd)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		err = fmt.Errorf("writing to %s: %w", f.log.Name(), err)
		undo := f.log.Truncate(f.logEnd)
		if undo == nil { // else the next log could outlast the cut of this one
			undo = f.log.Sync()
		}
		if undo != nil {
			f.failed = err
			return fmt.Errorf("%w; and cutting it off again: %w; %w", err, undo, ErrFailed)
		}
		return err
	}
	if err := f.log.Sync(); err != nil {
		// The kernel may have dropped what it could not write, and a second attempt would succeed without it.
		f.failed = fmt.Errorf("flushing %s: %w", f.log.Name(), err)
		return fmt.Errorf("%w; %w", f.failed, ErrFailed)
	}
	f.logEnd += int64(len(b))
	return nil
}

// do makes a change, which is in the log, part of the Set.
func (f *Folder) do(c *Change) (written Written, err error) {
	if c.Deletes() {
		numbers := slices.DeleteFunc(f.table.Find(c.IDs), func(number int64) bool { return number < 0 })
		written.Deleted, err = f.set.Delete(numbers)
	} else {
		written, err = f.upsert(c)
	}
	f.version++
	written.Version = f.version
	if err == nil {
		f.remember(c.Key, f.version)
	}
	return written, err
}

// upsert makes an upsert part of the Set.
func (f *Folder) upsert(c *Change) (written Written, err error) {
	numbers, err := f.table.Assign(c.IDs)
	if err != nil {
		return written, err
	}
	f.named = f.named || len(numbers) > 0
	f.raise(c.IDs)
	written.Rows = len(numbers)
	if c.Rows64 != nil {
		written.Replaced, err = f.set.UpsertFloat64(numbers, c.Rows64, c.Rounding, c.Columns)
	} else {
		written.Replaced, err = f.set.UpsertColumns(numbers, c.Rows, c.Rounding, c.Columns)
	}
	return written, err
}

// raise takes in the greatest of ids, if they are numbers.
func (f *Folder) raise(ids *dataset.IDs) {
	if f.table.Textual() {
		return
	}
	greatest := f.greatest.Load()
	for row := range int64(ids.Len()) {
		if !ids.Textual() {
			greatest = max(greatest, ids.Number(row))
		} else if id, err := strconv.ParseUint(ids.Text(row), 10, 64); err == nil {
			greatest = max(greatest, id)
		}
	}
	f.greatest.Store(greatest)
}

// Greatest is the greatest of all ids that were ever written, those deleted since included; 0 if there were none, or if ids are texts.
func (f *Folder) Greatest() uint64 { return f.greatest.Load() }
