package segments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// question is a request about a snapshot, checked as far as its ids go, for queries that all want the same number of the same vectors.
type question struct {
	s       *Snapshot
	req     batch.Request // K and Delta are set, Queries are in float32; ids stand where an engine has row numbers
	numbers []int         // of the queries in the caller's request; nil if these are all
	m, k    int           // queries; vectors wanted, at most as many as there are; 0: all that reach the least score
	sorted  []int64       // of Filter, each once; nil without one
	floors  bool          // the method drops vectors below a floor found elsewhere
	delta   float64
	parts   int // views that are searched
}

// bad is an error in a field of the request.
func bad(field string, query int, format string, a ...any) error {
	return &batch.RequestError{Field: field, Query: query, Err: fmt.Errorf(format, a...)}
}

// questions checks a request and divides it by what its queries want.
func (s *Snapshot) questions(req batch.Request) (asked []*question, warnings []string, err error) {
	dim := s.set.dim
	req, err = s.Placed(req)
	if err != nil {
		return nil, nil, err
	}
	m := len(req.Queries) / dim
	if s.set.keepsFloat64() && slices.Contains(batch.PublishedMethods(), req.Method) {
		return nil, nil, bad("method", -1, "%s: %w", req.Method, collection.ErrFloat64)
	}
	switch {
	case m == 0:
		return nil, nil, bad("queries", -1, "none given")
	case req.LaterOnly:
		return nil, nil, bad("later_only", -1, "the vectors of several segments have no order in common")
	case req.K < 0:
		return nil, nil, bad("k", -1, "%d, at least 1", req.K)
	case req.Goals != nil && len(req.Goals) != m:
		return nil, nil, bad("goals", -1, "%d for %d queries", len(req.Goals), m)
	case req.ExcludeSelf && req.Selves != nil && len(req.Selves) != m:
		return nil, nil, bad("selves", -1, "%d for %d queries", len(req.Selves), m)
	}
	req.Delta, req.SearchScores, req.Deadline = cmp.Or(req.Delta, .01), true, 0
	numbers := map[batch.Wanted][]int{} // of queries, by what they want
	var all []batch.Wanted
	for j := range m {
		var goal batch.QueryGoal
		if req.Goals != nil {
			goal = req.Goals[j]
		}
		wanted := req.WantedOf(&goal)
		k := wanted.K
		if k < 0 {
			return nil, nil, bad("k", j, "%d, at least 1", k)
		}
		if cut := min(k, max(1, s.live)); cut < k {
			warning := fmt.Sprintf("k %d cut to the %d vectors there are", k, s.live)
			if !slices.Contains(warnings, warning) {
				warnings = append(warnings, warning)
			}
			k = cut
		}
		if wanted.K = k; numbers[wanted] == nil {
			all = append(all, wanted)
		}
		numbers[wanted] = append(numbers[wanted], j)
	}
	for _, wanted := range all {
		q, err := s.question(&req, wanted.K, numbers[wanted], m)
		if err != nil {
			return nil, nil, err
		}
		asked = append(asked, q)
	}
	return asked, warnings, nil
}

// Placed is batch.Request.Placed for the vectors of the snapshot.
func (s *Snapshot) Placed(req batch.Request) (batch.Request, error) {
	o := &s.set.o.Collection
	like := &collection.Collection{Dim: s.set.dim, Metric: o.Metric, Origin: o.Origin}
	if s.set.keepsFloat64() {
		none, err := dataset.NewVectors(o.Elem, s.set.dim, nil)
		if err != nil {
			return req, err
		}
		like.Vectors = none
	}
	return req.Placed(like)
}

// question returns the part of a request of m queries with the queries of these numbers, which want k vectors each.
func (s *Snapshot) question(req *batch.Request, k int, numbers []int, m int) (*question, error) {
	q := &question{s: s, req: *req, m: len(numbers), k: k, delta: req.Delta}
	q.req.K = k
	if len(numbers) < m {
		q.numbers = numbers
		q.req.Part = true
		q.req.Queries = pick(req.Queries, numbers, s.set.dim)
		q.req.Queries64 = pick(req.Queries64, numbers, s.set.dim)
		q.req.Changes = pick(req.Changes, numbers, 1)
	}
	method := cmp.Or(req.Method, batch.Auto)
	q.floors = k > 0 && (method.Chances() == batch.ChancesNone || method.Chances() == batch.ChancesShared)
	q.req.Goals = make([]batch.QueryGoal, q.m)
	for i, j := range numbers {
		goal := &q.req.Goals[i]
		if req.Goals != nil {
			*goal = req.Goals[j]
			goal.K, goal.Filter = 0, nil
		}
		for _, list := range []struct {
			field string
			ids   []int64
		}{{"exclude", goal.Exclude}, {"candidates", goal.Candidates}} {
			if err := checkList(list.field, j, list.ids); err != nil {
				return nil, err
			}
		}
		if !req.ExcludeSelf {
			continue
		}
		self := req.SelfFirst + int64(j)
		if req.Selves != nil {
			self = req.Selves[j]
		}
		if !s.Has(self) {
			return nil, bad("exclude_self", j, "there is no vector %d", self)
		}
		goal.Exclude = append(slices.Clone(goal.Exclude), self)
	}
	q.req.ExcludeSelf, q.req.Selves, q.req.SelfFirst = false, nil, 0
	of := -1 // the query whose own filter it is
	if req.Goals != nil && req.Goals[numbers[0]].Filter != nil {
		of, q.req.Filter = numbers[0], req.Goals[numbers[0]].Filter
	}
	if q.sorted = q.req.Filter; !ascending(q.sorted) || len(q.sorted) > 0 && q.sorted[0] < 0 {
		if err := checkList("filter", of, q.sorted); err != nil {
			return nil, err
		}
		q.sorted = slices.Clone(q.sorted)
		slices.Sort(q.sorted)
		q.sorted = slices.Compact(q.sorted)
	}
	return q, checkList("exclude", -1, req.Exclude)
}

// ascending reports whether each id is greater than the one before.
func ascending(ids []int64) bool {
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			return false
		}
	}
	return true
}

// checkList refuses negative ids. Others that are not there are ignored: they may have been deleted.
func checkList(field string, query int, ids []int64) error {
	for i, id := range ids {
		if id < 0 {
			return bad(field, query, "entry %d: id %d, at least 0", i, id)
		}
	}
	return nil
}

// pick returns the rows of these numbers, of dim values each; nil of nil.
func pick[T any](rows []T, numbers []int, dim int) []T {
	if rows == nil {
		return nil
	}
	out := make([]T, 0, len(numbers)*dim)
	for _, j := range numbers {
		out = append(out, rows[j*dim:(j+1)*dim]...)
	}
	return out
}

// about returns the request as it is put to one segment, by row numbers.
func (q *question) about(v *view) batch.Request {
	req := q.req
	if req.Queries64 != nil { // of float64, whose segments have origins of their own
		req.Queries, req.Stored = nil, false
	}
	if q.sorted != nil {
		req.Filter = v.rowsOf(q.sorted)
	}
	req.Exclude = v.listed(req.Exclude)
	goals := make([]batch.QueryGoal, q.m)
	plain := true
	for j := range goals {
		own := &q.req.Goals[j]
		goals[j] = batch.QueryGoal{MinScore: own.MinScore, MaxScore: own.MaxScore, Exclude: v.listed(own.Exclude), Candidates: v.listed(own.Candidates)}
		plain = plain && own.MinScore == nil && own.MaxScore == nil && len(goals[j].Exclude) == 0 && len(goals[j].Candidates) == 0
	}
	if req.Goals = goals; plain {
		req.Goals = nil
	}
	if q.k > v.c.N { // alpha is delta/k for each vector, also where there are fewer than k
		req.K = v.c.N
		req.Delta *= float64(v.c.N) / float64(q.k)
	}
	method := cmp.Or(req.Method, batch.Auto)
	if method.Chances() == batch.ChancesAdded {
		req.Delta /= float64(max(1, q.parts))
	}
	if v.coded == 0 {
		req.Plan, req.Published = "", batch.Published{}
		if method != batch.Auto && method != batch.Certain {
			req.Method = batch.Exact
		}
		if q.req.Epsilon > 0 && req.Method == batch.Exact {
			req.Epsilon, req.Relative = 0, false
		}
	}
	return req
}

// listed returns the rows of ids that are there, in the order of the ids.
func (v *view) listed(ids []int64) (rows []int64) {
	for _, id := range ids {
		if row := v.find(id); row >= 0 {
			rows = append(rows, int64(row))
		}
	}
	return rows
}

// rowsOf returns the rows of ascending ids, those that are deleted included; never nil, and ids itself where they are the
// rows. Where the segment's ids have gaps it takes a logarithm of the rows between two ids, so that neither few ids nor
// nearly all of them take long.
func (v *view) rowsOf(ids []int64) []int64 {
	if v.c.N == 0 {
		return []int64{}
	}
	last := v.c.N - 1
	start, _ := slices.BinarySearch(ids, v.ID(0))
	stop, found := slices.BinarySearch(ids, v.ID(last))
	if found {
		stop++
	}
	ids = ids[min(start, stop):stop:stop]
	first, consecutive := v.consecutive()
	if consecutive && first == 0 {
		return ids
	}
	rows := make([]int64, len(ids))
	if consecutive {
		for k, id := range ids {
			rows[k] = id - first
		}
		return rows
	}
	n := 0
	for row, k := 0, 0; k < len(ids); k++ {
		found := false
		if row, found = v.rowFrom(row, ids[k]); found {
			rows[n] = int64(row)
			n++
		}
	}
	return rows[:n]
}

// rowFrom returns the first row from row on whose id is at least id, which the last one's is, and whether it is id.
func (s *Segment) rowFrom(row int, id int64) (int, bool) {
	end, last := row, len(s.ids)-1
	for step := 1; end < last && s.ids[end] < id; step *= 2 {
		row, end = end+1, min(end+step, last)
	}
	i, found := slices.BinarySearch(s.ids[row:end+1], id)
	return row + i, found
}

// renumber replaces the number of a query in an error by that in the caller's request.
func (q *question) renumber(err error) error {
	var e *batch.RequestError
	if q.numbers != nil && errors.As(err, &e) && e.Query >= 0 {
		return &batch.RequestError{Field: e.Field, Query: q.numbers[e.Query], Err: e.Err}
	}
	return err
}

// nothing returns a view without vectors, to put requests to a set that has none.
func (s *Set) nothing() (*view, error) {
	made, err := s.scanned([]int64{0}, s.values(s.dim), dataset.Change{})
	if err != nil {
		return nil, err
	}
	return &view{Segment: made, live: made.engine.Without((*backend.Filter)(nil), []int{0}), deleted: 1}, nil
}

// within returns ctx with the deadline of a request, counted from now.
func within(ctx context.Context, req *batch.Request) (context.Context, context.CancelFunc) {
	if req.Deadline <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, req.Deadline)
}
