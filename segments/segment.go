package segments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
)

// Segment is an immutable collection whose rows have ids, ascending. It is closed when neither its owner nor a
// Snapshot has it any more.
type Segment struct {
	c       *collection.Collection
	engine  *batch.Engine
	ids     []int64                 // ascending, one a row; nil: the rows' numbers
	coded   int                     // how often a row of it has been coded at most
	columns func() *columns.Columns // of the rows; nil: they have none
	weight  int64                   // bytes of columns
	holders atomic.Int32
	ended   func() error // called when nobody has it any more; may be nil
}

// New returns a segment of a collection whose row i has the id ids[i]; ids ascend, and nil stands for row numbers. generation
// is how often its rows have been coded at most, 0 for a collection without codes that waits for being sealed, and -1
// if nobody knows, which is taken to be what growth by upserts to this size would take. ended, if not nil, is called once the segment
// is not used any more and its engine is closed; it closes c, for example. Until then the
// caller keeps c and b, and ids must not change.
func New(ctx context.Context, c *collection.Collection, ids []int64, b backend.Backend, o *batch.Options, generation int, ended func() error) (*Segment, error) {
	if err := (Listed{N: c.N, IDs: ids}).Check(); err != nil {
		return nil, err
	}
	engine, err := batch.Open(ctx, c, b, o)
	if err != nil {
		return nil, err
	}
	if generation < 0 {
		generation = grownGeneration(c.N)
	}
	s := &Segment{c: c, engine: engine, ids: ids, coded: generation, ended: ended}
	s.holders.Store(1)
	return s, nil
}

// Collection is the segment's collection. It is read only.
func (s *Segment) Collection() *collection.Collection { return s.c }

// Generation is how often a row of the segment has been coded at most; 0 before it is sealed.
func (s *Segment) Generation() int { return s.coded }

// Len is the number of rows, deleted ones included.
func (s *Segment) Len() int { return s.c.N }

// ID returns the id of a row.
func (s *Segment) ID(row int) int64 {
	if s.ids == nil {
		return int64(row)
	}
	return s.ids[row]
}

// Row returns the row that has an id, and whether one has.
func (s *Segment) Row(id int64) (int, bool) {
	if first, ok := s.consecutive(); ok {
		return int(id - first), id >= first && id-first < int64(s.c.N)
	}
	return slices.BinarySearch(s.ids, id)
}

// consecutive returns the id of the first row, and whether every other is the next after that of the row before.
func (s *Segment) consecutive() (first int64, ok bool) {
	if s.ids == nil {
		return 0, true
	}
	last := len(s.ids) - 1
	return s.ids[0], s.ids[last]-s.ids[0] == int64(last)
}

// SetColumns gives the rows columns: of the fields of the Set that the segment is about to become part of.
func (s *Segment) SetColumns(c *columns.Columns) error {
	if c.Rows() != s.c.N {
		return fmt.Errorf("columns of %d rows for %d vectors", c.Rows(), s.c.N)
	}
	s.columns, s.weight = func() *columns.Columns { return c }, c.Bytes()
	return nil
}

// hold takes a reference.
func (s *Segment) hold() { s.holders.Add(1) }

// Close gives up the reference of whoever made the segment, or a Snapshot's.
func (s *Segment) Close() error {
	if s.holders.Add(-1) > 0 {
		return nil
	}
	err := s.engine.Close()
	if s.ended != nil {
		err = errors.Join(err, s.ended())
	}
	return err
}
