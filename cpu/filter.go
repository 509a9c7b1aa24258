package cpu

import (
	"iter"
	"math/bits"
	"slices"
)

// allows reports whether atom i may be returned.
func (s *state) allows(i int) bool {
	return i != s.goal.Skip && (s.goal.Filter == nil || s.goal.Filter.Has(i))
}

// allowed returns the mask of the atoms of panel p that may be returned; filter holds the
// bits of the goal's filter, or is nil.
func (s *state) allowed(filter []uint64, p int) uint64 {
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

// filter returns the bits of the goal's filter, nil if there is none.
func (s *state) filter() []uint64 {
	if s.goal.Filter == nil {
		return nil
	}
	return s.goal.Filter.Bits()
}

// beyond yields the atoms from panel p on that may be returned, in ascending order.
func (s *state) beyond(p int) iter.Seq[int] {
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

// countBeyond counts the atoms that beyond yields.
func (s *state) countBeyond(p int) int {
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

// panelsOf lists the panels that hold an atom which at least one of the queries may return.
func (x *run) panelsOf(qs []*scanning) []uint32 {
	first := qs[0].goal.Filter
	shared := true
	for _, q := range qs {
		if q.filter == nil {
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
		if slices.ContainsFunc(qs, func(q *scanning) bool { return q.filter[p] != 0 }) {
			full = append(full, uint32(p))
		}
	}
	return full
}

// count returns the number of atoms of panels lo to hi-1 that may be returned, and the number
// read, which includes those that share a scanned panel with them. full lists the panels
// scanned.
func (q *scanning) count(lo, hi int, full []uint32) {
	if q.filter == nil { // all were
		n := min(hi*panelAtoms, q.c.N) - lo*panelAtoms
		q.seen, q.read = q.seen+n, q.read+n
		if k := q.goal.Skip; k >= lo*panelAtoms && k < hi*panelAtoms {
			q.seen--
		}
		return
	}
	seen, panels := 0, 0
	for _, p := range full {
		if in := q.filter[p]; in != 0 {
			seen += bits.OnesCount64(in)
			panels++
		}
	}
	q.seen, q.read = q.seen+seen, q.read+panelAtoms*panels
	if k := q.goal.Skip; k >= lo*panelAtoms && k < hi*panelAtoms && q.goal.Filter.Has(k) {
		q.seen--
	}
	if last := q.c.PanelCount() - 1; last >= lo && last < hi && q.filter[last] != 0 {
		q.read -= (last+1)*panelAtoms - q.c.N
	}
}
