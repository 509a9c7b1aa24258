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
	// laterShare and laterCertain are the shares of the rows of codes that later looks are expected to read,
	// after a first look by a bound that can fail, and by one that cannot.
	laterShare, laterCertain = 1. / 50, 1. / 3
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
	scan  pieceQueue
	tau   atomic.Uint64 // the bits of the threshold for the pieces of a first look
	lists [ring]struct {
		survivors         // the arms of a piece that passed
		tau       float64 // the threshold of the scan
	}
}

// expectedBytes is how many bytes of codes a search is expected to read that begins with look l.
func (x *run) expectedBytes(l backend.Look) float64 {
	later := laterShare
	if l.Rule == backend.Cauchy {
		later = laterCertain
	}
	return float64(x.c.N) * (float64(x.c.R+l.To) + later*float64(x.c.D-l.To))
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
	if x.pieces == nil {
		x.pieces = &scanPieces{}
	}
	h, p := x.r.helpers, x.pieces
	p.tau.Store(math.Float64bits(q.tau))
	p.scan.start(x.r.crew, len(ends), func(w *scratch, i int) {
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
