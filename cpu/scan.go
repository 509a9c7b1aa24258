package cpu

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/simd"
)

// mostPanels is the greatest number of panels in a chunk, unless the plan's first chunk is
// larger. A scan takes chunks of first, first, 2 first, 4 first, .. mostPanels panels and
// raises thresholds between chunks only. The boundaries depend on the plan alone.
const mostPanels = 64

// leastChunk is the number of panels in the first chunk of look l.
func leastChunk(l backend.Look) int { return max(1, l.FirstChunk/panelAtoms) }

// chunkStart returns the first panel of the chunk that contains panel p.
func chunkStart(first, p int) int {
	lo := 0
	for end := chunkEnd(first, lo, p+1); end <= p; end = chunkEnd(first, lo, p+1) {
		lo = end
	}
	return lo
}

// chunkEnd returns the end of the chunk that begins at panel lo.
func chunkEnd(first, lo, panels int) int {
	return min(lo+max(first, min(lo, mostPanels)), panels)
}

// splitBytes is how many bytes of codes, summed over the queries, justify one more
// goroutine for a chunk.
const splitBytes = 4 << 20

// leastSurvey is the least number of atoms that a query must have seen before it goes
// dense. It must also have seen 16 k atoms: before that its threshold is far from final.
const leastSurvey = 1024

// scan takes the first look, at all allowed atoms, for the queries that have not completed
// it. It reads panels; if the look is wider than those of the collection it reads the rows of
// codes.
func (x *run) scan(ctx context.Context, l backend.Look) error {
	if !x.c.Coded() {
		return fmt.Errorf("panels: %w", backend.ErrRuleUnsupported)
	}
	if err := checkLook(l, x.c); err != nil {
		return err
	}
	t, err := x.r.compile(l)
	if err != nil {
		return err
	}
	// Queries share the chunks of a scan from the first panel, and join at that of their own first
	// panel. One that a context stopped in a look of other chunks scans by itself.
	var together []int
	other := map[int][]int{}
	first := leastChunk(l)
	for j := range x.states {
		s := &x.states[j]
		if s.phase != unscanned {
			continue
		}
		if s.nextPanel == s.goal.From/panelAtoms { // not scanned yet
			s.nextPanel = chunkStart(first, s.nextPanel)
		}
		if chunkStart(first, s.nextPanel) == s.nextPanel {
			together = append(together, j)
		} else {
			other[s.nextPanel] = append(other[s.nextPanel], j)
		}
	}
	slices.SortStableFunc(together, func(i, j int) int { return x.states[i].nextPanel - x.states[j].nextPanel })
	if err := x.scanTogether(ctx, t, together); err != nil {
		return err
	}
	for _, next := range slices.Sorted(maps.Keys(other)) {
		if err := x.scanTogether(ctx, t, other[next]); err != nil {
			return err
		}
	}
	return nil
}

// scanTogether scans for queries js. The threads divide the queries among them or, if there are
// fewer queries than threads, the panels of each chunk.
func (x *run) scanTogether(ctx context.Context, t *looks.Compiled, js []int) error {
	if len(js) == 0 {
		return nil
	}
	if x.team.helped() && len(js) == 1 && x.states[js[0]].goal.From == 0 {
		return x.scanHelped(ctx, t, js[0])
	}
	if len(js) < x.r.threads {
		return x.scanQueries(ctx, t, js, x.r.threads)
	}
	return x.r.eachQueryChunk(ctx, len(js), func(_ *scratch, lo, hi int) error {
		return x.scanQueries(ctx, t, js[lo:hi], 1)
	})
}

// scanState is the state of one query in a scan.
type scanState struct {
	*state
	bound        looks.Bound
	codes        []int8   // the query's 8-bit codes, of the look's width
	allAllowed   bool     // filter and From allow every atom
	allowedBits  []uint64 // the bits of the goal's filter; nil without a filter
	test         simd.ScanQuery
	listedBefore int  // arms listed before this look
	hiddenBefore int  // hidden atoms before nextPanel, for nextHidden
	seen         int  // atoms looked at
	codesRead    int  // atoms whose codes were read: those seen and others of their panels
	begun        bool // a chunk was taken
	tied         bool // the threshold is the score of many arms of the last chunk
	weak         int  // scores of a sample of given candidates, until a chunk has made a better threshold
	above        int  // atoms seen whose estimate is above the ceiling
	hiddenPassed int  // hidden atoms seen that passed the look
	passed       int  // arms seen that are candidates: their whole row was read, or they were scored
}

// scanWorker is the work of one goroutine on a chunk.
type scanWorker struct {
	w      *scratch
	panels []uint32    // its share of the chunk's panels, ascending
	piece  *pieceQueue // the queue that this is a piece of; nil if it is none
}

// scanQueries scans all panels for queries js together, chunk by chunk, on the given number
// of threads.
func (x *run) scanQueries(ctx context.Context, t *looks.Compiled, js []int, threads int) error {
	workers := make([]scanWorker, threads)
	for p := range workers {
		workers[p].w = x.r.getScratch()
		defer x.r.putScratch(workers[p].w)
	}
	w := workers[0].w
	waiting := x.newScans(w, t, js)
	slices.SortStableFunc(waiting, func(a, b *scanState) int { return a.nextPanel - b.nextPanel })
	panels := x.c.PanelCount()
	toScan := x.panelsToScan(waiting)
	var qs []*scanState
	var merged survivors
	lo := 0
	for len(qs)+len(waiting) > 0 {
		if len(qs) == 0 {
			lo = waiting[0].nextPanel
		}
		for ; len(waiting) > 0 && waiting[0].nextPanel == lo; waiting = waiting[1:] {
			if q := waiting[0]; q.beginScan(w, panels) {
				qs = append(qs, q)
			}
		}
		if len(qs) == 0 {
			continue
		}
		hi := chunkEnd(leastChunk(t.Look), lo, panels)
		start, _ := slices.BinarySearch(toScan, uint32(max(lo, firstPanel(qs))))
		toScan = toScan[start:]
		end, _ := slices.BinarySearch(toScan, uint32(hi))
		chunk := toScan[:end]
		n := max(1, min(threads, end, 1+end*panelAtoms*t.AtomBytes*len(qs)/splitBytes))
		err := x.r.checkpoint(ctx, len(js))
		if err == nil {
			err = x.scanChunk(ctx, workers[:n], t, qs, chunk)
		}
		if err != nil {
			for _, q := range slices.Concat(qs, waiting) {
				q.stop()
			}
			return err
		}
		live := qs[:0]
		for k, q := range qs {
			passed := w.passed.list(k)
			if n > 1 {
				merged.concatenate(workers[:n], k)
				passed = merged
			}
			if err := x.r.spend(ctx, w, len(passed.ids), len(js)); err != nil { // some of which are scored
				for _, q := range slices.Concat(live, qs[k:], waiting) {
					q.stop()
				}
				return err
			}
			if q.endChunk(w, hi, chunk, passed) {
				live = append(live, q)
			}
		}
		qs = live
		lo, toScan = hi, toScan[end:]
	}
	return nil
}

// beginScan begins the query's scan, of which nothing is left if no look may see an atom, and reports
// whether there is anything to scan.
func (q *scanState) beginScan(w *scratch, panels int) bool {
	if q.nextPanel <= q.goal.From/panelAtoms && q.countShownFrom(q.nextPanel) == 0 {
		q.scoreOtherGiven(w, q.bound.Look.Source)
		q.nextPanel = panels
	}
	return !q.endScan(panels)
}

// endChunk takes the arms that passed of the chunk from nextPanel to panel hi-1, of which those listed
// were scanned. It reports whether the scan goes on.
func (q *scanState) endChunk(w *scratch, hi int, scanned []uint32, passed survivors) bool {
	lo, source := q.nextPanel, q.bound.Look.Source
	strip := &q.bound.Strips[lo/looks.StripPanels]
	q.settleGiven(w, source, passed, strip)
	hidden := q.nextHidden(hi)
	met := len(passed.ids)
	passed = removeHidden(w, passed, hidden, lo*panelAtoms, hi*panelAtoms)
	if q.begun { // all atoms of the first chunk may pass
		q.hiddenPassed += met - len(passed.ids)
	}
	q.nextPanel = hi
	before := q.seen
	q.countChunk(lo, hi, scanned, hidden)
	if q.raisesByOwn() {
		q.takeOwn(passed, hi >= q.c.PanelCount())
	} else {
		q.takeChunk(w, source, passed, strip, q.seen-before)
	}
	return !q.endScan(q.c.PanelCount())
}

// firstPanel is the first panel that one of the queries may return an atom of.
func firstPanel(qs []*scanState) int {
	first := math.MaxInt
	for _, q := range qs {
		first = min(first, q.goal.From/panelAtoms)
	}
	return first
}

// scanChunk divides the panels of a chunk among workers, each of which lists the arms that
// pass the look for each query.
func (x *run) scanChunk(ctx context.Context, workers []scanWorker, t *looks.Compiled, qs []*scanState, chunk []uint32) error {
	n := len(workers)
	for i := range workers {
		workers[i].panels = chunk[len(chunk)*i/n : len(chunk)*(i+1)/n]
	}
	for i := range workers {
		workers[i].w.setThresholds(qs)
	}
	if n == 1 {
		return x.scanPanels(ctx, &workers[0], t, qs)
	}
	return x.r.each(ctx, n, func(_ *scratch, i int) error { return x.scanPanels(ctx, &workers[i], t, qs) })
}

// concatenate sets s to the workers' lists of query k, in ascending order of atoms.
func (s *survivors) concatenate(workers []scanWorker, k int) {
	s.truncate(0)
	for i := range workers {
		more := workers[i].w.passed.list(k)
		s.ids, s.bounds = append(s.ids, more.ids...), append(s.bounds, more.bounds...)
	}
}

// newScans prepares the queries js for look t, or continues scans by t that were stopped.
func (x *run) newScans(w *scratch, t *looks.Compiled, js []int) []*scanState {
	width := t.AtomBytes
	w.codes = grow(w.codes, len(js)*width)
	qs, all := make([]*scanState, len(js)), make([]scanState, len(js))
	for k, j := range js {
		s := &x.states[j]
		q := &all[k]
		*q = scanState{state: s, codes: w.codes[k*width : (k+1)*width], listedBefore: len(s.list.ids),
			allAllowed: s.allowsAll(), allowedBits: s.filterBits()}
		if stopped := s.stoppedScan; stopped != nil && stopped.bound.Look == t.Look {
			q.listedBefore, q.seen, q.codesRead, q.passed, q.begun, q.tied, q.above, q.hiddenPassed, s.stoppedScan = stopped.listedBefore, stopped.seen, stopped.codesRead, stopped.passed, stopped.begun, stopped.tied, stopped.above, stopped.hiddenPassed, nil
		}
		q.hiddenBefore, _ = slices.BinarySearch(s.hidden, uint32(s.nextPanel*panelAtoms))
		steps, headBias, restBias := s.codeQuery8(w, q.codes, t.Look.To)
		if t.Look.Source == backend.LowerBound {
			s.seedLower()
		}
		q.bound = t.Bound(&s.prep, steps)
		q.test = simd.ScanQuery{Head: float32(steps.HeadStep), Rest: float32(steps.RestStep), Radius: float32(q.bound.RadiusFactor),
			Offset: float32(q.bound.OffsetFactor), HeadBias: headBias, RestBias: restBias}
		qs[k] = q
	}
	return qs
}

// setThresholds sets the thresholds of the next scan of panels to those of its queries.
func (w *scratch) setThresholds(qs []*scanState) {
	w.taus = grow(w.taus, len(qs))
	for k, q := range qs {
		w.taus[k] = q.tau
	}
}

// cutBelow is the value of the test from which on a bound may reach tau in float32, if so much is
// added to values for rounding. So the arms of a scan whose bounds reach a threshold are the same
// if the scan has a lower one.
func cutBelow(tau, rounding float64) float32 {
	return float32(tau - rounding - 0x1p-20*(math.Abs(tau)+rounding) - looks.Least)
}

// scanPanels lists for each query, in the worker's scratch, the allowed atoms of the worker's panels
// whose upper bound reaches the query's threshold in w.taus, hidden ones and a few below it among them.
// After an error of ctx the lists are incomplete.
func (x *run) scanPanels(ctx context.Context, worker *scanWorker, t *looks.Compiled, qs []*scanState) error {
	w := worker.w
	w.passed.reset(len(qs), len(worker.panels)*panelAtoms)
	w.tests, w.masks = grow(w.tests, len(qs)), grow(w.masks, len(qs))
	w.values, w.slacks = grow(w.values, panelAtoms*len(qs)), grow(w.slacks, len(qs))
	allAllowed := true
	for k, q := range qs {
		w.tests[k] = q.test
		allAllowed = allAllowed && q.allAllowed
	}
	// Queries that have ended their scan leave gaps between the codes of the others.
	stride := t.AtomBytes
	codes := qs[0].codes
	if len(qs) > 1 {
		codes = w.gatherCodes(qs, stride)
	}
	for left := worker.panels; len(left) > 0 && !worker.piece.ended(); {
		// Panels of one strip share the bound of rounding.
		number, n := left[0]/looks.StripPanels, 1
		for n < len(left) && left[n]/looks.StripPanels == number {
			n++
		}
		panels := left[:n]
		left = left[n:]
		if err := x.r.spend(ctx, w, n*panelAtoms*len(qs), len(qs)); err != nil {
			return err
		}
		strip := &t.Strips[number]
		for k, q := range qs {
			rounding := q.bound.StripRounding(strip)
			w.slacks[k] = collection.Upward(rounding)
			w.tests[k].Cut = cutBelow(w.taus[k], rounding)
		}
		// For a single query, Rows8 takes less than ScanRows, which multiplies as if there were four.
		byRows := len(qs) == 1 && t.Look.To > x.c.PanelWidth
		if byRows {
			x.sumPanelRows(w, codes, t.Look.To, panels)
		}
		for at, panel := range panels {
			lo := int(panel)
			if byRows {
				sums := w.sums8[at*panelAtoms:]
				w.masks[0] = x.r.kernels.Test(sums[:min(panelAtoms, len(sums))], x.panelTerms(w, t, lo), &w.tests[0], w.values)
			} else {
				x.scanPanel(w, t, codes, stride, lo)
			}
			if !allAllowed || x.c.N-lo*panelAtoms < panelAtoms {
				for k, q := range qs {
					if w.masks[k] != 0 {
						w.masks[k] &= q.allowedMask(q.allowedBits, lo)
					}
				}
			}
			x.r.kernels.Drain(w.passed.ids, w.passed.bounds, w.passed.stride, w.passed.counts, w.masks, w.values, uint32(lo*panelAtoms), w.slacks)
		}
	}
	return nil
}

// scanPanel tests the atoms of panel p for all queries and sets w.masks and w.values.
func (x *run) scanPanel(w *scratch, t *looks.Compiled, codes []int8, stride, p int) {
	c := x.c
	if t.Look.To > c.PanelWidth {
		row := c.R + c.D
		x.r.kernels.ScanRows(&w.scan, c.Codes[p*panelAtoms*row:], row, min(panelAtoms, c.N-p*panelAtoms), c.R, t.Look.To, codes, stride, w.tests,
			x.panelTerms(w, t, p), w.masks, w.values)
		return
	}
	panel := c.Panels[p*c.PanelStride() : (p+1)*c.PanelStride()]
	x.r.kernels.Scan(&w.scan, panel, c.R, t.Look.To, codes, stride, w.tests, x.panelTerms(w, t, p), w.masks, w.values)
}

// panelTerms returns the terms of the atoms of panel p; the scratch owns the result.
func (x *run) panelTerms(w *scratch, t *looks.Compiled, p int) *simd.PanelTerms {
	c, lo, lanes := x.c, p*panelAtoms, &w.lanes
	*lanes = simd.PanelTerms{Head: (*[panelAtoms]float32)(c.HeadScale[lo:]), Rest: (*[panelAtoms]float32)(t.Scale[lo:]), Radius: (*[panelAtoms]float32)(t.Radius[lo:])}
	if c.Offset != nil {
		lanes.Offset = (*[panelAtoms]float32)(c.Offset[lo:])
	}
	return lanes
}

// sumPanelRows sums the products of the rows of panels with one query's 8-bit codes into
// w.sums8, in the order of the atoms.
func (x *run) sumPanelRows(w *scratch, codes []int8, width int, panels []uint32) {
	c := x.c
	w.ids = w.ids[:0]
	for _, p := range panels {
		for i := p * panelAtoms; i < min(p*panelAtoms+panelAtoms, uint32(c.N)); i++ {
			w.ids = append(w.ids, i)
		}
	}
	w.sums8 = grow(w.sums8, len(w.ids))
	x.r.kernels.Rows8(w.sums8, c.Codes, c.R+c.D, w.ids, c.R, width, codes)
}

// gatherCodes copies the codes of qs next to each other; the scratch owns the result.
func (w *scratch) gatherCodes(qs []*scanState, stride int) []int8 {
	w.liveCodes = grow(w.liveCodes, len(qs)*stride)
	for k, q := range qs {
		copy(w.liveCodes[k*stride:(k+1)*stride], q.codes)
	}
	return w.liveCodes
}

// crowds reports whether a query that has not seen all atoms goes dense: it listed more arms than
// MaxSurvivors of the look allows, unless better ones will drop them, or met more atoms that are better but not wanted than the goal's
// MaxBetter allows among the atoms seen.
func (q *scanState) crowds() bool {
	if q.seen < max(leastSurvey, 16*q.goal.K) {
		return false
	}
	most, allowed := q.bound.Look.MaxSurvivors, float64(q.goal.Allowed)
	if most > 0 && float64(len(q.list.ids)) > most*allowed {
		return !q.untiesLater()
	}
	return q.goal.MaxBetter > 0 && float64(q.above)+float64(q.hiddenPassed)/2 > q.mostBetter()
}

// untiesLater reports whether many arms are listed because they tie with the k-th best so far, and k better ones
// will be found before the last atom if as large a share of the others is better.
func (q *scanState) untiesLater() bool {
	return q.tied && q.best.full() && float64(q.best.better())*float64(q.goal.Allowed) > float64(q.goal.K)*float64(q.seen)
}

const (
	// similarNorms is the ratio of norms up to which the order of atoms is random (collection.Build).
	similarNorms = 1.04
	// betterByChance is how many standard deviations more better atoms are allowed than expected.
	betterByChance = 3
)

// mostBetter is how many better atoms MaxBetter allows among the atoms seen. If norms differ, atoms of
// great norm, or those near the centre, come first, and with them more of the better atoms than their
// share, so that more are allowed early.
func (q *scanState) mostBetter() float64 {
	allowed := float64(q.goal.Allowed)
	share := float64(q.seen) / allowed
	if first, last := q.c.Norm[0], q.c.Norm[q.c.N-1]; max(first, last) > similarNorms*min(first, last) {
		share = math.Sqrt(share)
	}
	most := q.goal.MaxBetter * allowed * share
	return most + betterByChance*math.Sqrt(most)
}

// endScan reports whether the query's scan has ended, and then sets the phase and records
// the look. It ends after the last panel, if the norms of all later atoms are too small, or
// if the query goes dense.
func (q *scanState) endScan(panels int) bool {
	end := q.nextPanel >= panels || q.scoreCapFrom(q.nextPanel) < q.tau
	crowds := !end && q.crowds()
	if end || crowds {
		q.pruneArms()
	}
	switch {
	case end:
		q.phase = listed
	case crowds && q.crowds():
		q.phase = crowded
	default:
		return false
	}
	q.record()
	return true
}

// stop keeps the figures of a scan that a context stopped, so that it can be resumed.
func (q *scanState) stop() { q.stoppedScan = q }

// recordStoppedScan ends a scan that a context stopped and that will not be resumed, and records its figures.
func (s *state) recordStoppedScan() {
	if q := s.stoppedScan; q != nil {
		s.stoppedScan = nil
		q.record()
	}
}

// record adds the scan's figures to the query's certificate, when it has ended or was
// stopped and will not be resumed.
func (q *scanState) record() {
	if q.seen == 0 && q.phase != listed {
		return
	}
	kept := len(q.list.ids) + q.passed
	q.countCodes(q.bound.AtomBytes, q.codesRead)
	q.addReport(q.bound.Look, q.seen, q.codesRead-q.seen, kept)
	if q.bound.Random() {
		if kept < q.listedBefore+q.seen {
			q.noteRandomDrop()
		}
		q.noteRandomBound(len(q.list.ids) + len(q.finalists))
	}
}
