package revisit

import (
	"thresher/cpu/topk"
)

// resolveChunk is the number of arms whose rows of codes ResolveAbove reads together.
const resolveChunk = 1024

// ResolveAbove drops those of arms that certainly score above the ceiling, by the whole rows of codes
// of all that may. It reads each row once, and stops when stopped says so; arms not read stay.
func (s *Query) ResolveAbove(w *Scratch, arms []topk.Arm, stopped func() bool) []topk.Arm {
	if !s.Bounded() || !s.C.Coded() || len(arms) == 0 {
		return arms
	}
	b := s.fullWidthBound(w)
	kept, from := 0, 0
	for from < len(arms) && !stopped() {
		some := arms[from:min(from+resolveChunk, len(arms))]
		from += len(some)
		w.IDs = w.IDs[:0]
		for _, a := range some {
			if !s.CertainlyBelow(a.Bound) {
				w.IDs = append(w.IDs, a.ID)
			}
		}
		w.fetchSink = fetchSides(b, w.IDs)
		w.sums.codes = topk.Grow(w.sums.codes, len(w.IDs))
		wide := s.sumCodes(w, w.IDs, s.C.D)
		s.CountCodes(b.AtomBytes, len(w.IDs))
		k := 0
		for _, a := range some {
			if !s.CertainlyBelow(a.Bound) {
				estimate, upper := s.boundSummedCodes(b, w, k, a.ID, wide)
				k++
				if s.CertainlyAbove(s.lowerBound(int(a.ID), estimate, upper)) {
					s.DropAbove()
					continue
				}
				a.Bound = min(a.Bound, upper)
			}
			arms[kept] = a
			kept++
		}
	}
	kept += copy(arms[kept:], arms[from:])
	return arms[:kept]
}
