package cpu

import (
	"context"
	"fmt"
	"math"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/simd"
)

// cachedRows is the size of the stretch of rows that a group of queries
// revisits together: it stays in the last-level cache, and holds enough survivors to fetch ahead.
const cachedRows = 8 << 20

// fewRows are left for the next stretch.
const fewRows = 32

// revisit takes a later look, row by row, at the survivors.
func (x *run) revisit(ctx context.Context, l backend.Look) error {
	if !x.c.Coded() {
		return fmt.Errorf("rows of codes: %w", backend.ErrRuleUnsupported)
	}
	t, err := x.r.terms(l)
	if err != nil {
		return err
	}
	// a thread's queries go together: the more look at a stretch, the more find a
	// row that another has just read
	n := min(x.r.threads, len(x.states))
	return x.r.each(ctx, n, func(w *scratch, p int) error {
		return x.revisitBlock(ctx, w, t, x.states[len(x.states)*p/n:len(x.states)*(p+1)/n])
	})
}

// revisiting is one query's look at its list.
type revisiting struct {
	*state
	bound   looks.Bound
	arms    survivors // being looked at; what is kept moves to its front
	at      int       // of those, the first not looked at yet
	kept    int
	seen    int
	dropped int
	passed  int // moved on to the finalists or scored
}

// revisitBlock walks a block of queries through the atoms together, so that a row
// that several of them look at is in the cache.
func (x *run) revisitBlock(ctx context.Context, w *scratch, t *looks.Compiled, states []state) error {
	var qs []revisiting
	for j := range states {
		s := &states[j]
		if s.phase > listed || s.taken == t.Look {
			continue
		}
		if h := s.again; h != nil && h.bound.Look == t.Look {
			s.again = nil
			qs = append(qs, *h)
			continue
		}
		s.conclude()
		s.everybody()
		if len(s.list.ids) == 0 {
			continue
		}
		s.fine(w)
		worth := s.rows.Steps
		if t.QueryCodes == looks.CodesHigh {
			worth = s.rows.high
		}
		qs = append(qs, revisiting{state: s, bound: t.Bound(&s.prep, worth), arms: s.list})
	}
	_, stride := t.Look.Rep.Codes(x.c)
	step := max(64, x.r.stretch/stride)
	for end := step; len(qs) > 0; end += step {
		if err := rest(ctx, len(states)); err != nil {
			for k := range qs {
				qs[k].hold()
			}
			return err
		}
		live := qs[:0]
		for k := range qs {
			q := &qs[k]
			q.stretch(w, t.Look.Source, uint32(min(end, x.c.N)))
			if q.at < len(q.arms.ids) {
				live = append(live, *q)
				continue
			}
			q.record()
			q.taken = t.Look
		}
		qs = live
	}
	return nil
}

// everybody lists all atoms before any look: then they are the survivors.
func (s *state) everybody() {
	if s.phase == listed {
		return
	}
	for i := range s.beyond(s.next) {
		s.list.ids = append(s.list.ids, uint32(i))
		s.list.bounds = append(s.list.bounds, collection.Upward(looks.NormBound(s.prep.Norm, s.c.Norm[i], s.offset(i))))
	}
	s.phase = listed
}

// stretch looks at the listed atoms below end, if they are worth a visit yet: a
// few rows are not fetched ahead. What is worth it depends on the list alone.
func (q *revisiting) stretch(w *scratch, source backend.Source, end uint32) {
	from, to := q.at, q.at
	for to < len(q.arms.ids) && q.arms.ids[to] < end {
		to++
	}
	if from == to || to-from < fewRows && to < len(q.arms.ids) {
		return
	}
	q.at = to
	seg := survivors{q.arms.ids[from:to], q.arms.bounds[from:to]}
	w.picked.cut(0)
	w.picked.choose(q.k, seg, q.least32(), float32(math.Inf(1)))
	ids := w.picked.ids
	q.seen += len(ids)
	w.fetched = fetch(&q.bound, ids)
	wide := q.read(w, ids)
	w.hot.cut(0)
	w.hot.room(len(ids))
	whole := q.bound.Kind == looks.Whole
	for k, i := range ids {
		estimate, upper := q.sized(w, k, i, wide)
		switch {
		case upper < q.tau:
			q.dropped++
		case whole && (source == backend.LowerBound || estimate < q.tau || q.goal.K == 0):
			q.passed++
			q.finalist(source, int(i), estimate, upper)
		case whole:
			q.passed++
			q.score(int(i))
		case estimate >= q.tau && q.goal.K > 0:
			q.passed++
			w.hot.ids, w.hot.bounds = append(w.hot.ids, i), append(w.hot.bounds, w.picked.bounds[k])
		default:
			q.arms.ids[q.kept], q.arms.bounds[q.kept] = i, min(w.picked.bounds[k], collection.Upward(upper))
			q.kept++
		}
	}
	if len(w.hot.ids) > 0 {
		q.lift(w, source, w.hot)
	}
}

// read sums rows ids as the look has them.
func (q *revisiting) read(w *scratch, ids []uint32) (wide bool) {
	if q.bound.QueryCodes != looks.CodesHigh {
		w.sums = grow(w.sums, len(ids))
		return q.sums(w, ids, q.bound.Look.To)
	}
	w.signs = grow(w.signs, len(ids))
	rows, stride := q.bound.Rep.Codes(q.c)
	q.k.Signs(w.signs, rows, stride, ids, q.c.R, q.c.D, &q.rows.codes)
	return false
}

// sized bounds atom i, entry k of what read summed.
func (q *revisiting) sized(w *scratch, k int, i uint32, wide bool) (estimate, upper float64) {
	if q.bound.QueryCodes == looks.CodesHigh {
		return q.signs(&q.bound, int(i), &w.signs[k])
	}
	return q.state.sized(&q.bound, w, k, i, wide)
}

// sums reads rows ids, head and width rest codes each, into w.sums. It reports
// true, and reads nothing, when the sums would not fit.
func (s *state) sums(w *scratch, ids []uint32, width int) (wide bool) {
	c := s.c
	if c.R+width > simd.MaxScan {
		return true
	}
	s.k.Rows(w.sums, c.Codes, c.R+c.D, ids, c.R, width, &s.rows.codes)
	return false
}

// sized bounds atom i, entry k of w.sums.
func (s *state) sized(b *looks.Bound, w *scratch, k int, i uint32, wide bool) (estimate, upper float64) {
	if wide {
		return s.wideRow(b, int(i))
	}
	return s.row(b, int(i), &w.sums[k])
}

// hold keeps a look that a context stopped, for it to go on there.
func (q *revisiting) hold() {
	q.close()
	h := *q
	q.again = &h
}

// close closes the gap that the arms no longer listed have left; those not looked at
// keep their bounds.
func (q *revisiting) close() {
	rest := copy(q.arms.ids[q.kept:], q.arms.ids[q.at:])
	copy(q.arms.bounds[q.kept:], q.arms.bounds[q.at:])
	q.arms.cut(q.kept + rest)
	q.at = q.kept
	q.list = q.arms
}

// record takes the look's figures into the query's, at its end or where it was stopped
// and does not go on.
func (q *revisiting) record() {
	q.close()
	before := len(q.list.ids)
	q.prune()
	q.dropped += before - len(q.list.ids)
	if q.bound.Random() {
		q.random = q.random || q.dropped > 0
		q.owe()
	}
	q.account(q.bound.AtomBytes, q.seen)
	q.report(q.bound.Look, q.seen, 0, len(q.list.ids)+q.passed)
}

// lift scores arms by source, in order, which may raise the threshold: exactly,
// or by lower bounds, and then they are still to be scored.
func (s *state) lift(w *scratch, source backend.Source, a survivors) {
	if source == backend.Exact {
		for _, i := range a.ids {
			s.score(int(i))
		}
		return
	}
	b := s.wholeBound(w)
	w.fetched = fetch(b, a.ids)
	w.sums = grow(w.sums, len(a.ids))
	wide := s.sums(w, a.ids, s.c.D)
	s.account(b.AtomBytes, len(a.ids))
	for k, i := range a.ids {
		estimate, upper := s.sized(b, w, k, i, wide)
		s.finalist(source, int(i), estimate, upper)
	}
}

// wholeBound readies the bound of whole rows.
func (s *state) wholeBound(w *scratch) *looks.Bound {
	s.fine(w)
	if s.whole.Compiled == nil {
		s.whole = s.wholeTerms.Bound(&s.prep, s.rows.Steps)
	}
	return &s.whole
}

// finalist takes an arm whose whole row was read. Its lower bound may lift the
// threshold, if that is the source.
func (s *state) finalist(source backend.Source, i int, estimate, upper float64) {
	if source == backend.LowerBound && s.goal.K > 0 {
		lower := estimate - (upper - estimate) - s.offsetWidth(i)
		if s.surely(lower) {
			s.lower.push(lower)
			if s.lower.full() {
				// without epsilon, which would drop these very arms unscored
				s.tau = max(s.tau, s.scale.LowerThreshold(s.lower.heap[0]))
			}
		}
	}
	if upper >= s.tau {
		s.finalists = append(s.finalists, arm{bound: upper, i: uint32(i)})
	}
}
