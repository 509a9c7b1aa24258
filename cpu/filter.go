package cpu

import (
	"iter"
	"math/bits"
	"slices"
)

// hideAtoms lists in hidden the atoms that looks and dense scans pass over.
func (s *state) hideAtoms() {
	g := &s.goal
	s.hidden, s.hiddenRows = g.Exclude, s.hiddenRows[:0]
	candidates := g.Candidates
	if len(candidates) == 0 {
		return
	}
	s.merged = s.merged[:0]
	exclude := g.Exclude
	for len(exclude) > 0 && len(candidates) > 0 {
		from := &candidates
		if exclude[0] < candidates[0] {
			from = &exclude
		}
		s.merged, *from = append(s.merged, (*from)[0]), (*from)[1:]
	}
	s.merged = append(append(s.merged, exclude...), candidates...)
	s.hidden = s.merged
}

// allowsAll reports whether the goal's filter and From allow every atom.
func (s *state) allowsAll() bool { return s.goal.Filter == nil && s.goal.From == 0 }

// allows reports whether the goal's filter and From allow atom i, by internal index.
func (s *state) allows(i int) bool {
	return i >= s.goal.From && (s.goal.Filter == nil || s.goal.Filter.Has(i))
}

// hiddenFrom returns the hidden atoms from lo on.
func (s *state) hiddenFrom(lo int) []uint32 {
	from, _ := slices.BinarySearch(s.hidden, uint32(lo))
	return s.hidden[from:]
}

// nextHidden returns the hidden atoms from nextPanel to panel hi-1, and passes over them.
func (q *scanState) nextHidden(hi int) []uint32 {
	left := q.hidden[q.hiddenBefore:]
	n := 0
	for n < len(left) && left[n] < uint32(hi*panelAtoms) {
		n++
	}
	q.hiddenBefore += n
	return left[:n]
}

// removeHidden removes hidden atoms from a list, both of [lo, hi), in place.
func removeHidden(w *scratch, list survivors, hidden []uint32, lo, hi int) survivors {
	if len(hidden) == 0 || len(list.ids) == 0 {
		return list
	}
	if len(hidden) == 1 {
		if at, found := slices.BinarySearch(list.ids, hidden[0]); found {
			copy(list.ids[at:], list.ids[at+1:])
			copy(list.bounds[at:], list.bounds[at+1:])
			list.truncate(len(list.ids) - 1)
		}
		return list
	}
	w.hidden = grow(w.hidden, (hi-lo+63)/64)
	clear(w.hidden)
	for _, h := range hidden {
		h -= uint32(lo)
		w.hidden[h/64] |= 1 << (h % 64)
	}
	kept := 0
	for k, i := range list.ids {
		list.ids[kept], list.bounds[kept] = i, list.bounds[k]
		i -= uint32(lo)
		kept += int(^w.hidden[i/64] >> (i % 64) & 1)
	}
	list.truncate(kept)
	return list
}

// allowedMask returns the mask of the atoms of panel p that the goal's filter and From allow;
// filter is filterBits().
func (s *state) allowedMask(filter []uint64, p int) uint64 {
	mask, lo := ^uint64(0), p*panelAtoms
	if n := s.c.N - lo; n < panelAtoms {
		mask = 1<<n - 1
	}
	if filter != nil {
		mask &= filter[p]
	}
	if before := s.goal.From - lo; before > 0 {
		mask &= ^uint64(0) << before
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

// firstShown is the first atom from panel p on that the goal's From allows.
func (s *state) firstShown(p int) int { return max(p*panelAtoms, s.goal.From) }

// shownFrom yields the atoms from panel p on that looks see, in ascending order.
func (s *state) shownFrom(p int) iter.Seq[int] {
	lo := s.firstShown(p)
	return func(yield func(int) bool) {
		hidden := s.hiddenFrom(lo)
		shows := func(i uint32) bool {
			for len(hidden) > 0 && hidden[0] < i {
				hidden = hidden[1:]
			}
			return len(hidden) == 0 || hidden[0] != i
		}
		if s.goal.Filter != nil {
			all := s.goal.Filter.Atoms()
			from, _ := slices.BinarySearch(all, uint32(lo))
			for _, i := range all[from:] {
				if shows(i) && !yield(int(i)) {
					return
				}
			}
			return
		}
		for i := lo; i < s.c.N; i++ {
			if shows(uint32(i)) && !yield(i) {
				return
			}
		}
	}
}

// countShownFrom counts the atoms that shownFrom yields.
func (s *state) countShownFrom(p int) int {
	lo := s.firstShown(p)
	n := max(0, s.c.N-lo)
	if s.goal.Filter != nil {
		all := s.goal.Filter.Atoms()
		from, _ := slices.BinarySearch(all, uint32(lo))
		n = len(all) - from
	}
	return n - s.countShowable(s.hiddenFrom(lo))
}

// countShowable counts those of hidden atoms, ascending, that the goal's filter and From allow.
func (s *state) countShowable(hidden []uint32) int {
	for len(hidden) > 0 && int(hidden[0]) < s.goal.From {
		hidden = hidden[1:]
	}
	if s.goal.Filter == nil {
		return len(hidden)
	}
	n := 0
	for _, i := range hidden {
		if s.goal.Filter.Has(int(i)) {
			n++
		}
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

// countChunk adds the atoms of panels lo to hi-1 to the query's counts: to seen those that looks
// see, to codesRead those of its panels: from the panel of the goal's From on, those in which the
// filter allows an atom. scanned lists the panels of the chunk that were scanned, hidden the hidden
// atoms in it.
func (q *scanState) countChunk(lo, hi int, scanned, hidden []uint32) {
	from := max(lo, q.goal.From/panelAtoms)
	if from >= hi {
		return
	}
	end := min(hi*panelAtoms, q.c.N)
	q.seen -= q.countShowable(hidden)
	if q.allowedBits == nil {
		q.seen += end - max(from*panelAtoms, q.goal.From)
		q.codesRead += end - from*panelAtoms
		return
	}
	at, _ := slices.BinarySearch(scanned, uint32(from))
	for _, p := range scanned[at:] {
		in := q.allowedBits[p]
		if in == 0 {
			continue
		}
		q.codesRead += min(panelAtoms, q.c.N-int(p)*panelAtoms)
		if before := q.goal.From - int(p)*panelAtoms; before > 0 {
			in &= ^uint64(0) << before
		}
		q.seen += bits.OnesCount64(in)
	}
}
