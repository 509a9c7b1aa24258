package segments

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
)

const (
	// pieceRows is the number of writes after which the tail is frozen: it becomes a segment without codes, a piece,
	// which later searches need not put in order again. The first search after a write orders fewer rows than that.
	pieceRows = 64
	// maxPieceRows is how many rows pieces have at most that are merged with others while a writer waits: copying
	// them takes about a millisecond.
	maxPieceRows = 4096
)

// Options say how the vectors of a Set are prepared and searched. Collection.Metric and Backend must be set.
type Options struct {
	// Collection is how segments are built. Origin, if there is one, is that of all segments and of rows that are
	// written, which are relative to it; queries are not, unless batch.Request.Stored. Elem is the type in which segments that seals
	// and merges make keep rows; rows that are written have values of it. Rows of dataset.ElemFloat64 are kept and scored as they are
	// given, also if there is an Origin, which those that are written are then near; without one each segment
	// chooses its own.
	Collection collection.Options
	// Columns are those of the rows; all segments have them. nil: none.
	Columns []columns.Field
	// Backend searches. The caller keeps it, and it must outlive the Set and all Snapshots.
	Backend backend.Backend
	// Engine are the options of each segment's engine.
	Engine batch.Options
	// SealRows is how many rows without codes are sealed, unless a fiftieth of all rows is more; 0 is 4,096.
	SealRows int
}

// Set is vectors that change, in memory. It is safe for concurrent use: writers take turns, searches read
// Snapshots, and an Upkeep is prepared aside.
type Set struct {
	o     Options
	dim   int
	piece int // pieceRows, sealRows, shortValues: less in tests
	seal  int
	short int

	writing sync.Mutex // held by whoever makes the next snapshot
	upkeep  *Upkeep    // under way; guarded by writing
	closed  bool       // guarded by writing
	ended   error      // of segments that ended; guarded by writing
	counts  Counts     // guarded by writing

	reading sync.Mutex // guards current; held for moments
	current *Snapshot
}

// Counts is what a Set has done since it was opened.
type Counts struct {
	Written int64 // rows of upserts
	Deleted int64 // rows of deletions
	Coded   int64 // rows that seals and merges have written
}

// ErrClosed: the Set was closed.
var ErrClosed = errors.New("the set of segments is closed")

// Open returns a set of vectors of dim values. parts are what it holds at first: their segments have the Set's
// metric and dimension, and no id is left in two of them. The Set takes over the caller's reference of each segment, unless it fails.
func Open(dim int, o Options, parts ...Holding) (*Set, error) {
	if err := o.Collection.Metric.Check(); err != nil {
		return nil, err
	}
	if dim < 1 || dim > collection.MaxDim {
		return nil, fmt.Errorf("%d dimensions, at least 1 and at most %d", dim, collection.MaxDim)
	}
	if o.Collection.Order != nil {
		return nil, errors.New("an order is that of one collection, not of all segments")
	}
	if origin := o.Collection.Origin; origin != nil && (len(origin) != dim || !o.Collection.Metric.Differences()) {
		return nil, fmt.Errorf("an origin of %d columns: only rows of as many, for Euclidean distance, have one", len(origin))
	}
	s := &Set{o: o, dim: dim, piece: pieceRows, seal: sealRows, short: shortValues}
	if o.SealRows > 0 {
		s.seal, s.piece = o.SealRows, max(1, min(pieceRows, o.SealRows/4))
	}
	first := &Snapshot{set: s, tail: newTail(dim)}
	listed := make([]Listed, len(parts))
	for i, p := range parts {
		c := p.Segment.c
		if c.Dim != dim || c.Metric != o.Collection.Metric {
			return nil, fmt.Errorf("segment %d: %d dimensions and metric %s, the others have %d and %s", i, c.Dim, c.Metric, dim, o.Collection.Metric)
		}
		if c.Float64() != s.keepsFloat64() {
			return nil, fmt.Errorf("segment %d: its rows are %v, the others' %v", i, c.Elem(), o.Collection.Elem)
		}
		if !c.Float64() && !slices.Equal(c.Origin, o.Collection.Origin) {
			return nil, fmt.Errorf("segment %d: its rows are relative to another origin than the others'", i)
		}
		if len(o.Columns) > 0 && (p.Segment.columns == nil || !slices.Equal(p.Segment.columns().Fields(), o.Columns)) {
			return nil, fmt.Errorf("segment %d: its columns are not those of the others", i)
		}
		listed[i] = Listed{c.N, p.Segment.ids, p.Deleted}
		if err := listed[i].Check(); err != nil {
			return nil, fmt.Errorf("segment %d: %w", i, err)
		}
		m := view{Segment: p.Segment}
		if len(p.Deleted) > 0 {
			rows := make([]int, len(p.Deleted))
			for j, row := range p.Deleted {
				rows[j] = int(row)
			}
			m.live, m.deleted = m.engine.Without(nil, rows), len(rows)
		}
		first.views = append(first.views, m)
	}
	if err := CheckDistinct(listed); err != nil {
		return nil, err
	}
	first.settle()
	first.users.Store(1)
	s.current = first
	return s, nil
}

// settle puts the views in order and counts the vectors.
func (s *Snapshot) settle() {
	slices.SortStableFunc(s.views, func(a, b view) int { return cmp.Compare(b.left(), a.left()) })
	s.live = s.tail.live
	for i := range s.views {
		s.live += s.views[i].left()
	}
}

// Snapshot returns what the Set holds now. The caller releases it.
func (s *Set) Snapshot() *Snapshot {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.current.users.Add(1)
	return s.current
}

// Counts returns what the Set has done.
func (s *Set) Counts() Counts {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.counts
}

// next returns a copy of the current snapshot, to be changed and published. It shares all parts.
func (s *Set) next() *Snapshot {
	return &Snapshot{set: s, views: slices.Clone(s.current.views), tail: s.current.tail, writes: s.current.writes}
}

// publish makes n the current snapshot. It takes over the references of what is new in it, and takes references of
// its own of what the snapshot before has, too.
func (s *Set) publish(n *Snapshot) {
	n.settle()
	n.users.Store(1)
	for i := range n.views {
		if s.current.has(n.views[i].Segment) {
			n.views[i].hold()
		}
	}
	if n.tail == s.current.tail {
		n.tail.hold()
	}
	s.reading.Lock()
	old := s.current
	s.current = n
	s.reading.Unlock()
	s.ended = errors.Join(s.ended, old.Release())
}

// has reports whether a segment is one of the snapshot's.
func (s *Snapshot) has(one *Segment) bool {
	return slices.ContainsFunc(s.views, func(v view) bool { return v.Segment == one })
}

// CheckUpsert returns the error that Upsert of these would have: of ids, a *IDError, or of rows, a
// *collection.RowError.
func (s *Set) CheckUpsert(ids []int64, rows []float32) error { return s.check(ids, s.valuesOf(rows)) }

// check is CheckUpsert of rows in the type of the Set.
func (s *Set) check(ids []int64, rows values) error {
	if rows.len() != len(ids)*s.dim {
		return fmt.Errorf("%d values for %d ids of %d dimensions", rows.len(), len(ids), s.dim)
	}
	if err := checkIDs(ids); err != nil {
		return err
	}
	o := &s.o.Collection
	if s.keepsFloat64() {
		return o.Metric.CheckRows64(rows.wide, s.dim, o.Origin)
	}
	if err := o.Metric.CheckRows(rows.narrow, s.dim); err != nil {
		return err
	}
	return collection.CheckElem(rows.narrow, s.dim, o.Elem)
}

// IDError names an id that cannot be used.
type IDError struct {
	Row int // 0-based, in the list
	ID  int64
	Err error
}

func (e *IDError) Error() string { return fmt.Sprintf("row %d: id %d: %v", e.Row, e.ID, e.Err) }

func (e *IDError) Unwrap() error { return e.Err }

// checkIDs refuses negative ids and those that are there twice.
func checkIDs(ids []int64) error {
	rows := make(map[int64]int, len(ids))
	for i, id := range ids {
		if id < 0 {
			return &IDError{i, id, errors.New("ids are 0 or greater")}
		}
		if before, ok := rows[id]; ok {
			return &IDError{i, id, fmt.Errorf("row %d has it, too", before)}
		}
		rows[id] = i
	}
	return nil
}

// Upsert writes vectors under their ids: it replaces those that are there. rows are [len(ids)][Dim], and are copied.
// The next Snapshot has them all; an error leaves the Set as it was. It returns how many were replaced. A Set of float64
// takes float32, too, which it has all values of.
func (s *Set) Upsert(ids []int64, rows []float32) (replaced int, err error) {
	return s.UpsertRounded(ids, rows, dataset.Change{})
}

// UpsertRounded is Upsert of rows that rounding to float32 has changed so. Certificates say so, until all those that
// were written about the same time are replaced or deleted.
func (s *Set) UpsertRounded(ids []int64, rows []float32, change dataset.Change) (replaced int, err error) {
	return s.UpsertColumns(ids, rows, change, nil)
}

// UpsertColumns is UpsertRounded of rows with columns, of which those of the Set that c lacks are null; nil has none. They replace those of
// the vectors that were there.
func (s *Set) UpsertColumns(ids []int64, rows []float32, change dataset.Change, c *columns.Columns) (replaced int, err error) {
	return s.upsert(ids, s.valuesOf(rows), change, c)
}

// UpsertFloat64 is UpsertColumns of rows of float64, for a Set that keeps them: Options.Collection.Elem.
func (s *Set) UpsertFloat64(ids []int64, rows []float64, change dataset.Change, c *columns.Columns) (replaced int, err error) {
	if !s.keepsFloat64() {
		return 0, fmt.Errorf("rows of %v for a set of %v", dataset.ElemFloat64, s.o.Collection.Elem)
	}
	return s.upsert(ids, values{wide: rows}, change, c)
}

// upsert writes rows in the type of the Set.
func (s *Set) upsert(ids []int64, rows values, change dataset.Change, c *columns.Columns) (replaced int, err error) {
	if err := s.check(ids, rows); err != nil {
		return 0, err
	}
	if c != nil {
		if c.Rows() != len(ids) {
			return 0, fmt.Errorf("columns of %d rows for %d vectors", c.Rows(), len(ids))
		}
		if c, err = c.As(s.o.Columns); err != nil {
			return 0, err
		}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return 0, ErrClosed
	}
	n := s.next()
	n.writes++
	if len(ids) == 0 {
		s.publish(n)
		return 0, nil
	}
	hidden := n.hide(ids)
	known := len(n.inTail(ids))
	n.tail = n.tail.put(ids, rows, known, c)
	n.tail.change.Add(change)
	if len(n.tail.ids) >= s.piece {
		if err := s.freeze(n); err != nil {
			return 0, err
		}
	}
	s.counts.Written += int64(len(ids))
	s.publish(n)
	return hidden + known, nil
}

// Delete removes the vectors of these ids, and returns how many there were. Ids that are not there are ignored.
func (s *Set) Delete(ids []int64) (deleted int, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return 0, ErrClosed
	}
	n := s.next()
	n.writes++
	deleted = n.hide(ids)
	if known := n.inTail(ids); len(known) > 0 {
		n.tail = n.tail.remove(known)
		deleted += len(known)
		if len(n.tail.ids) >= s.piece {
			if err := s.freeze(n); err != nil {
				return 0, err
			}
		}
	}
	s.counts.Deleted += int64(deleted)
	s.publish(n)
	return deleted, nil
}

// hide hides the rows of ids in the views, and returns how many there were.
func (s *Snapshot) hide(ids []int64) (hidden int) {
	for i := range s.views {
		m := &s.views[i]
		var rows []int
		for _, id := range ids {
			if row := m.find(id); row >= 0 {
				rows = append(rows, row)
			}
		}
		slices.Sort(rows)
		rows = slices.Compact(rows)
		if len(rows) > 0 {
			m.live = m.engine.Without(m.live, rows)
			m.deleted += len(rows)
			hidden += len(rows)
		}
	}
	return hidden
}

// inTail returns those of ids whose row is in the tail, each once.
func (s *Snapshot) inTail(ids []int64) (known []int64) {
	if len(s.tail.ids) == 0 {
		return nil
	}
	rows := make(map[int64]bool, len(s.tail.ids)) // whether the last write is a row
	for i, id := range s.tail.ids {
		rows[id] = s.tail.at[i] >= 0
	}
	for _, id := range ids {
		if rows[id] {
			rows[id] = false
			known = append(known, id)
		}
	}
	return known
}

// freeze makes a segment without codes of the tail of n, which is not published yet, and gives it an empty one. Pieces
// that are not larger than what comes to them are taken in, as by a counter that carries: so of rows that wait to be sealed there is a
// piece of each size at most, and a row is copied once for each.
func (s *Set) freeze(n *Snapshot) error {
	full := n.tail
	n.tail = newTail(s.dim)
	if full.live == 0 {
		return nil
	}
	if full != s.current.tail { // no snapshot has it
		defer full.close()
	}
	last, err := full.view(s)
	if err != nil {
		return err
	}
	r := &Reading{set: s, inputs: []view{*last}}
	total := full.live
	for _, i := range s.pieces(n) {
		left := n.views[i].left()
		if left > total || total+left > maxPieceRows {
			break
		}
		r.inputs, total = append(r.inputs, n.views[i]), total+left
	}
	if len(r.inputs) == 1 {
		if last.columns != nil {
			last.columns() // and what was written is no longer held
		}
		last.hold() // beside the tail
		n.views = append(n.views, *last)
		return nil
	}
	made, err := r.scanned()
	if err != nil {
		return err
	}
	n.views = slices.DeleteFunc(n.views, func(v view) bool { return r.has(v.Segment) })
	n.views = append(n.views, view{Segment: made})
	return nil
}

// pieces lists the views of n, smallest first, that have no codes and are not about to become a segment with codes; s.writing is held.
func (s *Set) pieces(n *Snapshot) (all []int) {
	for i := range n.views {
		m := &n.views[i]
		if m.coded == 0 && m.left() > 0 && (s.upkeep == nil || !s.upkeep.has(m.Segment)) {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(n.views[i].left(), n.views[j].left()) })
	return all
}

// Close refuses further writes and lets go of what the Set holds. Snapshots that are in use stay so, later ones are empty. It
// returns the errors of segments that ended since Open.
func (s *Set) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	empty := newTail(s.dim)
	s.publish(&Snapshot{set: s, tail: empty, writes: s.current.writes})
	return s.ended
}
