package batch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"thresher/backend"
)

// QueryGoal is what one query asks for, in addition to what its Request asks for all queries.
// The zero QueryGoal adds nothing.
type QueryGoal struct {
	// K, if not 0, replaces Request.K. Queries with the same K share runs.
	K int
	// MinScore, if not nil, replaces Request.MinScore.
	MinScore *float64
	// Exclude lists row numbers that may not be returned, in addition to Request.Deny, in
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

// self returns the row number of the atom that query j is a copy of and may not return
// (Request.ExcludeSelf), or -1.
func (w *work) self(j int) int64 {
	if !w.req.ExcludeSelf {
		return -1
	}
	return w.req.SelfFirst + w.number(j)
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

// applyLists sets the filters of queries lo..hi-1 from their exclusions, and their floors from
// the scores of their candidates. Once ctx has ended it scores no more candidates: their floors
// only save work.
func (w *work) applyLists(ctx context.Context, lo, hi int) {
	if w.req.Goals == nil {
		return
	}
	var g errgroup.Group
	g.SetLimit(max(1, w.e.threads()))
	const chunk = 16
	for from := lo; from < hi; from += chunk {
		g.Go(func() error {
			var s candidateScores
			for j := from; j < min(from+chunk, hi); j++ {
				if rows := w.req.Goals[j].Exclude; len(rows) > 0 {
					w.exclude(j, rows)
				}
				if rows := w.req.Goals[j].Candidates; len(rows) > 0 && ctx.Err() == nil {
					w.scoreCandidates(j, rows, &s)
				}
			}
			return nil
		})
	}
	g.Wait() // always nil
}

// releaseLists releases the memory of the filters that applyLists made for queries lo..hi-1.
func (w *work) releaseLists(lo, hi int) {
	if w.req.Goals == nil {
		return
	}
	for j := lo; j < hi; j++ {
		if len(w.req.Goals[j].Exclude) > 0 {
			w.goals[j].Filter = nil
		}
	}
}

// exclude removes rows from the atoms that query j may return: it gives the query a filter of
// its own, and updates Allowed and K.
func (w *work) exclude(j int, rows []int64) {
	g := &w.goals[j]
	n := w.e.c.N
	b := make([]uint64, (n+63)/64)
	if g.Filter != nil {
		copy(b, g.Filter.Bits())
	} else {
		setBits(b, n)
	}
	for _, row := range rows {
		i := w.e.inverse[row]
		b[i/64] &^= 1 << (i % 64)
	}
	g.Filter = backend.NewFilter(w.e.c.Order, b)
	g.Allowed = g.Filter.Len()
	if g.Skip >= 0 && g.Filter.Has(g.Skip) {
		g.Allowed--
	}
	if g.K > 0 {
		g.K = max(1, min(g.K, g.Allowed))
	}
}

// setBits sets the first n bits.
func setBits(b []uint64, n int) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	if n%64 != 0 {
		b[len(b)-1] = 1<<(n%64) - 1
	}
}

// usedCandidates says how many candidates a query has, and whether they were scored.
type usedCandidates struct {
	given  int // different candidates that may be returned
	scored bool
}

// candidateScores are the buffers of scoreCandidates.
type candidateScores struct {
	rows   []uint32
	scores []float64
}

// scoreCandidates raises the floor of query j to the k-th best score of its candidates: an atom
// that scores less than k others is not in the answer. A query without k needs all atoms that
// reach its least score, so its candidates are not scored.
func (w *work) scoreCandidates(j int, rows []int64, s *candidateScores) {
	g, c := &w.goals[j], w.e.c
	s.rows = s.rows[:0]
	for _, row := range rows {
		if i := int(w.e.inverse[row]); i != g.Skip && (g.Filter == nil || g.Filter.Has(i)) {
			s.rows = append(s.rows, uint32(row))
		}
	}
	slices.Sort(s.rows)
	s.rows = slices.Compact(s.rows)
	w.candidates[j].given = len(s.rows)
	if g.K == 0 || len(s.rows) == 0 {
		return
	}
	w.candidates[j].scored = true
	s.scores = slices.Grow(s.scores[:0], len(s.rows))[:len(s.rows)]
	c.Scores(s.scores, w.query(j), s.rows)
	if len(s.rows) >= g.K {
		slices.Sort(s.scores)
		g.Floor = max(g.Floor, s.scores[len(s.scores)-g.K])
	}
}

// recordCandidates adds the candidates of query j, and the cost of scoring them, to its
// certificate. ids are the row numbers of its answer.
func (w *work) recordCandidates(j int, cert *Certificate, ids []int64) {
	if w.candidates == nil || w.candidates[j].given == 0 {
		return
	}
	used := w.candidates[j]
	r := &CandidateRecord{Given: used.given}
	known := make(map[int64]bool, used.given)
	for _, row := range w.req.Goals[j].Candidates {
		known[row] = true
	}
	for _, id := range ids {
		if known[id] {
			r.Right++
		}
	}
	cert.Candidates = r
	if used.scored {
		coordinates := int64(used.given) * int64(w.e.c.Dim)
		cert.Pulls += coordinates
		cert.Bytes += 4 * coordinates
		cert.RowsScored += used.given
	}
}

// subrequest has the queries of a request that want the same number of atoms.
type subrequest struct {
	Request
	numbers []int // of its queries in the original request; nil if it has them all
}

// splitByK divides a request into subrequests, one for each number of atoms that its queries
// want: all queries of a run share the alpha of a look, which depends on that number.
func (r *Request) splitByK(dim int) []subrequest {
	m := len(r.Queries) / max(1, dim)
	one := []subrequest{{*r, nil}}
	if len(r.Goals) != m || m == 0 {
		return one // no goals, or a number of goals that checkGoals refuses
	}
	kOf := func(g QueryGoal) int { return cmp.Or(g.K, r.K) }
	one[0].K = kOf(r.Goals[0])
	if !slices.ContainsFunc(r.Goals, func(g QueryGoal) bool { return kOf(g) != one[0].K }) {
		return one
	}
	var all []subrequest
	at := map[int]int{} // by k: the index in all
	for j := range m {
		k := kOf(r.Goals[j])
		i, known := at[k]
		if !known {
			i = len(all)
			at[k] = i
			s := subrequest{*r, nil}
			s.K, s.Queries, s.Goals = k, nil, nil
			all = append(all, s)
		}
		s := &all[i]
		s.numbers = append(s.numbers, j)
		s.Queries = append(s.Queries, r.Queries[j*dim:(j+1)*dim]...)
		s.Goals = append(s.Goals, r.Goals[j])
	}
	return all
}

// searchByK answers req by calling answer once for each number of atoms that its queries want.
func (e *Engine) searchByK(ctx context.Context, req *Request, answer func(context.Context, *work) (*Response, error)) (*Response, error) {
	split := req.splitByK(e.c.Dim)
	works := make([]*work, len(split))
	for i := range split {
		var err error
		if works[i], err = e.newWork(&split[i].Request, split[i].numbers); err != nil {
			return nil, split[i].renumber(err)
		}
	}
	ctx, cancel := req.withTimeout(ctx)
	defer cancel()
	if len(works) == 1 {
		return answer(ctx, works[0])
	}
	all := &Response{Answers: make([]Answer, len(req.Goals))}
	for i, w := range works {
		resp, err := answer(ctx, w)
		if err != nil {
			return nil, err
		}
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
	return all, nil
}

// renumber replaces the query number in an error of the subrequest by its number in the
// original request.
func (s *subrequest) renumber(err error) error {
	if e, ok := err.(*RequestError); ok && e.Query >= 0 && s.numbers != nil {
		return &RequestError{Field: e.Field, Query: s.numbers[e.Query], Err: e.Err}
	}
	return err
}
