package segments

import (
	"errors"
	"slices"
	"sync/atomic"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
)

// Snapshot is what a Set held at one instant: it never changes, and does not see later writes. Whoever gets one
// releases it. It is safe for concurrent use.
type Snapshot struct {
	set   *Set
	views []view // largest first, by live rows; equal ones in the order in which they were made
	tail  *tail
	live  int // vectors
	// writes is how many upserts and deletions there were until then.
	writes uint64
	users  atomic.Int32
}

// view is a segment with what has been deleted of it.
type view struct {
	*Segment
	live    *backend.Filter // nil: all
	deleted int             // rows
}

// left is the number of rows that are not deleted.
func (m *view) left() int { return m.c.N - m.deleted }

// has reports whether a row is not deleted.
func (m *view) has(row int) bool { return m.engine.Has(m.live, row) }

// find returns the row of an id that is not deleted, -1 for none.
func (m *view) find(id int64) int {
	if row, ok := m.Row(id); ok && m.has(row) {
		return row
	}
	return -1
}

// Len is the number of vectors.
func (s *Snapshot) Len() int { return s.live }

// Writes is how many calls of Upsert, its kin and Delete the Set had done until then, those that changed nothing included.
func (s *Snapshot) Writes() uint64 { return s.writes }

// Dim is the number of values of a vector.
func (s *Snapshot) Dim() int { return s.set.dim }

// Metric is the metric of all searches.
func (s *Snapshot) Metric() collection.Metric { return s.set.o.Collection.Metric }

// Change is what rounding to float32 has changed of the vectors, and of those beside them that were deleted or replaced.
func (s *Snapshot) Change() (all dataset.Change) {
	for i := range s.views {
		all.Add(s.views[i].c.Change)
	}
	all.Add(s.tail.change)
	return all
}

// Has reports whether there is a vector of this id.
func (s *Snapshot) Has(id int64) bool {
	if row, known := s.tail.find(id); known {
		return row.len() > 0
	}
	v, _ := s.viewOf(id)
	return v != nil
}

// viewOf returns the view that has a vector of this id, and its row; nil for none.
func (s *Snapshot) viewOf(id int64) (*view, int) {
	for i := range s.views {
		if row := s.views[i].find(id); row >= 0 {
			return &s.views[i], row
		}
	}
	return nil, -1
}

// Vector returns the vector of an id as it was written, relative to Options.Collection.Origin; nil if there is none. Values kept in
// float64 are rounded, and relative to nothing. It must not be changed, and is valid until Release.
func (s *Snapshot) Vector(id int64) []float32 {
	if s.set.keepsFloat64() {
		given := s.Given(id)
		if given == nil {
			return nil
		}
		row := make([]float32, len(given))
		for j, x := range given {
			row[j] = float32(x)
		}
		return row
	}
	if row, known := s.tail.find(id); known {
		return row.narrow
	}
	if v, row := s.viewOf(id); v != nil {
		return v.c.Row(row)
	}
	return nil
}

// Given returns a copy of the vector of an id, nil if there is none: as it was given to a Set of float64, and else
// with Options.Collection.Origin added, up to what rounding changed.
func (s *Snapshot) Given(id int64) []float64 {
	row, known := s.tail.find(id)
	if !known {
		v, at := s.viewOf(id)
		if v == nil {
			return nil
		}
		return v.c.Given(at)
	}
	if row.len() == 0 {
		return nil
	}
	given := row.float64s()
	if origin := s.set.o.Collection.Origin; origin != nil && !s.set.keepsFloat64() {
		for j, shift := range origin {
			given[j] += shift
		}
	}
	return given
}

// IDs returns the ids of all vectors, ascending.
func (s *Snapshot) IDs() []int64 {
	ids := make([]int64, 0, s.live)
	for i := range s.views {
		m := &s.views[i]
		for row := range m.c.N {
			if m.has(row) {
				ids = append(ids, m.ID(row))
			}
		}
	}
	last, _ := s.tail.inOrder()
	ids = append(ids, last...)
	slices.Sort(ids)
	return ids
}

// Each calls do with the ids of all vectors, some at a time, in no order, until it returns false. They are valid during the call.
func (s *Snapshot) Each(do func(ids []int64) bool) {
	const together = 4096
	ids := make([]int64, 0, together)
	for i := range s.views {
		m := &s.views[i]
		for row := range m.c.N {
			if !m.has(row) {
				continue
			}
			if ids = append(ids, m.ID(row)); len(ids) == together {
				if !do(ids) {
					return
				}
				ids = ids[:0]
			}
		}
	}
	last, _ := s.tail.inOrder()
	if len(ids) == 0 || do(ids) {
		do(last)
	}
}

// Columns returns the columns of vectors, in the order of their ids as they are given; nil of a Set without. Those of an id without a
// vector are null.
func (s *Snapshot) Columns(ids []int64) *columns.Columns {
	fields := s.set.o.Columns
	if len(fields) == 0 {
		return nil
	}
	of := make([]*columns.Columns, 2, len(s.views)+2) // without values, the tail's, and those of views
	for i := range s.views {
		var kept *columns.Columns
		if s.views[i].columns != nil {
			kept = s.views[i].columns()
		}
		of = append(of, kept)
	}
	var inTail []int32
	places := make([]columns.Place, len(ids))
	for i, id := range ids {
		if write := s.tail.last(id); write >= 0 {
			if at := s.tail.at[write]; at >= 0 {
				places[i] = columns.Place{Of: 1, Row: uint32(len(inTail))}
				inTail = append(inTail, at)
			}
			continue
		}
		for n := range s.views {
			if row := s.views[n].find(id); row >= 0 {
				places[i] = columns.Place{Of: uint32(n + 2), Row: uint32(row)}
				break
			}
		}
	}
	of[1] = s.tail.columns(fields, inTail)
	return columns.Collect(fields, of, places)
}

// Size is how large a snapshot is.
type Size struct {
	Segments int   // with codes
	Waiting  int   // rows without codes, which wait for being sealed; those deleted included
	Bytes    int64 // of vectors, codes and columns, mapped or not
}

// Size returns how large the snapshot is. It takes time for each segment, not for each vector.
func (s *Snapshot) Size() Size {
	size := Size{Waiting: len(s.tail.ids), Bytes: s.tail.rows.bytes() + 16*int64(len(s.tail.ids)) + s.tail.weight}
	for i := range s.views {
		m := &s.views[i]
		if size.Bytes += m.c.Bytes() + 8*int64(len(m.ids)) + m.weight; m.coded == 0 {
			size.Waiting += m.c.N
		} else {
			size.Segments++
		}
	}
	return size
}

// Kept returns the bytes of what searches have made of its segments and engines keep.
func (s *Snapshot) Kept() int64 { return s.sum((*batch.Engine).Kept) }

// Making bounds the bytes of what a search makes of its segments for engines to keep.
func (s *Snapshot) Making() int64 { return s.sum((*batch.Engine).Making) }

// sum adds up what of says of the engines of segments.
func (s *Snapshot) sum(of func(*batch.Engine) int64) (all int64) {
	for i := range s.views {
		all += of(s.views[i].engine)
	}
	return all
}

// Footprint returns the memory of a search for so many queries like those of req, whose row numbers are not looked at: the greatest of
// its segments, as batch.Engine.Footprint has them.
func (s *Snapshot) Footprint(req batch.Request, queries int) (most batch.Footprint, err error) {
	req.Filter, req.Exclude = nil, nil
	for i := range s.views {
		m := &s.views[i]
		one := req
		one.K = min(req.K, m.c.N)
		if m.coded == 0 {
			one.Method, one.Plan, one.Published = batch.Exact, "", batch.Published{}
		}
		f, err := m.engine.Footprint(one, queries)
		if err != nil {
			return most, err
		}
		if f.Bytes() > most.Bytes() {
			most = f
		}
	}
	return most, nil
}

// Holding is one segment of a snapshot, as its folder or a report of it has it.
type Holding struct {
	Segment *Segment
	Deleted []uint32 // rows, ascending
}

// Holdings lists the segments that have been frozen or sealed, largest first. They stay open until Release.
func (s *Snapshot) Holdings() []Holding {
	parts := make([]Holding, len(s.views))
	for i := range s.views {
		m := &s.views[i]
		parts[i].Segment = m.Segment
		for row := range m.c.N {
			if m.deleted > 0 && !m.has(row) {
				parts[i].Deleted = append(parts[i].Deleted, uint32(row))
			}
		}
	}
	return parts
}

// Release ends the use of the snapshot.
func (s *Snapshot) Release() error {
	if s.users.Add(-1) > 0 {
		return nil
	}
	var err error
	for i := range s.views {
		err = errors.Join(err, s.views[i].Close())
	}
	return errors.Join(err, s.tail.close())
}

// tailView returns the rows of the tail as a view; nil if there are none.
func (s *Snapshot) tailView() (*view, error) { return s.tail.view(s.set) }
