package folder

import (
	"errors"
	"fmt"
	"slices"

	"thresher/dataset"
	"thresher/segments"
)

// takeGroup takes waiting changes of at most groupBytes, but one at least.
func (f *Folder) takeGroup() []*write {
	f.queueing.Lock()
	defer f.queueing.Unlock()
	size, n := int64(0), 0
	for ; n < len(f.queue); n++ {
		if size += f.queue[n].bytes(); n > 0 && size > groupBytes {
			break
		}
	}
	group := f.queue[:n:n]
	f.queue = f.queue[n:]
	return group
}

// commitGroup writes one frame of changes, flushes it, and makes them part of the Set; committing is held.
func (f *Folder) commitGroup(group []*write) {
	fail := func(err error) {
		for _, w := range group {
			if w.err == nil && !w.done {
				w.err = err
			}
			w.done = true
		}
	}
	if f.closed {
		fail(fmt.Errorf("%s: %w", f.path, ErrClosed))
		return
	}
	if f.failed != nil {
		fail(fmt.Errorf("%s: %w (%w)", f.path, ErrFailed, f.failed))
		return
	}
	f.buf = beginFrame(f.buf)
	form := f.rowForm()
	chosen := f.choose(group, func(c *Change) { f.buf = form.appendChange(f.buf, c) })
	if len(chosen) == 0 {
		return
	}
	endFrame(f.buf, f.version, len(chosen))
	if err := f.appendFrame(f.buf); err != nil {
		fail(err)
		return
	}
	for _, w := range chosen {
		w.written, w.err = f.do(w.Change)
		w.done = true
		if w.err != nil {
			f.failed = errors.Join(f.failed, w.err)
		}
	}
	if cap(f.buf) > groupBytes {
		f.buf = nil
	}
	f.wake()
}

// choose passes the changes of a group that can be made to log, in order, and refuses the others; committing is held.
func (f *Folder) choose(group []*write, log func(*Change)) (chosen []*write) {
	var later *outlook
	if slices.ContainsFunc(group, func(w *write) bool { return w.Only != Any || w.Key != nil }) {
		now := f.set.Snapshot()
		defer now.Release()
		later = &outlook{table: f.table, now: now, vectors: now.Len(), known: map[string]bool{}}
	}
	for _, w := range group {
		version := f.version + uint64(len(chosen))
		if w.If != nil && *w.If != version {
			w.err, w.done = fmt.Errorf("%w: this is version %d, not %d", ErrChanged, version, *w.If), true
			continue
		}
		if err := f.sameKind(chosen, w); err != nil {
			w.err, w.done = err, true
			continue
		}
		if later != nil {
			if err := later.take(w, version+1); err != nil {
				w.err, w.done = err, true
				continue
			}
		}
		log(w.Change)
		chosen = append(chosen, w)
	}
	return chosen
}

// sameKind refuses w if its ids are texts, and those of writes before it in the group are numbers: the first write
// of all decides what ids are.
func (f *Folder) sameKind(before []*write, w *write) error {
	if err := f.table.Check("ids", w.IDs); err != nil || f.named || len(before) == 0 {
		return err
	}
	table := segments.NewTable()
	for _, b := range before {
		if !b.Deletes() {
			if _, err := table.Assign(b.IDs); err != nil {
				return err
			}
		}
	}
	return table.Check("ids", w.IDs)
}

// outlook is what a group's changes will have done once they are made.
type outlook struct {
	table   *segments.Table
	now     *segments.Snapshot // before them
	known   map[string]bool    // of the ids of changes, whether they will have a vector
	vectors int                // that there will be
}

// take adds a change, which will be that of a version, and refuses it if it is restricted to ids of another kind than it has. It makes the
// answer of the change's key.
func (o *outlook) take(w *write, version uint64) error {
	will := Written{Version: version}
	for row, number := range o.table.Find(w.IDs) {
		id := w.IDs.Text(int64(row))
		there, known := o.known[id]
		if !known {
			there = number >= 0 && o.now.Has(number)
		}
		err := ErrThere
		if w.Only == OnlyThere {
			err = ErrMissing
		}
		if w.Only != Any && there == (w.Only == OnlyNew) {
			return &dataset.Error{File: "ids", Row: int64(row), Column: -1, Err: fmt.Errorf("id %.60q: %w", id, err)}
		}
		will.count(there, w.Deletes())
	}
	vectors := o.vectors + will.Rows - will.Replaced - will.Deleted
	if w.Key != nil {
		if err := w.Key.answer(will, vectors); err != nil {
			return err
		}
	}
	o.vectors = vectors
	for row := range int64(w.IDs.Len()) {
		o.known[w.IDs.Text(row)] = !w.Deletes()
	}
	return nil
}

// count adds an id, which has a vector or not, that is deleted or written.
func (w *Written) count(there, deletes bool) {
	switch {
	case !deletes:
		if w.Rows++; there {
			w.Replaced++
		}
	case there:
		w.Deleted++
	}
}
