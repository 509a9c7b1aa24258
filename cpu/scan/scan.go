package scan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"thresher/cpu/threads"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/cpu/arms"
	"thresher/cpu/revisit"
	"thresher/cpu/topk"
	"thresher/simd"
)

// codeQuery8 writes the query's 8-bit codes of the head and of the first width rest
// coordinates to dst. It returns their steps, and simd.Bias times the sum of each part.
func (s *Query) codeQuery8(w *scratch, dst []int8, width int) (k looks.Steps, headBias, restBias int32) {
	r := s.C.R
	w.Codes16 = topk.Grow(w.Codes16, r+width)
	var h, o int64
	k.HeadStep, k.HeadErr, h = revisit.QuantizeQuery(s.Kern, w.Codes16[:r], s.Prep.Head, looks.MaxCode8)
	k.RestStep, k.RestErr, o = revisit.QuantizeQuery(s.Kern, w.Codes16[r:], s.Prep.Rest[:width], looks.MaxCode8)
	for j, v := range w.Codes16 {
		dst[j] = int8(v)
	}
	return k, simd.Bias * int32(h), simd.Bias * int32(o)
}

// Take takes the first look, at all allowed atoms, for the queries that have not completed
// it. It reads panels; if the look is wider than those of the collection it reads the rows of
// codes.
func (x *Run) Take(ctx context.Context, l backend.Look) error {
	if !x.C.Coded() {
		return fmt.Errorf("panels: %w", backend.ErrRuleUnsupported)
	}
	if err := arms.CheckLook(l, x.C); err != nil {
		return err
	}
	t, err := x.r.Compile(ctx, l)
	if err != nil {
		return err
	}
	// Queries share the chunks of a scan from the first panel, and join at that of their own first
	// panel. One that a context stopped in a look of other chunks scans by itself.
	var together []int
	other := map[int][]int{}
	byFilter := map[*backend.Filter][]int{}
	var filters []*backend.Filter
	first := minChunk(l)
	for j := range x.queries {
		s := &x.queries[j]
		if s.Phase != arms.Unscanned {
			continue
		}
		if f := s.Goal.Filter; s.gathers(l) {
			if byFilter[f] == nil {
				filters = append(filters, f)
			}
			byFilter[f] = append(byFilter[f], j)
			continue
		}
		if s.NextPanel == s.Goal.From/arms.PanelAtoms { // not scanned yet
			s.NextPanel = chunkStart(first, s.NextPanel)
		}
		if chunkStart(first, s.NextPanel) == s.NextPanel {
			together = append(together, j)
		} else {
			other[s.NextPanel] = append(other[s.NextPanel], j)
		}
	}
	slices.SortStableFunc(together, func(i, j int) int { return x.queries[i].NextPanel - x.queries[j].NextPanel })
	if err := x.scanTogether(ctx, t, nil, together); err != nil {
		return err
	}
	for _, next := range slices.Sorted(maps.Keys(other)) {
		if err := x.scanTogether(ctx, t, nil, other[next]); err != nil {
			return err
		}
	}
	for _, f := range filters {
		if err := x.scanAllowed(ctx, t, f, byFilter[f]); err != nil {
			return err
		}
	}
	return nil
}

// scanAllowed scans the atoms that f allows, which is the filter of queries js.
func (x *Run) scanAllowed(ctx context.Context, t *looks.Compiled, f *backend.Filter, js []int) error {
	g, err := x.gather(ctx, t, f, len(js))
	if err != nil {
		return err
	}
	// A query that a context stopped in a look at the panels of the collection may have scanned a part of a panel.
	var whole, parted []int
	for _, j := range js {
		if _, found := g.at(x.queries[j].NextPanel); found {
			whole = append(whole, j)
		} else {
			parted = append(parted, j)
		}
	}
	if err := x.scanTogether(ctx, t, g, whole); err != nil {
		return err
	}
	for _, j := range parted {
		if err := x.scanTogether(ctx, t, nil, []int{j}); err != nil {
			return err
		}
	}
	return nil
}

// scanTogether scans for queries js, if g is not nil its panels in place of the collection's. The threads divide the
// queries among them or, if there are fewer queries than threads, the panels of each chunk.
func (x *Run) scanTogether(ctx context.Context, t *looks.Compiled, g *gathering, js []int) error {
	if len(js) == 0 {
		return nil
	}
	if g == nil && x.Team.Helped() && len(js) == 1 && x.queries[js[0]].Goal.From == 0 {
		return x.scanHelped(ctx, t, js[0])
	}
	if len(js) < x.r.Threads {
		return x.scanQueries(ctx, t, g, js, x.r.Threads)
	}
	return x.r.EachQueryChunk(ctx, len(js), func(_ *threads.Scratch, lo, hi int) error {
		return x.scanQueries(ctx, t, g, js[lo:hi], 1)
	})
}

// scanning is the state of one query in a scan.
type scanning struct {
	*Query
	bound        looks.Bound
	gathering    *gathering      // whose panels are scanned; nil: the collection's
	codes        []int8          // the query's 8-bit codes, of the look's width; of the head alone at panels of signs
	tables       simd.SignTables // of a look at panels of signs
	allAllowed   bool            // filter and From allow every atom
	allowedBits  []uint64        // the bits of the goal's filter; nil without a filter
	test         simd.ScanQuery
	listedBefore int  // arms listed before this look
	hiddenBefore int  // hidden atoms before NextPanel, for nextHidden
	seen         int  // atoms looked at
	codesRead    int  // atoms whose codes were read: those seen and others of their panels
	begun        bool // a chunk was taken
	tied         bool // the threshold is the score of many arms of the last chunk
	weak         int  // scores of a sample of given candidates, until a chunk has made a better threshold
	above        int  // atoms seen whose estimate is above the ceiling
	hiddenPassed int  // hidden atoms seen that passed the look
	passed       int  // arms seen that are candidates: their whole row was read, or they were scored
	sampled      int  // allowed atoms of the sample for the expected threshold
	repeats      bool // the scan is taken again, or will be
	again        int  // atoms whose codes were read before that
}

// scanQueries scans all panels for queries js together, those of g if it is not nil, chunk by chunk, on the given
// number of threads.
func (x *Run) scanQueries(ctx context.Context, t *looks.Compiled, g *gathering, js []int, threads int) error {
	workers := make([]worker, threads)
	for p := range workers {
		workers[p].w = x.r.getScratch()
		defer x.r.putScratch(workers[p].w)
	}
	w := workers[0].w
	waiting := x.newScans(w, t, g, js)
	if err := x.expectThresholds(ctx, w, t, waiting); err != nil {
		for _, q := range waiting {
			q.stop()
		}
		return err
	}
	for len(waiting) > 0 {
		var err error
		if waiting, err = x.scanOnce(ctx, workers, t, g, waiting); err != nil {
			return err
		}
	}
	return nil
}

// scanOnce takes scans that are waiting to their ends, and returns those to be taken again.
func (x *Run) scanOnce(ctx context.Context, workers []worker, t *looks.Compiled, g *gathering, waiting []*scanning) (again []*scanning, err error) {
	w, threads, all := workers[0].w, len(workers), len(waiting)
	slices.SortStableFunc(waiting, func(a, b *scanning) int { return a.NextPanel - b.NextPanel })
	way := x.newCourse(g, waiting)
	var qs []*scanning
	var merged topk.Entries
	lo := 0
	for len(qs)+len(waiting) > 0 {
		if len(qs) == 0 {
			lo = way.at(waiting[0])
		}
		for ; len(waiting) > 0 && way.at(waiting[0]) == lo; waiting = waiting[1:] {
			if q := waiting[0]; q.beginScan(w, x.C.PanelCount()) {
				qs = append(qs, q)
			}
		}
		if len(qs) == 0 {
			continue
		}
		hi := chunkEnd(minChunk(t.Look), lo, way.panels)
		chunk, next := way.chunk(qs, lo, hi)
		n := max(1, min(threads, len(chunk), 1+len(chunk)*arms.PanelAtoms*t.AtomBytes*len(qs)/splitBytes))
		err := x.r.Checkpoint(ctx, all)
		if err == nil {
			err = x.scanChunk(ctx, workers[:n], t, qs, chunk)
		}
		if err != nil {
			for _, q := range slices.Concat(qs, waiting, again) {
				q.stop()
			}
			return nil, err
		}
		live := qs[:0]
		for k, q := range qs {
			passed := w.passed.list(k)
			if n > 1 {
				concatenate(&merged, workers[:n], k)
				passed = merged
			}
			if err := x.r.Spend(ctx, w.Scratch.Scratch, len(passed.IDs), all); err != nil { // some of which are scored
				for _, q := range slices.Concat(live, qs[k:], waiting, again) {
					q.stop()
				}
				return nil, err
			}
			if q.endChunk(w, next, chunk, passed) {
				live = append(live, q)
			} else if q.Phase == arms.Unscanned {
				again = append(again, q)
			}
		}
		qs = live
		lo = hi
	}
	return again, nil
}

// beginScan begins the query's scan, of which nothing is left if no look may see an atom, and reports
// whether there is anything to scan.
func (q *scanning) beginScan(w *scratch, panels int) bool {
	if q.NextPanel <= q.Goal.From/arms.PanelAtoms && q.CountShownFrom(q.NextPanel) == 0 {
		q.scoreOtherGiven(w, q.bound.Look.Source)
		q.NextPanel = panels
	}
	return !q.endScan(panels)
}

// endChunk takes the arms that passed of the chunk from NextPanel to panel hi-1, of which those listed
// were scanned. It reports whether the scan goes on.
func (q *scanning) endChunk(w *scratch, hi int, scanned []uint32, passed topk.Entries) bool {
	lo, source := q.NextPanel, q.bound.Look.Source
	strip := q.firstStrip(scanned)
	q.settleGiven(w, source, passed, strip)
	hidden := q.nextHidden(hi)
	met := len(passed.IDs)
	passed = removeHidden(w, passed, hidden, lo*arms.PanelAtoms, hi*arms.PanelAtoms)
	if q.begun { // all atoms of the first chunk may pass
		q.hiddenPassed += met - len(passed.IDs)
	}
	q.NextPanel = hi
	before := q.seen
	q.countChunk(lo, hi, scanned, hidden)
	if q.raisesByLowers() {
		q.begun, q.weak = true, 0
		q.List.Append(passed)
	} else {
		q.takeChunk(w, source, passed, strip, q.seen-before)
	}
	return !q.endScan(q.C.PanelCount())
}

// newScans prepares the queries js for look t, of g if it is not nil, or continues scans by t that were stopped.
func (x *Run) newScans(w *scratch, t *looks.Compiled, g *gathering, js []int) []*scanning {
	width := t.AtomBytes
	w.codes = topk.Grow(w.codes, len(js)*width)
	qs, all := make([]*scanning, len(js)), make([]scanning, len(js))
	for k, j := range js {
		s := &x.queries[j]
		stopped := s.stopped
		if stopped == nil || stopped.bound.Look != t.Look {
			s.RecordStoppedScan()
			s.Unsee()
			stopped = nil
		}
		q := &all[k]
		*q = scanning{Query: s, codes: w.codes[k*width : (k+1)*width], listedBefore: len(s.List.IDs),
			gathering: g}
		if g == nil {
			q.allAllowed, q.allowedBits = s.AllowsAll(), s.filterBits()
		}
		if stopped != nil {
			q.listedBefore, q.seen, q.codesRead, q.passed, q.begun, q.tied, q.above, q.hiddenPassed, s.stopped = stopped.listedBefore, stopped.seen, stopped.codesRead, stopped.passed, stopped.begun, stopped.tied, stopped.above, stopped.hiddenPassed, nil
			q.repeats, q.again = stopped.repeats, stopped.again
		}
		q.hiddenBefore, _ = slices.BinarySearch(s.Hidden, uint32(s.NextPanel*arms.PanelAtoms))
		var steps looks.Steps
		var headBias, restBias int32
		if t.Signs != nil {
			steps, headBias = s.codeQuerySigns(w, q, t.Look.To)
			restBias = q.tables.Bias
		} else {
			steps, headBias, restBias = s.codeQuery8(w, q.codes, t.Look.To)
		}
		if t.Look.Source == backend.LowerBound {
			s.SeedLower()
		}
		q.bound = t.Bound(&s.Prep, steps)
		q.test = simd.ScanQuery{Head: float32(steps.HeadStep), Rest: float32(steps.RestStep), Radius: float32(q.bound.RadiusFactor),
			Offset: float32(q.bound.OffsetFactor), HeadBias: headBias, RestBias: restBias}
		qs[k] = q
	}
	return qs
}

// RecordStoppedScan ends a scan that a context stopped and that will not be resumed, and records its figures.
func (s *Query) RecordStoppedScan() {
	if q := s.stopped; q != nil {
		s.stopped = nil
		q.record()
	}
}
