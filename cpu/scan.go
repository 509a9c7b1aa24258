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

// The scan goes in chunks of first, first, 2 first, .. mostPanels panels, between
// which thresholds are lifted. The boundaries depend on the plan alone.
const mostPanels = 64

// chunkEnd is where the chunk that begins at panel lo ends.
func chunkEnd(first, lo, panels int) int {
	return min(lo+max(first, min(lo, mostPanels)), panels)
}

// splitBytes is how much of a chunk is worth a goroutine.
const splitBytes = 1 << 20

// survey is how many atoms, at least, must be seen before a query is sent
// dense; 16 k of them are, or the running threshold says too little.
const survey = 1024

// scan is the first look at everybody, on panels; wider ones are made of rows.
func (x *run) scan(ctx context.Context, l backend.Look) error {
	if !x.c.Coded() || max(l.To, x.c.R) > simd.MaxScan {
		return fmt.Errorf("panels of width %d: %w", l.To, backend.ErrRuleUnsupported)
	}
	t, err := x.r.terms(l)
	if err != nil {
		return err
	}
	// a call that was stopped leaves its queries at panels of their own, from
	// which they go on
	from := map[int][]int{}
	for j := range x.states {
		if s := &x.states[j]; s.phase == unseen {
			from[s.next] = append(from[s.next], j)
		}
	}
	for _, next := range slices.Sorted(maps.Keys(from)) {
		if err := x.scanFrom(ctx, t, from[next]); err != nil {
			return err
		}
	}
	return nil
}

// scanFrom scans for queries that all stand at the same panel.
func (x *run) scanFrom(ctx context.Context, t *looks.Compiled, live []int) error {
	// queries are shared out; of fewer queries than threads, the panels of each
	// chunk are
	if len(live) < x.r.threads {
		return x.scanBlock(ctx, t, live, x.r.threads)
	}
	return x.r.blocks(ctx, len(live), func(_ *scratch, lo, hi int) error {
		return x.scanBlock(ctx, t, live[lo:hi], 1)
	})
}

// scanning is one query's scan.
type scanning struct {
	*state
	bound  looks.Bound
	codes  []int8   // of the look's width
	plain  bool     // every atom may be returned
	filter []uint64 // of the goal, or nothing
	test   simd.ScanQuery
	before int // arms listed before this look
	seen   int // arms looked at
	read   int // atoms whose codes were read: those and what shares a panel with them
	lifted int // of those seen, whose whole row was read or scored
}

// part is what one goroutine does of a chunk.
type part struct {
	w      *scratch
	panels []uint32 // ascending
}

// scanBlock walks a block of queries through all panels, chunk by chunk; the
// panels of a chunk are split over par goroutines.
func (x *run) scanBlock(ctx context.Context, t *looks.Compiled, js []int, par int) error {
	parts := make([]part, par)
	for p := range parts {
		parts[p].w = x.r.get()
		defer x.r.scratch.Put(parts[p].w)
	}
	w := parts[0].w
	qs := x.scanners(w, t, js)
	panels := x.c.PanelCount()
	lo := qs[0].next
	full := x.panelsOf(qs)
	begin, _ := slices.BinarySearch(full, uint32(lo))
	full = full[begin:]
	var merged survivors
	for len(qs) > 0 {
		hi := chunkEnd(max(1, t.Look.FirstChunk/panelAtoms), lo, panels)
		end, _ := slices.BinarySearch(full, uint32(hi))
		chunk := full[:end]
		n := max(1, min(par, end, 1+end*panelAtoms*t.AtomBytes*len(qs)/splitBytes))
		for p := range n {
			parts[p].panels = chunk[end*p/n : end*(p+1)/n]
		}
		err := rest(ctx, len(js))
		if n == 1 && err == nil {
			x.scanPanels(&parts[0], t, qs)
		} else if err == nil {
			err = x.r.each(ctx, n, func(_ *scratch, p int) error {
				x.scanPanels(&parts[p], t, qs)
				return nil
			})
		}
		if err != nil {
			for _, q := range qs {
				q.hold()
			}
			return err
		}
		live := qs[:0]
		for k, q := range qs {
			hits := w.hits.of(k)
			if n > 1 {
				merged.cut(0)
				for p := range n {
					more := parts[p].w.hits.of(k)
					merged.ids, merged.bounds = append(merged.ids, more.ids...), append(merged.bounds, more.bounds...)
				}
				hits = merged
			}
			q.next = hi
			q.count(lo, hi, chunk)
			q.settle(w, t.Look.Source, hits, &t.Strips[lo/looks.StripPanels])
			if !q.ended(panels) {
				live = append(live, q)
			}
		}
		qs = live
		lo, full = hi, full[end:]
	}
	return nil
}

// scanners readies the queries js for look t.
func (x *run) scanners(w *scratch, t *looks.Compiled, js []int) []*scanning {
	width := t.AtomBytes
	w.codes = grow(w.codes, len(js)*width)
	qs, all := make([]*scanning, len(js)), make([]scanning, len(js))
	for k, j := range js {
		s := &x.states[j]
		q := &all[k]
		*q = scanning{state: s, codes: w.codes[k*width : (k+1)*width], before: len(s.list.ids),
			plain: s.goal.Filter == nil && s.goal.Skip < 0, filter: s.filter()}
		if h := s.scan; h != nil && h.bound.Look == t.Look {
			q.before, q.seen, q.read, q.lifted, s.scan = h.before, h.seen, h.read, h.lifted, nil
		}
		worth, headBias, restBias := s.coarse(w, q.codes, t.Look.To)
		q.bound = t.Bound(&s.prep, worth)
		q.test = simd.ScanQuery{Head: float32(worth.HeadStep), Rest: float32(worth.RestStep), Radius: float32(q.bound.RadiusFactor),
			Offset: float32(q.bound.OffsetFactor), HeadBias: headBias, RestBias: restBias}
		qs[k] = q
	}
	return qs
}

// scanPanels lists what passes of a part's panels in its hits, per query.
func (x *run) scanPanels(p *part, t *looks.Compiled, qs []*scanning) {
	w := p.w
	w.hits.reset(len(qs), len(p.panels)*panelAtoms)
	w.tests, w.masks = grow(w.tests, len(qs)), grow(w.masks, len(qs))
	w.values, w.slacks = grow(w.values, panelAtoms*len(qs)), grow(w.slacks, len(qs))
	plain := true
	for k, q := range qs {
		w.tests[k] = q.test
		plain = plain && q.plain
	}
	// the codes of those left may have gaps between them
	stride := t.AtomBytes
	codes := qs[0].codes
	if len(qs) > 1 {
		codes = w.gather(qs, stride)
	}
	for left := p.panels; len(left) > 0; {
		// the panels of a strip
		number, n := left[0]/looks.StripPanels, 1
		for n < len(left) && left[n]/looks.StripPanels == number {
			n++
		}
		panels := left[:n]
		left = left[n:]
		s := &t.Strips[number]
		for k, q := range qs {
			e := q.bound.StripRounding(s)
			w.slacks[k] = collection.Upward(e)
			w.tests[k].Cut = float32(q.tau - e)
		}
		// whole rows of one query need no panels made of them
		rows := len(qs) == 1 && t.Look.To > x.c.PanelWidth
		if rows {
			x.sumRows(w, codes, t.Look.To, panels)
		}
		for at, panel := range panels {
			lo := int(panel)
			if rows {
				sums := w.sums8[at*panelAtoms:]
				w.masks[0] = x.r.kernels.Test(sums[:min(panelAtoms, len(sums))], x.lanes(w, t, lo), &w.tests[0], w.values)
			} else {
				x.scanPanel(w, t, codes, stride, lo)
			}
			if !plain || x.c.N-lo*panelAtoms < panelAtoms {
				for k, q := range qs {
					if w.masks[k] != 0 {
						w.masks[k] &= q.allowed(q.filter, lo)
					}
				}
			}
			x.r.kernels.Drain(w.hits.ids, w.hits.bounds, w.hits.stride, w.hits.counts, w.masks, w.values, uint32(lo*panelAtoms), w.slacks)
		}
	}
}

// scanPanel tests the atoms of one panel.
func (x *run) scanPanel(w *scratch, t *looks.Compiled, codes []int8, stride, p int) {
	c := x.c
	lo := p * panelAtoms
	panel := c.Panels[p*c.PanelStride() : (p+1)*c.PanelStride()]
	if t.Look.To > c.PanelWidth {
		w.panel = grow(w.panel, panelAtoms*stride)
		row := c.R + c.D
		x.r.kernels.Transpose(w.panel, c.Codes[lo*row:], row, min(panelAtoms, c.N-lo), stride)
		panel = w.panel
	}
	x.r.kernels.Scan(&w.scan, panel, c.R, t.Look.To, codes, stride, w.tests, x.lanes(w, t, p), w.masks, w.values)
}

// lanes are the terms of panel p.
func (x *run) lanes(w *scratch, t *looks.Compiled, p int) *simd.PanelTerms {
	c, lo, lanes := x.c, p*panelAtoms, &w.lanes
	*lanes = simd.PanelTerms{Head: (*[panelAtoms]float32)(c.HeadScale[lo:]), Rest: (*[panelAtoms]float32)(t.Scale[lo:]), Radius: (*[panelAtoms]float32)(t.Radius[lo:])}
	if c.Offset != nil {
		lanes.Offset = (*[panelAtoms]float32)(c.Offset[lo:])
	}
	return lanes
}

// sumRows sums the rows of panels with one query's codes into w.sums8.
func (x *run) sumRows(w *scratch, codes []int8, width int, panels []uint32) {
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

// gather puts the codes of the queries left side by side.
func (w *scratch) gather(qs []*scanning, stride int) []int8 {
	w.live = grow(w.live, len(qs)*stride)
	for k, q := range qs {
		copy(w.live[k*stride:(k+1)*stride], q.codes)
	}
	return w.live
}

// settle takes what passed of one chunk: arms whose estimate reaches the
// threshold are looked at at once, which lifts it; the others wait in the list
// with their bound.
func (q *scanning) settle(w *scratch, source backend.Source, hits survivors, s *looks.Strip) {
	top := float32(math.Inf(1))
	if cut := q.opening(w, hits); cut < top {
		// among the first k: they make the threshold
		w.hot.cut(0)
		w.hot.choose(q.k, hits, cut, float32(math.Inf(1)))
		q.raise(w, source, w.hot)
		top = cut
	}
	hot := top
	if q.goal.K > 0 {
		// those of greatest bound first: they may lift the threshold past others
		e, radius := q.bound.StripRounding(s), s.MeanRadius*q.bound.RadiusFactor
		w.picked.cut(0)
		w.picked.choose(q.k, hits, max(float32(q.tau+e+radius), q.least32()), top)
		for _, f := range hotSteps {
			cut := max(min(hot, float32(q.tau+e+f*radius)), q.least32())
			w.hot.cut(0)
			w.hot.choose(q.k, w.picked, cut, hot)
			q.raise(w, source, w.hot)
			hot = min(hot, cut)
		}
	}
	q.list.choose(q.k, hits, q.least32(), hot)
}

// hotSteps are the radii above the threshold at which arms are taken at once.
var hotSteps = [...]float64{2, 1.5, 1.25, 1}

// opening is the bound of the arms to score before there is a threshold: as
// many as are missing to k, those of greatest bound. +Inf when none are.
func (q *scanning) opening(w *scratch, hits survivors) float32 {
	missing := q.goal.K - len(q.best.heap) - len(q.lower.heap)
	if missing <= 0 {
		return float32(math.Inf(1))
	}
	if len(hits.ids) <= missing {
		return float32(math.Inf(-1))
	}
	first := &w.top
	first.k, first.heap = missing, first.heap[:0]
	hits = q.promising(w, hits, missing)
	for k, b := range hits.bounds {
		first.push(scored{float64(b), hits.ids[k]})
	}
	return float32(first.heap[0].score)
}

// promising leaves of many hits some that hold the n greatest: those above a
// bound that a sample of them suggests.
func (q *scanning) promising(w *scratch, hits survivors, n int) survivors {
	const size = 64
	every := len(hits.bounds) / size
	if every < 4 {
		return hits
	}
	var sample [size]float32
	for k := range sample {
		sample[k] = hits.bounds[k*every]
	}
	slices.Sort(sample[:])
	rank := n*size*3/2/len(hits.bounds) + 4
	if rank >= size {
		return hits
	}
	w.picked.cut(0)
	w.picked.choose(q.k, hits, sample[size-1-rank], float32(math.Inf(1)))
	if len(w.picked.ids) < n {
		return hits
	}
	return w.picked
}

// raise scores arms by source, which may raise the threshold, and counts them.
func (q *scanning) raise(w *scratch, source backend.Source, a survivors) {
	q.lifted += len(a.ids)
	q.lift(w, source, a)
}

// ended settles a query's scan at the last panel, where norms alone end it, or
// where so much is kept that the dense path is cheaper.
func (q *scanning) ended(panels int) bool {
	end := q.next >= panels || q.cap(q.next) < q.tau
	most := q.bound.Look.MaxSurvivors * float64(q.goal.Allowed)
	crowds := !end && most > 0 && q.seen >= max(survey, 16*q.goal.K) && float64(len(q.list.ids)) > most
	if end || crowds {
		q.prune()
	}
	switch {
	case end:
		q.phase = listed
	case crowds && float64(len(q.list.ids)) > most:
		q.phase = crowded
	default:
		return false
	}
	q.record()
	return true
}

// hold keeps the figures of a scan that a context stopped, for it to go on with.
func (q *scanning) hold() { q.scan = q }

// record takes the scan's figures into the query's, at its end or where it was stopped
// and does not go on.
func (q *scanning) record() {
	if q.seen == 0 && q.phase != listed {
		return
	}
	kept := len(q.list.ids) + q.lifted
	q.account(q.bound.AtomBytes, q.read)
	q.report(q.bound.Look, q.seen, q.read-q.seen, kept)
	if q.bound.Random() {
		q.random = q.random || kept < q.before+q.seen
		q.owe()
	}
}
