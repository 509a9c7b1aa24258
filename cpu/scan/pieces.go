package scan

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/cpu/arms"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
)

const (
	// laterShare and laterCertain are the shares of the rows of codes that later looks are expected to read,
	// after a first look by a bound that can fail, and by one that cannot.
	laterShare, laterCertain = 1. / 50, 1. / 3
	// pieceShare is the share of the panels in the largest pieces of a first look, minPiece and
	// maxPiece bound their number of panels.
	pieceShare         = 1. / 12
	minPiece, maxPiece = 64, 128
	// maxAhead bounds the panels before a piece as a multiple of those of which the arms were taken:
	// the threshold of its scan is the better, the fewer there are.
	maxAhead = 4
)

// pieces is what a run and its helpers share.
type pieces struct {
	scan  threads.Pieces
	tau   atomic.Uint64 // the bits of the threshold for the pieces of a first look
	lists [threads.Ring]struct {
		topk.Entries         // the arms of a piece that passed
		tau          float64 // the threshold of the scan
	}
}

// ExpectedBytes is how many bytes of codes a search for one query is expected to read that begins with look l.
func (x *Run) ExpectedBytes(l backend.Look) float64 {
	later := laterShare
	if l.Rule == backend.Cauchy {
		later = laterCertain
	}
	atoms := x.C.N
	if len(x.queries) == 1 && x.queries[0].gathers(l) {
		atoms = x.queries[0].Goal.Filter.Len()
	}
	return float64(atoms) * (float64(l.Rep.AtomBytes(x.C.R, l.To)) + later*float64(x.C.D-l.To))
}

// scanHelped takes look t for query j, together with helpers. The look's course is that of scanQueries:
// the run takes the arms of the chunks in order, while helpers scan chunks ahead. A chunk that is
// scanned early has a lower threshold, so that more arms pass; those below the threshold are removed
// when the chunk's turn has come.
func (x *Run) scanHelped(ctx context.Context, t *looks.Compiled, j int) error {
	w := x.r.getScratch()
	defer x.r.putScratch(w)
	qs := x.newScans(w, t, nil, []int{j})
	q, panels := qs[0], x.C.PanelCount()
	if err := x.expectThresholds(ctx, w, t, qs); err != nil {
		q.stop()
		return err
	}
	if !q.beginScan(w, panels) {
		return nil
	}
	for q.Phase == arms.Unscanned {
		if err := x.scanPieces(ctx, w, t, qs); err != nil {
			return err
		}
	}
	return nil
}

// scanPieces takes a scan that has begun to its end, together with helpers.
func (x *Run) scanPieces(ctx context.Context, w *scratch, t *looks.Compiled, qs []*scanning) error {
	q, panels := qs[0], x.C.PanelCount()
	first, toScan := minChunk(t.Look), x.panelsToScan(qs)
	ends := pieceEnds(first, q.NextPanel, panels)
	start := func(i int) int { // the first panel of piece i, if there is one
		if i == 0 {
			return q.NextPanel
		}
		return ends[i-1]
	}
	from := q.NextPanel
	if x.pieces == nil {
		x.pieces = &pieces{}
	}
	h, p := x.r.Helpers, x.pieces
	p.tau.Store(math.Float64bits(q.scanTau()))
	p.scan.Start(x.r.Crew, len(ends), func(base *threads.Scratch, i int) {
		w := scratchOf(base)
		lo := from
		if i > 0 {
			lo = ends[i-1]
		}
		list := &p.lists[i%threads.Ring]
		list.tau = math.Float64frombits(p.tau.Load())
		w.taus = append(w.taus[:0], list.tau)
		_ = x.scanPanels(context.WithoutCancel(ctx), &worker{w, panelsBetween(toScan, lo, ends[i]), &p.scan}, t, qs)
		list.Truncate(0)
		passed := w.passed.list(0)
		list.Reserve(len(passed.IDs))
		list.IDs, list.Bounds = append(list.IDs, passed.IDs...), append(list.Bounds, passed.Bounds...)
	})
	p.scan.Open(1)
	offered := false
	defer func() {
		if offered {
			h.Withdraw(&p.scan)
		}
	}()
	opened := 1
	for i, end := range ends {
		if err := x.r.Checkpoint(ctx, 1); err != nil {
			q.stop()
			return err
		}
		p.scan.Await(w.Scratch.Scratch, i)
		list := &p.lists[i%threads.Ring]
		rest := list.Entries
		for q.NextPanel < end {
			lo, hi := q.NextPanel, chunkEnd(first, q.NextPanel, panels)
			n, _ := slices.BinarySearch(rest.IDs, uint32(hi*arms.PanelAtoms))
			passed := topk.Entries{IDs: rest.IDs[:n:n], Bounds: rest.Bounds[:n:n]}
			rest = topk.Entries{IDs: rest.IDs[n:], Bounds: rest.Bounds[n:]}
			if list.tau < q.scanTau() {
				passed.Truncate(q.Kern.Select(passed.IDs, passed.Bounds, passed.IDs, passed.Bounds, q.Tau32(), float32(math.Inf(1))))
			}
			if !q.endChunk(w, hi, panelsBetween(toScan, lo, hi), passed) {
				return nil
			}
			p.tau.Store(math.Float64bits(q.scanTau()))
			for opened < min(len(ends), i+threads.Ring) && start(opened) <= maxAhead*q.NextPanel && q.ScoreCapFrom(start(opened)) >= q.scanTau() {
				opened++
			}
			p.scan.Open(opened)
			if !offered {
				offered = h.Offer(&p.scan)
			}
		}
		// The list of piece i is free.
	}
	return nil
}

// pieceEnds returns the ends of the pieces of panels from lo on: whole chunks each, a few together once
// chunks are small beside all panels.
func pieceEnds(first, lo, panels int) (ends []int) {
	size := min(max(minPiece, int(pieceShare*float64(panels))), maxPiece)
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
