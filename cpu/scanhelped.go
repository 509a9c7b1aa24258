package cpu

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"thresher/backend"
	"thresher/backend/looks"
)

const (
	// leastHelped is the least number of bytes of codes that a search may be expected to read for which there are
	// helpers: in less than 100 us, those that come and go cost more than they save.
	leastHelped = 7 << 19
	// wakingBytes is that number if no search has ended just before. To wake a helper takes up to 35 us on a
	// virtual machine.
	wakingBytes = 8 << 20
	// laterShare and laterCertain are the shares of the rows of codes that later looks are expected to read,
	// after a first look by a bound that can fail, and by one that cannot.
	laterShare, laterCertain = 1. / 50, 1. / 3
	// leastArms and leastShared are the least numbers of arms to bound and of rows to score together that
	// are divided into pieces.
	leastArms, leastShared = 128, 48
	// pieceShare is the share of the panels in the largest pieces of a first look, leastPiece and
	// mostPiece bound their number of panels.
	pieceShare            = 1. / 12
	leastPiece, mostPiece = 64, 128
	// mostAhead bounds the panels before a piece as a multiple of those of which the arms were taken:
	// the threshold of its scan is the better, the fewer there are.
	mostAhead = 4
)

// scanPieces is what a run and its helpers share.
type scanPieces struct {
	scan, parts pieceQueue
	tau         atomic.Uint64 // the bits of the threshold for the pieces of a first look
	lists       [ring]struct {
		survivors         // the arms of a piece that passed
		tau       float64 // the threshold of the scan
	}
}

// reservePieces prepares what a run shares with helpers if it is of one query and may be long enough.
func (x *run) reservePieces() {
	x.alone = false
	if len(x.states) > 1 || x.c.N*(x.c.R+x.c.D) < leastHelped || x.r.helpers.cores < 2 {
		x.pieces = nil
		return
	}
	if x.pieces == nil {
		x.pieces = &scanPieces{}
	}
}

// callHelpers calls helpers for first look l, if it may have any. Waking one slows the run down, as long as
// a short look takes, so short searches have helpers only if they follow each other closely.
func (x *run) callHelpers(l backend.Look) {
	if !x.helped() || !l.Rep.ForFirstLook() {
		return
	}
	h, later := x.r.helpers, laterShare
	if l.Rule == backend.Cauchy {
		later = laterCertain
	}
	bytes := float64(x.c.N) * (float64(x.c.R+l.To) + later*float64(x.c.D-l.To))
	switch {
	case bytes < leastHelped:
		x.alone = true
	case bytes >= wakingBytes || h.recent():
		x.called = true
		h.call()
	}
}

// keepHelpers keeps the helpers that the run has called looking for its pieces while it computes: from
// keepHelpers(1) until keepHelpers(-1). Between two pieces a run may compute for longer than they are patient.
func (x *run) keepHelpers(n int64) {
	if x.called {
		x.r.helpers.expected.Add(n)
	}
}

// helped reports whether the run may have helpers.
func (x *run) helped() bool { return x.pieces != nil && !x.alone }

// shares reports whether n arms or rows, of which so many are worth it, are divided into pieces.
func (s *state) shares(n, least int) bool { return n >= least && s.run.helped() }

// shareOut calls do for consecutive ranges of 0 to n-1, some of them on helpers, and waits for all.
func (x *run) shareOut(n int, do func(w *scratch, lo, hi int)) {
	w := x.r.getScratch()
	defer x.r.putScratch(w)
	h, j := x.r.helpers, &x.pieces.parts
	j.start(x.r, ring, func(w *scratch, i int) { do(w, n*i/ring, n*(i+1)/ring) })
	j.open(ring)
	offered := h.offer(j)
	for i := range ring {
		j.await(w, i)
	}
	if offered {
		h.withdraw(j)
	}
}

// scanHelped takes look t for query j, together with helpers. The look's course is that of scanQueries:
// the run takes the arms of the chunks in order, while helpers scan chunks ahead. A chunk that is
// scanned early has a lower threshold, so that more arms pass; those below the threshold are removed
// when the chunk's turn has come.
func (x *run) scanHelped(ctx context.Context, t *looks.Compiled, j int) error {
	w := x.r.getScratch()
	defer x.r.putScratch(w)
	qs := x.newScans(w, t, []int{j})
	q, panels := qs[0], x.c.PanelCount()
	if !q.beginScan(w, panels) {
		return nil
	}
	first, toScan := leastChunk(t.Look), x.panelsToScan(qs)
	ends := pieceEnds(first, q.nextPanel, panels)
	start := func(i int) int { // the first panel of piece i, if there is one
		if i == 0 {
			return q.nextPanel
		}
		return ends[i-1]
	}
	from := q.nextPanel
	h, p := x.r.helpers, x.pieces
	p.tau.Store(math.Float64bits(q.tau))
	p.scan.start(x.r, len(ends), func(w *scratch, i int) {
		lo := from
		if i > 0 {
			lo = ends[i-1]
		}
		list := &p.lists[i%ring]
		list.tau = math.Float64frombits(p.tau.Load())
		w.taus = append(w.taus[:0], list.tau)
		_ = x.scanPanels(context.WithoutCancel(ctx), &scanWorker{w, panelsBetween(toScan, lo, ends[i]), &p.scan}, t, qs)
		list.truncate(0)
		passed := w.passed.list(0)
		list.reserve(len(passed.ids))
		list.ids, list.bounds = append(list.ids, passed.ids...), append(list.bounds, passed.bounds...)
	})
	p.scan.open(1)
	offered := false
	defer func() {
		if offered {
			h.withdraw(&p.scan)
		}
	}()
	opened := 1
	for i, end := range ends {
		if err := x.r.checkpoint(ctx, 1); err != nil {
			q.stop()
			return err
		}
		p.scan.await(w, i)
		list := &p.lists[i%ring]
		rest := list.survivors
		for q.nextPanel < end {
			lo, hi := q.nextPanel, chunkEnd(first, q.nextPanel, panels)
			n, _ := slices.BinarySearch(rest.ids, uint32(hi*panelAtoms))
			passed := survivors{rest.ids[:n:n], rest.bounds[:n:n]}
			rest = survivors{rest.ids[n:], rest.bounds[n:]}
			if list.tau < q.tau {
				passed.truncate(q.kern.Select(passed.ids, passed.bounds, passed.ids, passed.bounds, q.least32(), float32(math.Inf(1))))
			}
			if !q.endChunk(w, hi, panelsBetween(toScan, lo, hi), passed) {
				return nil
			}
			p.tau.Store(math.Float64bits(q.tau))
			for opened < min(len(ends), i+ring) && start(opened) <= mostAhead*q.nextPanel && q.scoreCapFrom(start(opened)) >= q.tau {
				opened++
			}
			p.scan.open(opened)
			if !offered {
				offered = h.offer(&p.scan)
			}
		}
		// The list of piece i is free.
	}
	return nil
}

// pieceEnds returns the ends of the pieces of panels from lo on: whole chunks each, a few together once
// chunks are small beside all panels.
func pieceEnds(first, lo, panels int) (ends []int) {
	size := min(max(leastPiece, int(pieceShare*float64(panels))), mostPiece)
	for lo < panels {
		end := chunkEnd(first, lo, panels)
		for end < panels && end-lo < min(size, lo) {
			end = chunkEnd(first, end, panels)
		}
		ends = append(ends, end)
		lo = end
	}
	return ends
}

// panelsBetween returns the panels from lo to hi-1 of an ascending list.
func panelsBetween(list []uint32, lo, hi int) []uint32 {
	from, _ := slices.BinarySearch(list, uint32(lo))
	to, _ := slices.BinarySearch(list, uint32(hi))
	return list[from:to]
}
