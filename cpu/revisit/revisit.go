package revisit

import (
	"context"
	"fmt"
	"math"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/cpu/arms"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
)

// minVisit is the least number of rows that a query reads in a visit. If fewer of its survivors
// are in a tile, it reads them with those of a later tile.
const minVisit = 32

// Several threads divide the queries of a later look into revisitParts times as many parts as they are, if a part has
// minRevisited queries, so that they end at about the same time.
const revisitParts, minRevisited = 4, 16

// CompileLook compiles a later look, at the rows of the survivors.
func (x *Run) CompileLook(ctx context.Context, l backend.Look) (*looks.Compiled, error) {
	if !x.C.Coded() {
		return nil, fmt.Errorf("rows of codes: %w", backend.ErrRuleUnsupported)
	}
	if err := arms.CheckLook(l, x.C); err != nil {
		return nil, err
	}
	return x.r.Compile(ctx, l)
}

// Take takes look t at the survivors. Stopped first looks must be recorded.
func (x *Run) Take(ctx context.Context, t *looks.Compiled) error {
	// The queries of a thread go through the tiles together: the more there are, the more rows
	// are found in the cache.
	n := min(x.r.Threads, len(x.queries))
	if n > 1 && len(x.queries) >= minRevisited*revisitParts*n { // survivors differ more than queries do
		n *= revisitParts
	}
	return x.Each(ctx, n, func(base *threads.Scratch, p int) error {
		w := ScratchOf(base)
		return x.revisitQueries(ctx, w, t, x.queries[len(x.queries)*p/n:len(x.queries)*(p+1)/n])
	})
}

// revisitState is the state of one query in a later look. Of its list of arms, the entries below
// kept were looked at and stay in the list, and those from next on have not been looked at yet.
type revisitState struct {
	*Query
	bound   looks.Bound
	arms    topk.Entries
	kept    int
	next    int
	seen    int // arms looked at
	dropped int // of those seen: below the threshold
	passed  int // of those seen: became finalists, or were or will be scored as candidates
}

// revisitQueries takes look t at the survivors of states, tile by tile.
func (x *Run) revisitQueries(ctx context.Context, w *Scratch, t *looks.Compiled, states []Query) error {
	var qs []revisitState
	for j := range states {
		s := &states[j]
		if s.Phase > arms.Listed || s.last == t.Look {
			continue
		}
		if stopped := s.stopped; stopped != nil && stopped.bound.Look == t.Look {
			s.stopped = nil
			qs = append(qs, *stopped)
			continue
		}
		s.RecordStoppedRevisit()
		s.ListAllAtoms()
		if len(s.List.IDs) == 0 {
			continue
		}
		s.codeQuery16(w)
		qs = append(qs, revisitState{Query: s, bound: t.Bound(&s.Prep, s.rows.stepsOf(t.QueryCodes)), arms: s.List})
	}
	tileAtoms := max(64, min(x.r.TileBytes/t.AtomBytes, threads.MaxUnchecked))
	for end := tileAtoms; len(qs) > 0; end += tileAtoms {
		if err := x.r.Checkpoint(ctx, len(states)); err != nil {
			for k := range qs {
				qs[k].stop()
			}
			return err
		}
		live := qs[:0]
		for k := range qs {
			q := &qs[k]
			if err := x.r.Spend(ctx, w.Scratch, min(tileAtoms, len(q.arms.IDs)-q.next), len(states)); err != nil {
				for _, stopped := range [][]revisitState{live, qs[k:]} {
					for i := range stopped {
						stopped[i].stop()
					}
				}
				return err
			}
			q.visitTile(w, t.Look.Source, uint32(min(end, x.C.N)))
			if q.next < len(q.arms.IDs) {
				live = append(live, *q)
				continue
			}
			q.record()
			q.last = t.Look
		}
		qs = live
	}
	return nil
}

// visitTile takes the look at the listed atoms below end. If there are fewer than minVisit of
// them, and others beyond end, it leaves them to a later tile. Which atoms are looked at together
// depends on the query's list alone.
func (q *revisitState) visitTile(w *Scratch, source backend.Source, end uint32) {
	from, to := q.next, q.next
	for to < len(q.arms.IDs) && q.arms.IDs[to] < end {
		to++
	}
	if from == to || to-from < minVisit && to < len(q.arms.IDs) {
		return
	}
	q.next = to
	inTile := topk.Entries{IDs: q.arms.IDs[from:to], Bounds: q.arms.Bounds[from:to]}
	w.selected.Truncate(0)
	w.selected.AppendSelected(q.Kern, inTile, q.Tau32(), float32(math.Inf(1)))
	ids := w.selected.IDs
	q.seen += len(ids)
	q.boundArms(w, ids)
	w.candidates.Truncate(0)
	w.candidates.Reserve(len(ids))
	fullWidth, rises := q.bound.FullWidth(), q.MayRise(len(q.arms.IDs))
	for k, i := range ids {
		estimate, upper := w.estimates[k], w.uppers[k]
		candidate := rises && estimate >= q.Tau && q.MayAnswer(estimate)
		switch {
		case upper < q.Tau:
			q.dropped++
		case fullWidth && (source == backend.LowerBound || !candidate):
			if q.addFinalist(source, int(i), estimate, upper) {
				q.passed++
			}
		case fullWidth:
			q.passed++
			q.ScoreAtom(int(i))
		case candidate:
			q.passed++
			w.candidates.IDs, w.candidates.Bounds = append(w.candidates.IDs, i), append(w.candidates.Bounds, w.selected.Bounds[k])
		default:
			q.arms.IDs[q.kept], q.arms.Bounds[q.kept] = i, min(w.selected.Bounds[k], collection.Upward(upper))
			q.kept++
		}
	}
	if len(w.candidates.IDs) > 0 {
		q.Tighten(w, source, w.candidates)
	}
}

// stop saves the state of a look that a context stopped, so that it can be resumed.
func (q *revisitState) stop() {
	q.compactList()
	stopped := *q
	q.stopped = &stopped
}

// compactList removes the arms between kept and next, which are no longer listed, and makes the
// others the query's list.
func (q *revisitState) compactList() {
	unseen := copy(q.arms.IDs[q.kept:], q.arms.IDs[q.next:])
	copy(q.arms.Bounds[q.kept:], q.arms.Bounds[q.next:])
	q.arms.Truncate(q.kept + unseen)
	q.next = q.kept
	q.List = q.arms
}

// RecordStoppedRevisit is recordStopped for later looks.
func (s *Query) RecordStoppedRevisit() {
	if q := s.stopped; q != nil {
		s.stopped = nil
		q.record()
	}
}

// record adds the look's counts to the query's certificate. It is called once: when the look has
// ended, or was stopped and will not be resumed.
func (q *revisitState) record() {
	q.compactList()
	before := len(q.List.IDs)
	q.PruneArms()
	q.dropped += before - len(q.List.IDs)
	if q.bound.Random() {
		if q.dropped > 0 {
			q.NoteRandomDrop()
		}
		q.NoteRandomBound(len(q.List.IDs) + len(q.Finalists))
	}
	q.CountCodes(q.bound.AtomBytes, q.seen)
	q.AddReport(q.bound.Look, q.seen, 0, len(q.List.IDs)+q.passed)
}
