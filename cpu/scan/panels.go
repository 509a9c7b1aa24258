package scan

import (
	"context"
	"math"
	"slices"

	"thresher/backend/looks"
	"thresher/collection"
	"thresher/cpu/arms"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
	"thresher/simd"
)

// allowedMask returns the mask of the atoms of panel p that the goal's filter and From allow;
// filter is filterBits().
func (s *Query) allowedMask(filter []uint64, p int) uint64 {
	mask, lo := ^uint64(0), p*arms.PanelAtoms
	if n := s.C.N - lo; n < arms.PanelAtoms {
		mask = 1<<n - 1
	}
	if filter != nil {
		mask &= filter[p]
	}
	if before := s.Goal.From - lo; before > 0 {
		mask &= ^uint64(0) << before
	}
	return mask
}

// filterBits returns the bits of the goal's filter, a word for each panel; nil if there is
// none.
func (s *Query) filterBits() []uint64 {
	if s.Goal.Filter == nil {
		return nil
	}
	return s.Goal.Filter.Bits()
}

// panelsToScan returns the panels that contain an atom which at least one of the queries may
// return, in ascending order. If all filters are the same or there is none, the slice is shared.
func (x *Run) panelsToScan(qs []*scanning) []uint32 {
	first := qs[0].Goal.Filter
	shared := true
	for _, q := range qs {
		if q.allowedBits == nil {
			return x.r.panels()
		}
		shared = shared && q.Goal.Filter == first
	}
	if shared && first.Filled() < x.C.PanelCount() {
		return first.Panels()
	}
	if shared {
		return x.r.panels()
	}
	var full []uint32
	for p := range x.C.PanelCount() {
		if slices.ContainsFunc(qs, func(q *scanning) bool { return q.allowedBits[p] != 0 }) {
			full = append(full, uint32(p))
		}
	}
	return full
}

// worker is the work of one goroutine on a chunk.
type worker struct {
	w      *scratch
	panels []uint32        // its share of the chunk's panels, ascending
	piece  *threads.Pieces // the queue that this is a piece of; nil if it is none
}

// scanChunk divides the panels of a chunk among workers, each of which lists the arms that
// pass the look for each query.
func (x *Run) scanChunk(ctx context.Context, workers []worker, t *looks.Compiled, qs []*scanning, chunk []uint32) error {
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
	return x.r.Each(ctx, n, func(_ *threads.Scratch, i int) error { return x.scanPanels(ctx, &workers[i], t, qs) })
}

// concatenate sets s to the workers' lists of query k, in ascending order of atoms.
func concatenate(s *topk.Entries, workers []worker, k int) {
	s.Truncate(0)
	for i := range workers {
		more := workers[i].w.passed.list(k)
		s.IDs, s.Bounds = append(s.IDs, more.IDs...), append(s.Bounds, more.Bounds...)
	}
}

// setThresholds sets the thresholds of the next scan of panels to those of its queries.
func (w *scratch) setThresholds(qs []*scanning) {
	w.taus = topk.Grow(w.taus, len(qs))
	for k, q := range qs {
		w.taus[k] = q.scanTau()
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
func (x *Run) scanPanels(ctx context.Context, worker *worker, t *looks.Compiled, qs []*scanning) error {
	w := worker.w
	w.passed.reset(len(qs), len(worker.panels)*arms.PanelAtoms)
	g, stride := qs[0].gathering, t.AtomBytes
	codes := w.beginPanels(qs, t.AtomBytes)
	allAllowed := !slices.ContainsFunc(qs, func(q *scanning) bool { return !q.allAllowed })
	for left := worker.panels; len(left) > 0 && !worker.piece.Ended(); {
		// Panels of one strip share the bound of rounding.
		strips, size := t.Strips, uint32(looks.StripPanels)
		if g != nil {
			strips, size = g.strips, gatheredStrip
		}
		number, n := left[0]/size, 1
		for n < len(left) && left[n]/size == number {
			n++
		}
		panels := left[:n]
		left = left[n:]
		if err := x.r.Spend(ctx, w.Scratch.Scratch, n*arms.PanelAtoms*len(qs), len(qs)); err != nil {
			return err
		}
		strip := &strips[number]
		for k, q := range qs {
			rounding := q.bound.StripRounding(strip)
			w.slacks[k] = collection.Upward(rounding)
			w.tests[k].Cut = cutBelow(w.taus[k], rounding)
		}
		byRows := g == nil && x.byRows(t, qs)
		if byRows {
			x.sumPanelRows(w, codes, t.Look.To, panels)
		}
		if g != nil {
			x.scanGathered(w, t, g, codes, stride, panels)
			continue
		}
		for at, panel := range panels {
			lo := int(panel)
			if t.Signs != nil {
				x.scanSigns(w, t, qs, lo)
			} else if byRows {
				sums := w.sums8[at*arms.PanelAtoms:]
				w.masks[0] = x.r.Kernels.Test(sums[:min(arms.PanelAtoms, len(sums))], x.panelTerms(w, t, lo), &w.tests[0], w.values)
			} else {
				x.scanPanel(w, t, codes, t.AtomBytes, lo)
			}
			if !allAllowed || x.C.N-lo*arms.PanelAtoms < arms.PanelAtoms {
				for k, q := range qs {
					if w.masks[k] != 0 {
						w.masks[k] &= q.allowedMask(q.allowedBits, lo)
					}
				}
			}
			x.r.Kernels.Drain(w.passed.ids, w.passed.bounds, w.passed.stride, w.passed.counts, w.masks, w.values, uint32(lo*arms.PanelAtoms), w.slacks)
		}
	}
	if g != nil {
		for k := range qs {
			g.toAtoms(w.passed.list(k).IDs)
		}
	}
	return nil
}

// scanGathered lists for each query the atoms of consecutive panels of a gathering, of one strip, that pass, by their
// places in it.
func (x *Run) scanGathered(w *scratch, t *looks.Compiled, g *gathering, codes []int8, stride int, panels []uint32) {
	c, from := x.C, g.first[panels[0]]
	if g.panels == nil {
		ids := g.atoms[from:g.first[panels[len(panels)-1]+1]]
		w.sums8 = topk.Grow(w.sums8, len(ids))
		x.r.Kernels.Rows8(w.sums8, c.Codes, c.R+c.D, ids, c.R, t.Look.To, codes)
	}
	for _, panel := range panels {
		p := int(panel)
		g.terms(&w.lanes, p)
		if g.panels == nil {
			w.masks[0] = x.r.Kernels.Test(w.sums8[g.first[p]-from:g.first[p+1]-from], &w.lanes, &w.tests[0], w.values)
		} else {
			x.r.Kernels.Scan(&w.scan, g.panels[p*arms.PanelAtoms*stride:(p+1)*arms.PanelAtoms*stride], c.R, t.Look.To, codes, stride, w.tests, &w.lanes, w.masks, w.values)
			if allowed := g.allowed(p); ^allowed != 0 {
				for k := range w.masks {
					w.masks[k] &= allowed
				}
			}
		}
		x.r.Kernels.Drain(w.passed.ids, w.passed.bounds, w.passed.stride, w.passed.counts, w.masks, w.values, uint32(p*arms.PanelAtoms), w.slacks)
	}
}

// byRows reports whether look t sums the products of rows as they lie: for a single query, Rows8 takes less than ScanRows, which
// multiplies as if there were four.
func (x *Run) byRows(t *looks.Compiled, qs []*scanning) bool {
	return len(qs) == 1 && t.Signs == nil && t.Look.To > x.C.PanelWidth
}

// beginPanels prepares the scratch for testing the atoms of panels for queries, and returns their codes, so many bytes each.
func (w *scratch) beginPanels(qs []*scanning, stride int) (codes []int8) {
	w.tests, w.masks = topk.Grow(w.tests, len(qs)), topk.Grow(w.masks, len(qs))
	w.values, w.slacks = topk.Grow(w.values, arms.PanelAtoms*len(qs)), topk.Grow(w.slacks, len(qs))
	for k, q := range qs {
		w.tests[k] = q.test
	}
	if len(qs) == 1 {
		return qs[0].codes
	}
	// Queries that have ended their scan leave gaps between the codes of the others.
	return w.gatherCodes(qs, stride)
}

// scanPanel tests the atoms of panel p for all queries and sets w.masks and w.values.
func (x *Run) scanPanel(w *scratch, t *looks.Compiled, codes []int8, stride, p int) {
	c := x.C
	if t.Look.To > c.PanelWidth {
		row := c.R + c.D
		x.r.Kernels.ScanRows(&w.scan, c.Codes[p*arms.PanelAtoms*row:], row, min(arms.PanelAtoms, c.N-p*arms.PanelAtoms), c.R, t.Look.To, codes, stride, w.tests,
			x.panelTerms(w, t, p), w.masks, w.values)
		return
	}
	panel := c.Panels[p*c.PanelStride() : (p+1)*c.PanelStride()]
	x.r.Kernels.Scan(&w.scan, panel, c.R, t.Look.To, codes, stride, w.tests, x.panelTerms(w, t, p), w.masks, w.values)
}

// panelTerms returns the terms of the atoms of panel p; the scratch owns the result.
func (x *Run) panelTerms(w *scratch, t *looks.Compiled, p int) *simd.PanelTerms {
	c, lo, lanes := x.C, p*arms.PanelAtoms, &w.lanes
	*lanes = simd.PanelTerms{Head: (*[arms.PanelAtoms]float32)(c.HeadScale[lo:]), Rest: (*[arms.PanelAtoms]float32)(t.Scale[lo:]), Radius: (*[arms.PanelAtoms]float32)(t.Radius[lo:])}
	if c.Offset != nil {
		lanes.Offset = (*[arms.PanelAtoms]float32)(c.Offset[lo:])
	}
	return lanes
}

// sumPanelRows sums the products of the rows of panels with one query's 8-bit codes into
// w.sums8, in the order of the atoms.
func (x *Run) sumPanelRows(w *scratch, codes []int8, width int, panels []uint32) {
	c := x.C
	w.IDs = w.IDs[:0]
	for _, p := range panels {
		for i := p * arms.PanelAtoms; i < min(p*arms.PanelAtoms+arms.PanelAtoms, uint32(c.N)); i++ {
			w.IDs = append(w.IDs, i)
		}
	}
	w.sums8 = topk.Grow(w.sums8, len(w.IDs))
	x.r.Kernels.Rows8(w.sums8, c.Codes, c.R+c.D, w.IDs, c.R, width, codes)
}

// gatherCodes copies the codes of qs next to each other; the scratch owns the result.
func (w *scratch) gatherCodes(qs []*scanning, stride int) []int8 {
	w.liveCodes = topk.Grow(w.liveCodes, len(qs)*stride)
	for k, q := range qs {
		copy(w.liveCodes[k*stride:(k+1)*stride], q.codes)
	}
	return w.liveCodes
}
