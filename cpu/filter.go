package cpu

import (
	"iter"
	"math/bits"
	"slices"
)

// allowsAtom reports whether atom i, by internal index, may be returned.
func (s *state) allowsAtom(i int) bool {
	return i != s.goal.Skip && (s.goal.Filter == nil || s.goal.Filter.Has(i))
}

// allowedMask returns the mask of the atoms of panel p that may be returned; filter is
// filterBits().
func (s *state) allowedMask(filter []uint64, p int) uint64 {
	mask := ^uint64(0)
	if n := s.c.N - p*panelAtoms; n < panelAtoms {
		mask = 1<<n - 1
	}
	if filter != nil {
		mask &= filter[p]
	}
	if k := s.goal.Skip; k >= 0 && k/panelAtoms == p {
		mask &^= 1 << (k % panelAtoms)
	}
	return mask
}

// filterBits returns the bits of the goal's filter, a word for each panel; nil if there is
// none.
func (s *state) filterBits() []uint64 {
	if s.goal.Filter == nil {
		return nil
	}
	return s.goal.Filter.Bits()
}

// allowedFrom yields the atoms from panel p on that may be returned, in ascending order.
func (s *state) allowedFrom(p int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if s.goal.Filter != nil {
			all := s.goal.Filter.Atoms()
			from, _ := slices.BinarySearch(all, uint32(p*panelAtoms))
			for _, i := range all[from:] {
				if int(i) != s.goal.Skip && !yield(int(i)) {
					return
				}
			}
			return
		}
		for i := p * panelAtoms; i < s.c.N; i++ {
			if i != s.goal.Skip && !yield(i) {
				return
			}
		}
	}
}

// countAllowedFrom counts the atoms that allowedFrom yields.
func (s *state) countAllowedFrom(p int) int {
	n := max(0, s.c.N-p*panelAtoms)
	if s.goal.Filter != nil {
		all := s.goal.Filter.Atoms()
		from, _ := slices.BinarySearch(all, uint32(p*panelAtoms))
		n = len(all) - from
	}
	if k := s.goal.Skip; k >= p*panelAtoms && (s.goal.Filter == nil || s.goal.Filter.Has(k)) {
		n--
	}
	return n
}

// panelsToScan returns the panels that contain an atom which at least one of the queries may
// return, in ascending order. If all filters are the same or there is none, the slice is shared.
func (x *run) panelsToScan(qs []*scanState) []uint32 {
	first := qs[0].goal.Filter
	shared := true
	for _, q := range qs {
		if q.allowedBits == nil {
			return x.r.panels()
		}
		shared = shared && q.goal.Filter == first
	}
	if shared && first.Filled() < x.c.PanelCount() {
		return first.Panels()
	}
	if shared {
		return x.r.panels()
	}
	var full []uint32
	for p := range x.c.PanelCount() {
		if slices.ContainsFunc(qs, func(q *scanState) bool { return q.allowedBits[p] != 0 }) {
			full = append(full, uint32(p))
		}
	}
	return full
}

// countChunk adds the atoms of panels lo to hi-1 to the query's counts: to seen those that may
// be returned, to codesRead those whose panel has such an atom. scanned lists the panels of
// the chunk that were scanned.
func (q *scanState) countChunk(lo, hi int, scanned []uint32) {
	if q.allowedBits == nil {
		n := min(hi*panelAtoms, q.c.N) - lo*panelAtoms
		q.seen, q.codesRead = q.seen+n, q.codesRead+n
		if k := q.goal.Skip; k >= lo*panelAtoms && k < hi*panelAtoms {
			q.seen--
		}
		return
	}
	seen, panels := 0, 0
	for _, p := range scanned {
		if in := q.allowedBits[p]; in != 0 {
			seen += bits.OnesCount64(in)
			panels++
		}
	}
	q.seen, q.codesRead = q.seen+seen, q.codesRead+panelAtoms*panels
	if k := q.goal.Skip; k >= lo*panelAtoms && k < hi*panelAtoms && q.goal.Filter.Has(k) {
		q.seen--
	}
	if last := q.c.PanelCount() - 1; last >= lo && last < hi && q.allowedBits[last] != 0 {
		q.codesRead -= (last+1)*panelAtoms - q.c.N
	}
}
