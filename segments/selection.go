package segments

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"

	"thresher/batch"
	"thresher/columns"
)

// Selection is the vectors of a Snapshot for which an expression over their columns is true. It is valid until the
// Snapshot is released, and safe for concurrent use.
type Selection struct {
	s     *Snapshot
	views []*view // with what is selected of them; none without
	len   int

	searched atomic.Bool
}

// Select returns the vectors for which an expression over their columns is true, compiled once to a bitmap a segment.
// numberOf gives the id, -1 for none, that the expression calls by an integer or, if it is not "", a text; nil: ids are
// called as they are. Errors are *columns.ExprError.
func (s *Snapshot) Select(e *columns.Expr, numberOf func(id int64, text string) int64) (*Selection, error) {
	none := columns.Collect(s.set.o.Columns, nil, nil) // also if there are no segments, names and types are checked
	none.RowsOf = func(int64, string) []uint32 { return nil }
	if err := none.Check(e); err != nil {
		return nil, err
	}
	views := make([]*view, 0, len(s.views)+1)
	for i := range s.views {
		views = append(views, &s.views[i])
	}
	last, err := s.tailView()
	if err != nil {
		return nil, err
	}
	if last != nil {
		views = append(views, last)
	}
	selected := &Selection{s: s}
	for _, v := range views {
		own := *columns.None(v.c.N)
		if v.columns != nil {
			own = *v.columns()
		}
		own.RowsOf = func(id int64, text string) []uint32 {
			if numberOf != nil {
				id = numberOf(id, text)
			}
			if row, ok := v.Row(id); ok {
				return []uint32{uint32(row)}
			}
			return nil
		}
		found, err := own.Select(e)
		if err != nil {
			return nil, err
		}
		if found.IsEmpty() {
			continue
		}
		rows := make([]uint64, (v.c.N+63)/64)
		found.WriteDenseTo(rows)
		part := &view{Segment: v.Segment, live: v.engine.Only(v.live, rows)}
		part.deleted = v.c.N - part.live.Len()
		if part.left() > 0 {
			selected.views, selected.len = append(selected.views, part), selected.len+part.left()
		}
	}
	slices.SortStableFunc(selected.views, func(a, b *view) int { return cmp.Compare(b.left(), a.left()) }) // the order of the walk
	return selected, nil
}

// Len is the number of vectors.
func (s *Selection) Len() int { return s.len }

// IDs returns the ids of the vectors, ascending.
func (s *Selection) IDs() []int64 {
	ids := make([]int64, 0, s.len)
	for _, v := range s.views {
		for _, row := range v.live.Rows() {
			ids = append(ids, v.ID(int(row)))
		}
	}
	slices.Sort(ids)
	return ids
}

// Search is Snapshot.Search for answers that have vectors of the selection only.
func (s *Selection) Search(ctx context.Context, req batch.Request) (*batch.Response, error) {
	if s.searched.Swap(true) {
		for _, v := range s.views {
			v.live.Reuse()
		}
	}
	return s.s.search(ctx, req, s)
}

// has reports whether an id is one of the selection's.
func (s *Selection) has(id int64) bool {
	return slices.ContainsFunc(s.views, func(v *view) bool { return v.find(id) >= 0 })
}
