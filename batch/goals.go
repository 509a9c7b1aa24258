package batch

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"thresher/backend"
)

// QueryGoal is what one query asks for, in addition to what its Request asks for all queries.
// The zero QueryGoal adds nothing.
type QueryGoal struct {
	// K, if not 0, replaces Request.K. Queries with the same K share runs.
	K int
	// MinScore and MaxScore, if not nil, replace those of the Request.
	MinScore, MaxScore *float64
	// Filter, if not nil, lists the only row numbers that may be returned, in place of Request.Filter. Queries whose
	// lists share their memory are searched together, others apart.
	Filter []int64
	// Exclude lists row numbers that may not be returned, in addition to Request.Exclude, in
	// any order.
	Exclude []int64
	// Candidates lists row numbers of atoms that are probably among the best, from an index,
	// an earlier answer or anywhere else, in any order. They are scored first, and the k-th
	// best of their scores is the first threshold. Good candidates save work; bad ones only
	// cost the work of scoring them. Neither changes the answer or its guarantee. Candidates
	// that may not be returned are ignored.
	Candidates []int64
}

// CandidateRecord counts the candidates of a query.
type CandidateRecord struct {
	Given int `json:"given"` // different candidates that may be returned
	Right int `json:"right"` // candidates in the answer
}

// goal returns the goal of query j as the caller gave it, or the zero QueryGoal.
func (w *work) goal(j int) *QueryGoal {
	if w.req.Goals == nil {
		return &QueryGoal{}
	}
	return &w.req.Goals[j]
}

// minScore returns the least score that query j wants, nil if it has no limit.
func (w *work) minScore(j int) *float64 {
	if limit := w.goal(j).MinScore; limit != nil {
		return limit
	}
	return w.req.MinScore
}

// maxScore returns the greatest score that query j wants, nil if it has no limit.
func (w *work) maxScore(j int) *float64 {
	if limit := w.goal(j).MaxScore; limit != nil {
		return limit
	}
	return w.req.MaxScore
}

// ceiling is MaxScore of query j as a search score; +Inf without MaxScore.
func (w *work) ceiling(j int) float64 {
	limit := w.maxScore(j)
	if limit == nil {
		return math.Inf(1)
	}
	return w.e.c.Metric.Ceiling(*limit)
}

// checkLimits returns an error if no score can be within the limits of a query.
func (w *work) checkLimits() error {
	for j := range w.m {
		least, most := w.minScore(j), w.maxScore(j)
		if least == nil || most == nil {
			continue
		}
		if m := w.e.c.Metric; m.Ceiling(*most) < m.Ceiling(*least) {
			return &RequestError{Field: "max_score", Query: j, Err: fmt.Errorf("%g, but min_score is %g: no score is within both", *most, *least)}
		}
	}
	return nil
}

// self returns the row number of the atom that query j is a copy of and may not return
// (Request.ExcludeSelf), or -1.
func (w *work) self(j int) int64 {
	if !w.req.ExcludeSelf {
		return -1
	}
	if w.req.Selves != nil {
		return w.req.Selves[w.number(j)]
	}
	return w.req.SelfFirst + w.number(j)
}

// checkSelves returns an error unless each query has an atom that it is.
func (w *work) checkSelves() error {
	if !w.req.ExcludeSelf {
		return nil
	}
	first, last, n := w.req.SelfFirst, w.number(w.m-1), int64(w.e.c.N)
	rows := w.req.Selves
	if rows == nil {
		if first < 0 || first > n-1-last {
			return &RequestError{Field: "exclude_self", Query: -1, Err: fmt.Errorf("queries stand for rows %d to %d, there are %d", first, first+last, n)}
		}
		return nil
	}
	if int64(len(rows)) <= last || w.numbers == nil && len(rows) != w.m {
		return &RequestError{Field: "selves", Query: -1, Err: fmt.Errorf("%d for %d queries", len(rows), w.m)}
	}
	for j := range w.m {
		if err := w.e.checkRows("selves", j, []int64{w.self(j)}); err != nil {
			return err
		}
	}
	return nil
}

// number returns the number of query j in the caller's request, of which w may be a part.
func (w *work) number(j int) int64 {
	if w.numbers != nil {
		return int64(w.numbers[j])
	}
	return int64(j)
}

// checkGoals returns an error if a goal is invalid, or if there is not one for each query.
func (w *work) checkGoals() error {
	goals := w.req.Goals
	if goals == nil {
		return nil
	}
	if len(goals) != w.m {
		return &RequestError{Field: "goals", Query: -1, Err: fmt.Errorf("%d for %d queries", len(goals), w.m)}
	}
	for j := range goals {
		g := &goals[j]
		if g.MinScore != nil && !finite(*g.MinScore) {
			return &RequestError{Field: "min_score", Query: j, Err: fmt.Errorf("%g is not finite", *g.MinScore)}
		}
		if g.MaxScore != nil && !finite(*g.MaxScore) {
			return &RequestError{Field: "max_score", Query: j, Err: fmt.Errorf("%g is not finite", *g.MaxScore)}
		}
		if g.K < 0 || w.req.K == 0 && g.K == 0 && w.minScore(j) == nil {
			return &RequestError{Field: "k", Query: j, Err: fmt.Errorf("%d, at least 1", g.K)}
		}
		for _, list := range []struct {
			field string
			rows  []int64
		}{{"exclude", g.Exclude}, {"candidates", g.Candidates}} {
			if err := w.e.checkRows(list.field, j, list.rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyLists gives the goals of queries lo..hi-1 their exclusions and candidates, as lists of
// internal indexes.
func (w *work) applyLists(lo, hi int) {
	if w.req.Goals == nil {
		return
	}
	var g errgroup.Group
	g.SetLimit(max(1, w.e.threads()))
	const chunk = 16
	for from := lo; from < hi; from += chunk {
		g.Go(func() error {
			for j := from; j < min(from+chunk, hi); j++ {
				w.applyList(j)
			}
			return nil
		})
	}
	g.Wait() // always nil
}

// applyList is applyLists for query j.
func (w *work) applyList(j int) {
	g, own := &w.goals[j], &w.req.Goals[j]
	if len(own.Exclude) > 0 {
		g.Exclude = append(w.e.internal(own.Exclude), g.Exclude...) // the query itself may be there
		g.Exclude = backend.SortIndexes(g.Exclude, w.e.c.N)
		w.countAllowed(j)
	}
	if len(own.Candidates) > 0 {
		g.Candidates = slices.DeleteFunc(w.e.internal(own.Candidates), func(i uint32) bool {
			_, excluded := slices.BinarySearch(g.Exclude, i)
			return excluded || int(i) < g.From || g.Filter != nil && !g.Filter.Has(int(i))
		})
		g.Candidates = backend.SortIndexes(g.Candidates, w.e.c.N)
		w.given[j] = len(g.Candidates)
	}
}

// internal returns the internal indexes of rows.
func (e *Engine) internal(rows []int64) []uint32 {
	out := make([]uint32, len(rows))
	for k, row := range rows {
		out[k] = e.inverse[row]
	}
	return out
}

// countAllowed sets Allowed of query j's goal, and reduces K to it.
func (w *work) countAllowed(j int) {
	g := &w.goals[j]
	g.Allowed = w.e.c.N - g.From
	if g.Filter != nil {
		g.Allowed = g.Filter.Len()
		if g.From > 0 {
			all := g.Filter.Atoms()
			before, _ := slices.BinarySearch(all, uint32(g.From))
			g.Allowed -= before
		}
	}
	for _, i := range g.Exclude {
		if int(i) >= g.From && (g.Filter == nil || g.Filter.Has(int(i))) {
			g.Allowed--
		}
	}
	if g.K > 0 {
		g.K = max(1, min(g.K, g.Allowed))
	}
}

// releaseLists releases the memory of the lists that applyLists made for queries lo..hi-1.
func (w *work) releaseLists(lo, hi int) {
	if w.req.Goals == nil {
		return
	}
	for j := lo; j < hi; j++ {
		w.goals[j].Exclude, w.goals[j].Candidates = nil, nil
	}
}

// recordCandidates adds the candidates of query j to its certificate, and whether it had a threshold before the first look. ids are the row numbers of its
// answer.
func (w *work) recordCandidates(j int, cert *Certificate, ids []int64) {
	cert.ThresholdBefore = w.minScore(j) != nil || !math.IsInf(w.floor(j), -1)
	if w.given == nil || w.given[j] == 0 {
		return
	}
	cert.ThresholdBefore = cert.ThresholdBefore || w.goals[j].K > 0 && w.given[j] >= w.goals[j].K
	cert.Candidates = &CandidateRecord{Given: w.given[j], Right: w.e.countCommon(ids, w.goals[j].Candidates)}
}

// countCommon counts the row numbers that are among atoms, internal indexes in ascending order.
func (e *Engine) countCommon(rows []int64, atoms []uint32) (n int) {
	// Most rows that are not among them are found out by a few bits.
	size := 64
	for size < 16*len(atoms) {
		size *= 2
	}
	marks := make([]uint64, size/64)
	for _, i := range atoms {
		i &= uint32(size - 1)
		marks[i/64] |= 1 << (i % 64)
	}
	for _, row := range rows {
		i := e.inverse[row]
		if at := i & uint32(size-1); marks[at/64]>>(at%64)&1 == 0 {
			continue
		}
		if _, found := slices.BinarySearch(atoms, i); found {
			n++
		}
	}
	return n
}

// subrequest has the queries of a request that want the same number of atoms of the same ones.
type subrequest struct {
	Request
	numbers  []int // of its queries in the original request; nil if it has them all
	filtered bool  // Filter is that of its queries
}

// Wanted is what queries that are searched together have in common: the number of atoms that they want, and the
// memory of the list of those that may be returned.
type Wanted struct {
	K     int
	first *int64 // of the list; nil of none
	rows  int    // in the list; -1: there is none
}

// WantedOf returns what a query of r with a goal wants.
func (r *Request) WantedOf(g *QueryGoal) Wanted {
	w := Wanted{K: cmp.Or(g.K, r.K), rows: -1}
	if g.Filter != nil {
		w.first, w.rows = unsafe.SliceData(g.Filter), len(g.Filter)
	}
	return w
}

// split divides a request into subrequests, one for each number of atoms that its queries want, and for each list of
// those that may be returned: all queries of a run share the alpha of a look, which depends on that number, and a plan.
func (r *Request) split(dim int) []subrequest {
	m := len(r.Queries) / max(1, dim)
	if len(r.Goals) != m || m == 0 {
		return []subrequest{{Request: *r}} // no goals, or a number of goals that checkGoals refuses
	}
	begin := func(j int, w Wanted) subrequest {
		s := subrequest{Request: *r, filtered: w.rows >= 0}
		if s.K = w.K; s.filtered {
			s.Filter = r.Goals[j].Filter
		}
		return s
	}
	first := r.WantedOf(&r.Goals[0])
	if !slices.ContainsFunc(r.Goals, func(g QueryGoal) bool { return r.WantedOf(&g) != first }) {
		return []subrequest{begin(0, first)}
	}
	var all []subrequest
	at := map[Wanted]int{} // the index in all
	for j := range m {
		w := r.WantedOf(&r.Goals[j])
		i, known := at[w]
		if !known {
			i = len(all)
			at[w] = i
			s := begin(j, w)
			s.Queries, s.Queries64, s.Goals, s.Changes = nil, nil, nil, nil
			all = append(all, s)
		}
		s := &all[i]
		s.numbers = append(s.numbers, j)
		s.Queries = append(s.Queries, r.Queries[j*dim:(j+1)*dim]...)
		if r.Queries64 != nil {
			s.Queries64 = append(s.Queries64, r.Queries64[j*dim:(j+1)*dim]...)
		}
		s.Goals = append(s.Goals, r.Goals[j])
		if r.Changes != nil {
			s.Changes = append(s.Changes, r.Changes[j])
		}
	}
	return all
}

// searchApart answers req by calling answer once for each of its subrequests. If answer
// searches at once, s may stage the queries; otherwise it is nil.
func (e *Engine) searchApart(ctx context.Context, req *Request, part Within, s backend.Stager, answer func(context.Context, *work) (*Response, error)) (*Response, error) {
	if req.Queries64 != nil || req.Changes != nil || e.c.Float64() || e.c.Origin != nil && !req.Stored {
		placed, err := req.Placed(e.c)
		if err != nil {
			return nil, err
		}
		req = &placed
	}
	if req.Goals == nil {
		w, err := e.newStagedWork(req, nil, s, part)
		if err != nil {
			return nil, err
		}
		defer w.release()
		ctx, cancel := req.withTimeout(ctx)
		defer cancel()
		return answer(ctx, w)
	}
	split := req.split(e.c.Dim)
	ctx, cancel := req.withTimeout(ctx)
	defer cancel()
	all := &Response{Answers: make([]Answer, len(req.Goals))}
	for i := range split {
		if s := &split[i]; s.filtered && len(split) > 1 { // none is searched if one is refused
			if err := e.checkRows("filter", s.first(), s.Filter); err != nil {
				return nil, err
			}
		}
	}
	var shared int64
	for i := range split {
		if s := &split[i]; s.filtered && len(split) > 1 && ctx.Err() != nil {
			s.Filter = nil // the answers are empty, and nothing of all vectors scores above their bounds
		}
		w, err := e.newStagedWork(&split[i].Request, split[i].numbers, nil, part) // one at a time: each has a filter
		if err != nil {
			return nil, split[i].renumber(err)
		}
		resp, err := answer(ctx, w) // with ctx ended, the further ones are empty
		if resp == nil || len(split) == 1 {
			return resp, err
		}
		shared += w.strategy.shared.Load()
		for at, j := range split[i].numbers {
			all.Answers[j] = resp.Answers[at]
		}
		all.Took += resp.Took
		for _, text := range resp.Warnings {
			if !slices.Contains(all.Warnings, text) {
				all.Warnings = append(all.Warnings, text)
			}
		}
	}
	for j := range all.Answers {
		all.Stats.add(&all.Answers[j].Certificate)
	}
	all.Stats.Bytes += 4 * shared
	return all, all.stopped()
}

// first is the number in the original request of the first of its queries.
func (s *subrequest) first() int {
	if s.numbers == nil {
		return 0
	}
	return s.numbers[0]
}

// renumber replaces the query number in an error of the subrequest by its number in the
// original request; what is wrong with the list of all of its queries is so with that of the first.
func (s *subrequest) renumber(err error) error {
	e, ok := err.(*RequestError)
	if !ok {
		return err
	}
	query := e.Query
	if query < 0 && e.Field == "filter" && s.filtered {
		query = 0
	}
	if query >= 0 && s.numbers != nil {
		query = s.numbers[query]
	}
	return &RequestError{Field: e.Field, Query: query, Err: e.Err}
}
