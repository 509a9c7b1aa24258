package cpu

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"thresher/backend"
	"thresher/cpu/simd"
)

// The scan goes in chunks of first, first, 2 first, .. mostPanels panels, between
// which thresholds are lifted. The boundaries depend on the plan alone.
const mostPanels = 64

// chunkEnd is where the chunk that begins at panel lo ends; the scan began at
// panel base.
func chunkEnd(base, first, lo, panels int) int {
	return min(lo+max(first, min(lo-base, mostPanels)), panels)
}

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
	x.r.summarise(t)
	// a call that was stopped leaves its queries at panels of their own, from
	// which they go on
	from := map[int][]int{}
	for j := range x.states {
		if s := &x.states[j]; !s.dense && !s.toDense && !s.listed {
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
func (x *run) scanFrom(ctx context.Context, t *terms, live []int) error {
	// many queries: a block of them a goroutine; few: all of them together,
	// each chunk's panels split over goroutines
	if len(live) < 4*x.r.threads {
		return x.scanBlock(ctx, t, live, x.r.threads)
	}
	return x.r.blocks(ctx, len(live), func(_ *scratch, lo, hi int) error {
		return x.scanBlock(ctx, t, live[lo:hi], 1)
	})
}

// scanning is one query's scan.
type scanning struct {
	*state
	bound
	codes  []int8 // of the look's width
	test   simd.ScanQuery
	before int // arms listed before this look
	seen   int
	lifted int // of those seen, whose whole row was read or scored
}

// part is what one goroutine does of a chunk.
type part struct {
	w      *scratch
	lo, hi int // panels
}

// scanBlock walks a block of queries through all panels, chunk by chunk; the
// panels of a chunk are split over par goroutines.
func (x *run) scanBlock(ctx context.Context, t *terms, js []int, par int) error {
	parts := make([]part, par)
	for p := range parts {
		parts[p].w = x.r.get()
		defer x.r.scratch.Put(parts[p].w)
	}
	w := parts[0].w
	qs := x.scanners(w, t, js)
	panels := x.c.PanelCount()
	lo := qs[0].next
	if lo == panels { // a raise has seen everybody
		for k := range qs {
			qs[k].ended(panels)
		}
		return nil
	}
	for len(qs) > 0 {
		hi := chunkEnd(x.first, max(1, t.look.First/64), lo, panels)
		n := min(par, hi-lo)
		for p := range n {
			parts[p].lo, parts[p].hi = lo+(hi-lo)*p/n, lo+(hi-lo)*(p+1)/n
		}
		err := ctx.Err()
		if n == 1 && err == nil {
			x.scanPanels(&parts[0], t, qs)
		} else if err == nil {
			err = x.r.each(ctx, n, func(_ *scratch, p int) error {
				x.scanPanels(&parts[p], t, qs)
				return nil
			})
		}
		if err != nil {
			for k := range qs {
				qs[k].leave()
			}
			return err
		}
		live := qs[:0]
		for k := range qs {
			q := &qs[k]
			hits := &w.hits[k]
			for p := 1; p < n; p++ {
				more := parts[p].w.hits[k]
				hits.ids, hits.bounds = append(hits.ids, more.ids...), append(hits.bounds, more.bounds...)
			}
			q.next, q.seen = hi, q.seen+q.allowedIn(lo, hi)
			q.settle(w, x.raise.Source, *hits, &t.strips[lo/stripPanels])
			if !q.ended(panels) {
				live = append(live, *q)
			}
		}
		qs = live
		lo = hi
	}
	return nil
}

// scanners readies the queries js for look t.
func (x *run) scanners(w *scratch, t *terms, js []int) []scanning {
	width := t.width(x.c)
	w.codes = grow(w.codes, len(js)*width)
	qs := make([]scanning, len(js))
	for k, j := range js {
		s := &x.states[j]
		q := scanning{state: s, codes: w.codes[k*width : (k+1)*width], before: len(s.list.ids)}
		worth, headBias, restBias := s.coarse(w, q.codes, t.look.To)
		q.bound = s.bound(t, worth)
		q.test = simd.ScanQuery{Head: float32(worth.headStep), Rest: float32(worth.restStep), Radius: float32(q.radiusFactor),
			Offset: float32(q.offsetFactor), HeadBias: headBias, RestBias: restBias}
		qs[k] = q
	}
	return qs
}

// scanPanels lists what passes of a part's panels in its hits, per query.
func (x *run) scanPanels(p *part, t *terms, qs []scanning) {
	w := p.w
	atoms := (p.hi - p.lo) * 64
	for len(w.hits) < len(qs) {
		w.hits = append(w.hits, survivors{})
	}
	w.tests, w.masks = grow(w.tests, len(qs)), grow(w.masks, len(qs))
	w.values = grow(w.values, 64*len(qs))
	w.slacks = grow(w.slacks, len(qs))
	for k := range qs {
		w.hits[k].cut(0)
		w.hits[k].room(atoms)
		w.tests[k] = qs[k].test
	}
	// the codes of those left may have gaps between them
	stride := t.width(x.c)
	codes := qs[0].codes
	if len(qs) > 1 {
		codes = w.gather(qs, stride)
	}
	for lo := p.lo; lo < p.hi; {
		hi := min(p.hi, (lo/stripPanels+1)*stripPanels)
		s := &t.strips[lo/stripPanels]
		for k := range qs {
			e := qs[k].stripRounding(s)
			w.slacks[k] = e
			w.tests[k].Cut = float32(qs[k].tau - e)
		}
		for ; lo < hi; lo++ {
			x.scanPanel(w, t, qs, codes, stride, lo)
		}
	}
}

// scanPanel tests the atoms of one panel.
func (x *run) scanPanel(w *scratch, t *terms, qs []scanning, codes []int8, stride, p int) {
	c := x.c
	lo := p * 64
	panel := c.Panels[p*c.PanelStride() : (p+1)*c.PanelStride()]
	if t.look.To > c.PanelWidth {
		w.panel = grow(w.panel, 64*stride)
		row := c.R + c.D
		x.r.kernels.Transpose(w.panel, c.Codes[lo*row:], row, min(64, c.N-lo), stride)
		panel = w.panel
	}
	lanes := simd.PanelTerms{Head: (*[64]float32)(c.HeadScale[lo:]), Rest: (*[64]float32)(t.scale[lo:]), Radius: (*[64]float32)(t.radius[lo:])}
	if c.Offset != nil {
		lanes.Offset = (*[64]float32)(c.Offset[lo:])
	}
	x.r.kernels.Scan(&w.scan, panel, c.R, t.look.To, codes, stride, w.tests, &lanes, w.masks, w.values)
	partly := c.N-lo < 64
	for k, mask := range w.masks {
		if mask == 0 {
			continue
		}
		s := qs[k].state
		if partly || s.goal.Filter != nil || s.goal.Skip>>6 == p {
			mask &= s.allowed(p)
		}
		h := &w.hits[k]
		n := len(h.ids)
		h.cut(n + s.k.Collect(h.ids[n:n+simdOverrun], h.bounds[n:n+simdOverrun], mask, (*[64]float32)(w.values[64*k:]), uint32(lo), up32(w.slacks[k])))
	}
}

// gather puts the codes of the queries left side by side.
func (w *scratch) gather(qs []scanning, stride int) []int8 {
	w.dense8 = grow(w.dense8, len(qs)*stride)
	for k := range qs {
		copy(w.dense8[k*stride:(k+1)*stride], qs[k].codes)
	}
	return w.dense8
}

// settle takes what passed of one chunk: arms whose estimate reaches the
// threshold are looked at at once, which lifts it; the others wait in the list
// with their bound.
func (q *scanning) settle(w *scratch, source backend.Source, hits survivors, s *strip) {
	top := float32(math.Inf(1))
	if cut := q.opening(w, hits); cut < top {
		// among the first k: they make the threshold
		w.hot.cut(0)
		w.hot.choose(q.k, hits, cut, float32(math.Inf(1)))
		q.take(w, source, w.hot)
		top = cut
	}
	hot := top
	if q.goal.K > 0 {
		// those of greatest bound first: they may lift the threshold past others
		radius := s.meanRadius * q.radiusFactor
		e := q.stripRounding(s)
		for _, f := range hotSteps {
			cut := max(min(hot, float32(q.tau+e+f*radius)), q.least32())
			w.hot.cut(0)
			w.hot.choose(q.k, hits, cut, hot)
			q.take(w, source, w.hot)
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
	for k, b := range hits.bounds {
		first.push(scored{float64(b), hits.ids[k]})
	}
	return float32(first.heap[0].score)
}

// take looks at arms by source and counts them.
func (q *scanning) take(w *scratch, source backend.Source, a survivors) {
	q.lifted += len(a.ids)
	q.lift(w, source, a)
}

// ended settles a query's scan at the last panel, where norms alone end it, or
// where so much is kept that the dense path is cheaper.
func (q *scanning) ended(panels int) bool {
	end := q.next >= panels || q.cap(q.next) < q.tau
	most := q.look.MaxSurvivors
	if !end && most > 0 && q.seen >= max(survey, 16*q.goal.K) && float64(len(q.list.ids)) > most*float64(q.seen) {
		q.prune()
		q.toDense = float64(len(q.list.ids)) > most*float64(q.seen)
	}
	if !end && !q.toDense {
		return false
	}
	q.prune()
	q.listed = end
	q.leave()
	return true
}

// leave takes the scan's figures into the query's, at its end or where it was
// stopped.
func (q *scanning) leave() {
	if q.seen == 0 && !q.listed {
		return
	}
	kept := len(q.list.ids) + q.lifted
	q.account(q.width(q.c), q.seen)
	q.report(q.look, q.seen, kept)
	if q.bound.random {
		q.state.random = q.state.random || kept < q.before+q.seen
		q.owe()
	}
}
