package cpu

import (
	"context"
	"fmt"
	"math"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
)

// tileBytes is the size of a tile of rows, which the queries of a thread visit together. It
// fits the last-level cache, and a query has enough survivors in it to prefetch them.
const tileBytes = 8 << 20

// leastVisit is the least number of rows that a query visits at once. Fewer wait for the
// next tile.
const leastVisit = 32

// revisit takes a later look at the survivors, which reads rows.
func (x *run) revisit(ctx context.Context, l backend.Look) error {
	if !x.c.Coded() {
		return fmt.Errorf("rows of codes: %w", backend.ErrRuleUnsupported)
	}
	t, err := x.r.compile(l)
	if err != nil {
		return err
	}
	// The queries of a thread go through the tiles together: the more there are, the more rows
	// are found in the cache.
	n := min(x.r.threads, len(x.states))
	return x.r.each(ctx, n, func(w *scratch, p int) error {
		return x.revisitQueries(ctx, w, t, x.states[len(x.states)*p/n:len(x.states)*(p+1)/n])
	})
}

// revisitState is the state of one query in a later look.
type revisitState struct {
	*state
	bound   looks.Bound
	arms    survivors // the list; its first kept entries are arms kept, those from next on are not looked at yet
	next    int
	kept    int
	seen    int // arms looked at
	dropped int
	passed  int // arms seen that became finalists or were scored
}

// revisitQueries takes look t at the survivors of states, tile by tile.
func (x *run) revisitQueries(ctx context.Context, w *scratch, t *looks.Compiled, states []state) error {
	var qs []revisitState
	for j := range states {
		s := &states[j]
		if s.phase > listed || s.lastRevisit == t.Look {
			continue
		}
		if stopped := s.stoppedRevisit; stopped != nil && stopped.bound.Look == t.Look {
			s.stoppedRevisit = nil
			qs = append(qs, *stopped)
			continue
		}
		s.recordStopped()
		s.listAllAtoms()
		if len(s.list.ids) == 0 {
			continue
		}
		s.codeQuery16(w)
		qs = append(qs, revisitState{state: s, bound: t.Bound(&s.prep, s.rows.stepsOf(t.QueryCodes)), arms: s.list})
	}
	_, stride := t.Look.Rep.Codes(x.c)
	tileAtoms := max(64, x.r.tileBytes/stride)
	for end := tileAtoms; len(qs) > 0; end += tileAtoms {
		if err := checkpoint(ctx, len(states)); err != nil {
			for k := range qs {
				qs[k].stop()
			}
			return err
		}
		live := qs[:0]
		for k := range qs {
			q := &qs[k]
			q.visitTile(w, t.Look.Source, uint32(min(end, x.c.N)))
			if q.next < len(q.arms.ids) {
				live = append(live, *q)
				continue
			}
			q.record()
			q.lastRevisit = t.Look
		}
		qs = live
	}
	return nil
}

// listAllAtoms lists all allowed atoms that no look has seen, with bounds by their norms.
func (s *state) listAllAtoms() {
	if s.phase == listed {
		return
	}
	for i := range s.allowedFrom(s.nextPanel) {
		s.list.ids = append(s.list.ids, uint32(i))
		s.list.bounds = append(s.list.bounds, collection.Upward(looks.NormBound(s.prep.Norm, s.c.Norm[i], s.offset(i))))
	}
	s.phase = listed
}

// visitTile takes the look at the listed atoms below end, unless there are fewer than
// leastVisit of them and more to come. Which atoms are looked at together depends on the
// list alone.
func (q *revisitState) visitTile(w *scratch, source backend.Source, end uint32) {
	from, to := q.next, q.next
	for to < len(q.arms.ids) && q.arms.ids[to] < end {
		to++
	}
	if from == to || to-from < leastVisit && to < len(q.arms.ids) {
		return
	}
	q.next = to
	inTile := survivors{q.arms.ids[from:to], q.arms.bounds[from:to]}
	w.selected.truncate(0)
	w.selected.appendSelected(q.kern, inTile, q.least32(), float32(math.Inf(1)))
	ids := w.selected.ids
	q.seen += len(ids)
	w.fetchSink = fetchSides(&q.bound, ids)
	wide := q.sumRows(w, ids)
	w.candidates.truncate(0)
	w.candidates.reserve(len(ids))
	fullWidth := q.bound.Kind == looks.Whole
	for k, i := range ids {
		estimate, upper := q.boundArm(w, k, i, wide)
		switch {
		case upper < q.tau:
			q.dropped++
		case fullWidth && (source == backend.LowerBound || estimate < q.tau || q.goal.K == 0):
			q.passed++
			q.addFinalist(source, int(i), estimate, upper)
		case fullWidth:
			q.passed++
			q.scoreAtom(int(i))
		case estimate >= q.tau && q.goal.K > 0:
			q.passed++
			w.candidates.ids, w.candidates.bounds = append(w.candidates.ids, i), append(w.candidates.bounds, w.selected.bounds[k])
		default:
			q.arms.ids[q.kept], q.arms.bounds[q.kept] = i, min(w.selected.bounds[k], collection.Upward(upper))
			q.kept++
		}
	}
	if len(w.candidates.ids) > 0 {
		q.tighten(w, source, w.candidates)
	}
}

// stop keeps a look that a context stopped, so that it can be resumed.
func (q *revisitState) stop() {
	q.compactList()
	h := *q
	q.stoppedRevisit = &h
}

// compactList makes the arms kept and those not looked at the query's list, contiguous.
func (q *revisitState) compactList() {
	rest := copy(q.arms.ids[q.kept:], q.arms.ids[q.next:])
	copy(q.arms.bounds[q.kept:], q.arms.bounds[q.next:])
	q.arms.truncate(q.kept + rest)
	q.next = q.kept
	q.list = q.arms
}

// record adds the look's figures to the query's certificate, when it has ended or was
// stopped and will not be resumed.
func (q *revisitState) record() {
	q.compactList()
	before := len(q.list.ids)
	q.pruneArms()
	q.dropped += before - len(q.list.ids)
	if q.bound.Random() {
		q.random = q.random || q.dropped > 0
		q.noteRandomBound(len(q.list.ids) + len(q.finalists))
	}
	q.countCodes(q.bound.AtomBytes, q.seen)
	q.addReport(q.bound.Look, q.seen, 0, len(q.list.ids)+q.passed)
}

// tighten scores arms by source, in order, which may raise the threshold. Exact scores are
// answers; by LowerBound the arms become finalists, which are scored at the end.
func (s *state) tighten(w *scratch, source backend.Source, a survivors) {
	if source == backend.Exact {
		for _, i := range a.ids {
			s.scoreAtom(int(i))
		}
		return
	}
	b := s.fullWidthBound(w)
	w.fetchSink = fetchSides(b, a.ids)
	w.sums.codes = grow(w.sums.codes, len(a.ids))
	wide := s.sumCodes(w, a.ids, s.c.D)
	s.countCodes(b.AtomBytes, len(a.ids))
	for k, i := range a.ids {
		estimate, upper := s.boundSummedCodes(b, w, k, i, wide)
		s.addFinalist(source, int(i), estimate, upper)
	}
}

// fullWidthBound returns the bound of the deterministic look at whole rows.
func (s *state) fullWidthBound(w *scratch) *looks.Bound {
	s.codeQuery16(w)
	if s.fullWidth.Compiled == nil {
		s.fullWidth = s.fullWidthTerms.Bound(&s.prep, s.rows.Steps)
	}
	return &s.fullWidth
}

// addFinalist takes an arm whose whole row was read and keeps it if upper reaches the
// threshold. If source is LowerBound, its lower bound may raise the threshold first.
func (s *state) addFinalist(source backend.Source, i int, estimate, upper float64) {
	if source == backend.LowerBound && s.goal.K > 0 {
		lower := estimate - (upper - estimate) - s.offsetWidth(i)
		if s.certainlyReachesFloor(lower) {
			s.lower.push(lower)
			if s.lower.full() {
				// Without epsilon, which would drop the k arms of these bounds before they are scored.
				s.tau = max(s.tau, s.conversion.LowerThreshold(s.lower.heap[0]))
			}
		}
	}
	if upper >= s.tau {
		s.finalists = append(s.finalists, arm{bound: upper, i: uint32(i)})
	}
}
