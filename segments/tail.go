package segments

import (
	"context"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
)

// tail is what has been written since the last freeze, as a list of writes: later ones of an id replace earlier
// ones. It never changes: append returns another one, which shares its memory. So a write costs what it
// writes, and only a search pays for putting the rows in order.
type tail struct {
	dim       int
	ids       []int64        // of the writes
	at        []int32        // their rows; -1: the id was deleted
	rows      values         // [len][dim]
	live      int            // ids whose last write is a row
	change    dataset.Change // of rows, by rounding
	described []tailColumns  // of the rows, by what was written together; none in a Set without
	weight    int64          // bytes of described

	holders atomic.Int32

	mu   sync.Mutex
	made *view // the rows in order of their ids; nil until a search needs them
}

// tailColumns are the columns of rows of a tail that were written together.
type tailColumns struct {
	first   int              // row
	columns *columns.Columns // nil: they are null
}

// newTail returns a tail without writes.
func newTail(dim int) *tail {
	t := &tail{dim: dim}
	t.holders.Store(1)
	return t
}

// hold takes a reference.
func (t *tail) hold() *tail {
	t.holders.Add(1)
	return t
}

// close gives up a reference.
func (t *tail) close() error {
	if t.holders.Add(-1) > 0 || t.made == nil {
		return nil
	}
	return t.made.Close()
}

// put returns the tail with rows written, of which known were in the tail already, and whose columns are c. Only the last tail may be appended to.
func (t *tail) put(ids []int64, rows values, known int, c *columns.Columns) *tail {
	next := newTail(t.dim)
	next.described, next.weight = t.described, t.weight
	if c != nil {
		next.weight += c.Bytes()
	}
	if c != nil || len(t.described) > 0 {
		next.described = append(t.described, tailColumns{t.rows.len() / t.dim, c})
	}
	next.ids, next.rows, next.at = append(t.ids, ids...), t.rows.with(rows), t.at
	for i := range ids {
		next.at = append(next.at, int32(t.rows.len()/t.dim+i))
	}
	next.live, next.change = t.live+len(ids)-known, t.change
	return next
}

// remove returns the tail with ids deleted, all of which it has.
func (t *tail) remove(ids []int64) *tail {
	next := newTail(t.dim)
	next.ids, next.rows, next.at, next.live = append(t.ids, ids...), t.rows, t.at, t.live-len(ids)
	next.change, next.described, next.weight = t.change, t.described, t.weight
	for range ids {
		next.at = append(next.at, -1)
	}
	return next
}

// last returns the last write of an id, -1 if there is none.
func (t *tail) last(id int64) int {
	for i := len(t.ids) - 1; i >= 0; i-- {
		if t.ids[i] == id {
			return i
		}
	}
	return -1
}

// find returns the row of an id, without values if it was deleted, and whether the tail knows of it.
func (t *tail) find(id int64) (row values, known bool) {
	i := t.last(id)
	if i < 0 || t.at[i] < 0 {
		return values{}, i >= 0
	}
	at := int(t.at[i]) * t.dim
	return t.rows.slice(at, at+t.dim), true
}

// inOrder returns the ids, ascending, and their rows by number.
func (t *tail) inOrder() (ids []int64, at []int32) {
	writes := make([]int, len(t.ids))
	for i := range writes {
		writes[i] = i
	}
	slices.SortStableFunc(writes, func(a, b int) int {
		switch {
		case t.ids[a] < t.ids[b]:
			return -1
		case t.ids[a] > t.ids[b]:
			return 1
		}
		return 0
	})
	ids, at = make([]int64, 0, t.live), make([]int32, 0, t.live)
	for i, w := range writes {
		if i+1 < len(writes) && t.ids[writes[i+1]] == t.ids[w] || t.at[w] < 0 {
			continue
		}
		ids, at = append(ids, t.ids[w]), append(at, t.at[w])
	}
	return ids, at
}

// segment returns the rows as a segment without codes.
func (t *tail) segment(s *Set) (*Segment, error) {
	ids, at := t.inOrder()
	rows := s.values(len(at) * t.dim)
	for i, row := range at {
		rows.put(i*t.dim, t.rows.slice(int(row)*t.dim, (int(row)+1)*t.dim))
	}
	made, err := s.scanned(ids, rows, t.change)
	if err == nil && len(s.o.Columns) > 0 {
		made.weight = t.weight
		made.columns = sync.OnceValue(func() *columns.Columns { return t.columns(s.o.Columns, at) })
	}
	return made, err
}

// columns returns the columns of these rows.
func (t *tail) columns(fields []columns.Field, rows []int32) *columns.Columns {
	of := []*columns.Columns{nil} // of rows before the first write with columns
	for _, d := range t.described {
		of = append(of, d.columns)
	}
	places := make([]columns.Place, len(rows))
	for i, row := range rows {
		n := sort.Search(len(t.described), func(n int) bool { return t.described[n].first > int(row) })
		if n > 0 {
			places[i] = columns.Place{Of: uint32(n), Row: uint32(int(row) - t.described[n-1].first)}
		}
	}
	return columns.Collect(fields, of, places)
}

// view returns the rows as a view without codes; nil if there are none. It is closed with the tail. The
// build takes one reading of the rows, and so does not end with the search that needs it first.
func (t *tail) view(s *Set) (*view, error) {
	if t.live == 0 {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made == nil {
		made, err := t.segment(s)
		if err != nil {
			return nil, err
		}
		t.made = &view{Segment: made}
	}
	return t.made, nil
}

// scanned returns a segment without codes, which takes one reading of the rows to make.
func (s *Set) scanned(ids []int64, rows values, change dataset.Change) (*Segment, error) {
	o := s.o.Collection
	o.Change, o.Basis, o.NoCodes, o.KeepRotated, o.Progress = change, collection.Rotated, true, false, nil
	ctx := context.Background()
	v, err := rows.vectors(s.dim)
	if err != nil {
		return nil, err
	}
	c, err := collection.BuildVectors(ctx, v, &o)
	if err != nil {
		return nil, err
	}
	return New(ctx, c, ids, s.o.Backend, &s.o.Engine, 0, nil)
}
