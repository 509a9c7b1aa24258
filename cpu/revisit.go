package cpu

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
)

// tileBytes is how much a look reads at most of a tile: a range of rows that all queries of a thread
// visit before they go on to the next. So much fits the last-level cache, and is enough to contain several
// survivors of a query, which can then be prefetched, and shared with helpers.
const tileBytes = 8 << 20

// leastVisit is the least number of rows that a query reads in a visit. If fewer of its survivors
// are in a tile, it reads them with those of a later tile.
const leastVisit = 32

// Several threads divide the queries of a later look into revisitParts times as many parts as they are, if a part has
// leastRevisited queries, so that they end at about the same time.
const revisitParts, leastRevisited = 4, 16

// compileRevisit compiles a later look, at the rows of the survivors.
func (x *run) compileRevisit(l backend.Look) (*looks.Compiled, error) {
	if !x.c.Coded() {
		return nil, fmt.Errorf("rows of codes: %w", backend.ErrRuleUnsupported)
	}
	if err := checkLook(l, x.c); err != nil {
		return nil, err
	}
	return x.r.compile(l)
}

// revisit takes look t at the survivors. Stopped first looks must be recorded.
func (x *run) revisit(ctx context.Context, t *looks.Compiled) error {
	// The queries of a thread go through the tiles together: the more there are, the more rows
	// are found in the cache.
	n := min(x.r.threads, len(x.states))
	if n > 1 && len(x.states) >= leastRevisited*revisitParts*n { // survivors differ more than queries do
		n *= revisitParts
	}
	return x.r.each(ctx, n, func(w *scratch, p int) error {
		return x.revisitQueries(ctx, w, t, x.states[len(x.states)*p/n:len(x.states)*(p+1)/n])
	})
}

// revisitState is the state of one query in a later look. Of its list of arms, the entries below
// kept were looked at and stay in the list, and those from next on have not been looked at yet.
type revisitState struct {
	*state
	bound   looks.Bound
	arms    survivors
	kept    int
	next    int
	seen    int // arms looked at
	dropped int // of those seen: below the threshold
	passed  int // of those seen: became finalists, or were or will be scored as candidates
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
		s.recordStoppedRevisit()
		s.listAllAtoms()
		if len(s.list.ids) == 0 {
			continue
		}
		s.codeQuery16(w)
		qs = append(qs, revisitState{state: s, bound: t.Bound(&s.prep, s.rows.stepsOf(t.QueryCodes)), arms: s.list})
	}
	tileAtoms := max(64, min(x.r.tileBytes/t.AtomBytes, mostUnchecked))
	for end := tileAtoms; len(qs) > 0; end += tileAtoms {
		if err := x.r.checkpoint(ctx, len(states)); err != nil {
			for k := range qs {
				qs[k].stop()
			}
			return err
		}
		live := qs[:0]
		for k := range qs {
			q := &qs[k]
			if err := x.r.spend(ctx, w, min(tileAtoms, len(q.arms.ids)-q.next), len(states)); err != nil {
				for _, stopped := range [][]revisitState{live, qs[k:]} {
					for i := range stopped {
						stopped[i].stop()
					}
				}
				return err
			}
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

// listAllAtoms adds all allowed atoms that no look has seen to the list, with bounds from their
// norms.
func (s *state) listAllAtoms() {
	if s.phase == listed {
		return
	}
	for i := range s.shownFrom(s.nextPanel) {
		s.list.ids = append(s.list.ids, uint32(i))
		s.list.bounds = append(s.list.bounds, collection.Upward(looks.NormBound(s.prep.Norm, s.c.Norm[i], s.offset(i))))
	}
	s.phase, s.pruned = listed, false
}

// visitTile takes the look at the listed atoms below end. If there are fewer than leastVisit of
// them, and others beyond end, it leaves them to a later tile. Which atoms are looked at together
// depends on the query's list alone.
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
	q.boundArms(w, ids)
	w.candidates.truncate(0)
	w.candidates.reserve(len(ids))
	fullWidth, rises := q.bound.FullWidth(), q.mayRise(len(q.arms.ids))
	for k, i := range ids {
		estimate, upper := w.estimates[k], w.uppers[k]
		candidate := rises && estimate >= q.tau && q.mayAnswer(estimate)
		switch {
		case upper < q.tau:
			q.dropped++
		case fullWidth && (source == backend.LowerBound || !candidate):
			if q.addFinalist(source, int(i), estimate, upper) {
				q.passed++
			}
		case fullWidth:
			q.passed++
			q.scoreAtom(int(i))
		case candidate:
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

// stop saves the state of a look that a context stopped, so that it can be resumed.
func (q *revisitState) stop() {
	q.compactList()
	stopped := *q
	q.stoppedRevisit = &stopped
}

// compactList removes the arms between kept and next, which are no longer listed, and makes the
// others the query's list.
func (q *revisitState) compactList() {
	unseen := copy(q.arms.ids[q.kept:], q.arms.ids[q.next:])
	copy(q.arms.bounds[q.kept:], q.arms.bounds[q.next:])
	q.arms.truncate(q.kept + unseen)
	q.next = q.kept
	q.list = q.arms
}

// recordStoppedRevisit is recordStopped for later looks.
func (s *state) recordStoppedRevisit() {
	if q := s.stoppedRevisit; q != nil {
		s.stoppedRevisit = nil
		q.record()
	}
}

// record adds the look's counts to the query's certificate. It is called once: when the look has
// ended, or was stopped and will not be resumed.
func (q *revisitState) record() {
	q.compactList()
	before := len(q.list.ids)
	q.pruneArms()
	q.dropped += before - len(q.list.ids)
	if q.bound.Random() {
		if q.dropped > 0 {
			q.noteRandomDrop()
		}
		q.noteRandomBound(len(q.list.ids) + len(q.finalists))
	}
	q.countCodes(q.bound.AtomBytes, q.seen)
	q.addReport(q.bound.Look, q.seen, 0, len(q.list.ids)+q.passed)
}

// tighten raises the threshold, if it can, by scoring the given arms in order. With source Exact
// the scores are exact and enter the answer. With LowerBound the arms' lower bounds are computed
// from their whole rows of codes, and the arms become finalists, which are scored at the end. It reports
// whether any is better than the threshold was.
func (s *state) tighten(w *scratch, source backend.Source, a survivors) (better bool) {
	if source == backend.Exact {
		worst := math.Inf(-1)
		if s.best.full() {
			worst = s.best.worst().score
		}
		s.scoreAtoms(w, a.ids)
		return slices.ContainsFunc(w.scores, func(score float64) bool { return score > worst })
	}
	b := s.fullWidthBound(w)
	w.fetchSink = fetchSides(b, a.ids)
	w.sums.codes = grow(w.sums.codes, len(a.ids))
	wide := s.sumCodes(w, a.ids, s.c.D)
	s.countCodes(b.AtomBytes, len(a.ids))
	// All raise the threshold together, which takes less time than one after the other.
	w.lowers = w.lowers[:0]
	from, before := len(s.finalists), s.tau
	for k, i := range a.ids {
		estimate, upper := s.boundSummedCodes(b, w, k, i, wide)
		lower := s.lowerBound(int(i), estimate, upper)
		if s.certainlyAbove(lower) {
			s.dropAbove()
			continue
		}
		if s.raises(lower, upper) {
			w.lowers = append(w.lowers, lower)
			better = better || lower > before+betterShare*(upper-lower)
		}
		if upper >= s.tau {
			s.finalists = append(s.finalists, arm{bound: upper, i: i})
		}
	}
	s.lower.pushAll(w.lowers, &w.scores)
	s.raiseToLower()
	kept := s.finalists[:from]
	for _, a := range s.finalists[from:] {
		if a.bound >= s.tau {
			kept = append(kept, a)
		}
	}
	s.finalists = kept
	return better
}

// betterShare is how much better than the threshold a lower bound must be, as a share of its distance from the
// upper bound: those of equal scores differ by less.
const betterShare = .25

// raises reports whether the lower bound of an arm that has this upper bound can raise the threshold.
func (s *state) raises(lower, upper float64) bool {
	return s.goal.K > 0 && s.lower.takes(lower) && s.certainlyReachesFloor(lower) && s.certainlyBelow(upper)
}

// raiseToLower raises tau to the k-th greatest lower bound, if there are k: without epsilon, which
// would drop the k arms of these bounds before they are scored.
func (s *state) raiseToLower() {
	if s.goal.K > 0 && s.lower.full() {
		s.tau = max(s.tau, s.conversion.LowerThreshold(s.lower.least()))
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

// lowerBound returns the lower bound of atom i that belongs to an estimate and its upper bound.
func (s *state) lowerBound(i int, estimate, upper float64) float64 {
	return estimate - (upper - estimate) - s.offsetWidth(i)
}

// addFinalist takes an arm whose whole row was read and keeps it if upper reaches the
// threshold. If source is LowerBound, its lower bound may raise the threshold first. It returns
// false for an arm that certainly scores above the ceiling.
func (s *state) addFinalist(source backend.Source, i int, estimate, upper float64) bool {
	lower := s.lowerBound(i, estimate, upper)
	if s.certainlyAbove(lower) {
		s.dropAbove()
		return false
	}
	if source == backend.LowerBound && s.raises(lower, upper) {
		s.lower.push(lower)
		s.raiseToLower()
	}
	if upper >= s.tau {
		s.finalists = append(s.finalists, arm{bound: upper, i: uint32(i)})
	}
	return true
}
