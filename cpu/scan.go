package cpu

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
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

// scan is the first look at everybody, on panels.
func (x *run) scan(ctx context.Context, l backend.Look) error {
	if !x.c.Coded() || l.To > x.c.PanelWidth {
		return fmt.Errorf("panels of width %d, asked for %d: %w", x.c.PanelWidth, l.To, backend.ErrRuleUnsupported)
	}
	// a call that was stopped leaves its queries at panels of their own, from
	// which they go on
	from := map[int][]int{}
	for j := range x.states {
		if s := &x.states[j]; !s.dense && !s.toDense && !s.listed {
			from[s.next] = append(from[s.next], j)
		}
	}
	reach := reach(x.c, l)
	for _, next := range slices.Sorted(maps.Keys(from)) {
		if err := x.scanFrom(ctx, l, reach, from[next]); err != nil {
			return err
		}
	}
	return nil
}

// scanFrom scans for queries that all stand at the same panel.
func (x *run) scanFrom(ctx context.Context, l backend.Look, reach float64, live []int) error {
	// many queries: a block of them a goroutine; few: all of them together,
	// each chunk's panels split over goroutines
	if len(live) < 4*x.r.threads {
		return x.scanBlock(ctx, l, reach, live, x.r.threads)
	}
	block := min(64, (len(live)+x.r.threads-1)/x.r.threads)
	n := (len(live) + block - 1) / block
	return x.r.each(ctx, n, func(_ *scratch, b int) error {
		return x.scanBlock(ctx, l, reach, live[b*block:min((b+1)*block, len(live))], 1)
	})
}

// scanning is one query's scan.
type scanning struct {
	*state
	bound
	terms        simd.ScanQuery
	before       int   // arms listed before this look
	hot          []arm // scratch of settle
	seen, scored int
}

// scanBlock walks a block of queries through all panels, chunk by chunk; the
// panels of a chunk are split over par goroutines.
func (x *run) scanBlock(ctx context.Context, l backend.Look, reach float64, js []int, par int) error {
	qs := make([]*scanning, len(js))
	for k, j := range js {
		s := &x.states[j]
		b, err := s.newBound(l, reach, &s.panel)
		if err != nil {
			return err
		}
		qs[k] = &scanning{state: s, bound: b, before: len(s.list), terms: simd.ScanQuery{
			Head: float32(s.panel.headStep), Rest: float32(s.panel.restStep), Radius: float32(b.radiusFactor), Offset: float32(b.offsetFactor)}}
	}
	hits := make([][][]arm, par)
	for p := range hits {
		hits[p] = make([][]arm, len(js))
	}
	panels := x.c.PanelCount()
	lo := x.states[js[0]].next
	for len(qs) > 0 {
		hi := chunkEnd(x.first, max(1, l.First/64), lo, panels)
		parts := min(par, hi-lo)
		err := x.r.each(ctx, parts, func(w *scratch, p int) error {
			x.scanPanels(w, qs, lo+(hi-lo)*p/parts, lo+(hi-lo)*(p+1)/parts, hits[p])
			return nil
		})
		if err != nil {
			for _, q := range qs {
				q.leave()
			}
			return err
		}
		live := qs[:0]
		for k, q := range qs {
			all := hits[0][k]
			for p := 1; p < parts; p++ {
				all = append(all, hits[p][k]...)
			}
			hits[0][k] = all // keeps what it grew to
			q.next, q.seen = hi, q.seen+q.allowedIn(lo, hi)
			q.settle(x.raise.Source, all)
			if !q.ended(panels) {
				live = append(live, q)
			}
		}
		qs = live
		lo = hi
	}
	return nil
}

// scanPanels lists what passes of panels from..to-1 in hits, per query.
func (x *run) scanPanels(w *scratch, qs []*scanning, from, to int, hits [][]arm) {
	c := x.c
	width := qs[0].width(c)
	for k := range qs {
		hits[k] = hits[k][:0]
	}
	for p := from; p < to; p++ {
		panel := c.Panels[p*c.PanelStride() : (p+1)*c.PanelStride()]
		lo := p * 64
		for k, q := range qs {
			mask := q.allowed(p)
			if mask == 0 {
				continue
			}
			t := simd.PanelTerms{Head: (*[64]float32)(c.HeadScale[lo:]), Rest: (*[64]float32)(q.scale[lo:]), Radius: (*[64]float32)(q.radius[lo:])}
			if c.Offset != nil {
				t.Offset = (*[64]float32)(c.Offset[lo:])
			}
			q.terms.Cut = float32(q.tau - q.panelRounding(c, p) - slop*math.Abs(q.tau))
			var got [1]uint64
			simd.Generic.Scan(&w.scan, panel, c.R, width-c.R, q.panel.narrow, width, []simd.ScanQuery{q.terms}, &t, got[:], w.out[:])
			mask &= got[0]
			for ; mask != 0; mask &= mask - 1 {
				i := lo + bits.TrailingZeros64(mask)
				v := float64(w.out[i-lo])
				hits[k] = append(hits[k], arm{bound: v + q.rounding(c, i) + slop*math.Abs(v), i: uint32(i)})
			}
		}
	}
}

// settle takes what passed of one chunk, in internal order: arms whose estimate
// reaches the threshold are scored at once, best first, which lifts it; the
// others wait in the list with their bound.
func (q *scanning) settle(source backend.Source, hits []arm) {
	cut := q.opening(hits)
	waiting := len(q.list)
	q.hot = q.hot[:0]
	for _, a := range hits {
		if a.bound >= cut { // among the first k: they make the threshold
			q.take(source, a)
		}
	}
	for _, a := range hits {
		switch {
		case a.bound >= cut || a.bound < q.tau:
		case q.estimate(a) >= q.tau && q.goal.K > 0:
			q.hot = append(q.hot, a)
		default:
			q.list = append(q.list, a)
		}
	}
	slices.SortFunc(q.hot, byBound)
	for _, a := range q.hot {
		switch {
		case q.estimate(a) >= q.tau: // the threshold may have risen since
			q.take(source, a)
		case a.bound >= q.tau:
			q.list = append(q.list, a)
		}
	}
	slices.SortFunc(q.list[waiting:], func(a, b arm) int { return int(a.i) - int(b.i) })
}

// estimate is the middle of what an arm's bound allows.
func (q *scanning) estimate(a arm) float64 {
	return a.bound - float64(q.radius[a.i])*q.radiusFactor - q.rounding(q.c, int(a.i))
}

// opening is the bound of the arms to score before there is a threshold: as
// many as are missing to k, those of greatest bound. +Inf when none are.
func (q *scanning) opening(hits []arm) float64 {
	missing := q.goal.K - len(q.best.heap) - len(q.lower.heap)
	if missing <= 0 {
		return math.Inf(1)
	}
	first := top{k: missing}
	for _, a := range hits {
		first.push(scored{a.bound, a.i})
	}
	if !first.full() {
		return math.Inf(-1)
	}
	return first.heap[0].score
}

// take scores an arm by source; what is still to be scored exactly waits.
func (q *scanning) take(source backend.Source, a arm) {
	if a, more := q.lift(source, a); more {
		q.list = append(q.list, a)
		return
	}
	q.scored++
}

// lift scores one arm by source, which may raise the threshold. It returns the
// arm with its new bound and true when it is still to be scored exactly.
func (s *state) lift(source backend.Source, a arm) (arm, bool) {
	if source == backend.Exact {
		s.score(int(a.i))
		return a, false
	}
	if s.whole == nil {
		b, err := s.newBound(backend.Look{Rep: backend.Rows, To: s.c.D, Rule: backend.Cauchy}, 0, &s.rows)
		if err != nil {
			s.score(int(a.i))
			return a, false
		}
		s.whole = &b
	}
	estimate, upper := s.whole.row(s, int(a.i))
	s.account(s.whole.width(s.c), 1)
	lower := estimate - (upper - estimate) - s.offsetWidth(int(a.i))
	if lower >= s.floor {
		s.lower.push(scored{lower, s.c.Order[a.i]})
		if s.lower.full() {
			// without epsilon, which would drop these very arms unscored
			s.tau = max(s.tau, s.lower.heap[0].score)
		}
	}
	// an arm that supports the threshold stays, whatever a bound that failed says
	return arm{bound: max(lower, min(a.bound, upper)), i: a.i, whole: true}, true
}

// ended settles a query's scan at the last panel, where norms alone end it, or
// where so much is kept that the dense path is cheaper.
func (q *scanning) ended(panels int) bool {
	end := q.next >= panels || q.cap(q.next) < q.tau
	most := q.look.MaxSurvivors
	if !end && most > 0 && q.seen >= max(survey, 16*q.goal.K) && float64(len(q.list)) > most*float64(q.seen) {
		q.prune()
		q.toDense = float64(len(q.list)) > most*float64(q.seen)
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
	kept := len(q.list) + q.scored
	q.account(q.width(q.c), q.seen)
	q.report(q.look, q.seen, kept)
	if q.bound.random {
		q.state.random = q.state.random || kept < q.before+q.seen
		q.owe()
	}
}

// owe notes that from here on an arm can be dropped by a bound that can fail,
// unless every one listed now is scored.
func (s *state) owe() {
	if s.owed == 0 {
		s.owed = s.rowsRead + len(s.list)
	}
}

// prune drops listed arms whose bound no longer reaches the threshold.
func (s *state) prune() {
	kept := s.list[:0]
	for _, a := range s.list {
		if a.bound >= s.tau {
			kept = append(kept, a)
		}
	}
	s.list = kept
}

// account counts a look of width codes at n atoms; each also reads three
// float32 terms.
func (s *state) account(width, n int) {
	s.pulls += int64(width) * int64(n)
	s.bytes += int64(width+12) * int64(n)
}
