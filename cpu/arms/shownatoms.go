package arms

import (
	"iter"
	"slices"
)

// hideAtoms lists in hidden the atoms that looks and dense scans pass over.
func (s *Query) hideAtoms() {
	g := &s.Goal
	s.Hidden = g.Exclude
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
	s.Hidden = s.merged
}

// AllowsAll reports whether the goal's filter and From allow every atom.
func (s *Query) AllowsAll() bool { return s.Goal.Filter == nil && s.Goal.From == 0 }

// Allows reports whether the goal's filter and From allow atom i, by internal index.
func (s *Query) Allows(i int) bool {
	return i >= s.Goal.From && (s.Goal.Filter == nil || s.Goal.Filter.Has(i))
}

// hiddenFrom returns the hidden atoms from lo on.
func (s *Query) hiddenFrom(lo int) []uint32 {
	from, _ := slices.BinarySearch(s.Hidden, uint32(lo))
	return s.Hidden[from:]
}

// firstShown is the first atom from panel p on that the goal's From allows.
func (s *Query) firstShown(p int) int { return max(p*PanelAtoms, s.Goal.From) }

// ShownFrom yields the atoms from panel p on that looks see, in ascending order.
func (s *Query) ShownFrom(p int) iter.Seq[int] {
	lo := s.firstShown(p)
	return func(yield func(int) bool) {
		hidden := s.hiddenFrom(lo)
		shows := func(i uint32) bool {
			for len(hidden) > 0 && hidden[0] < i {
				hidden = hidden[1:]
			}
			return len(hidden) == 0 || hidden[0] != i
		}
		if s.Goal.Filter != nil {
			all := s.Goal.Filter.Atoms()
			from, _ := slices.BinarySearch(all, uint32(lo))
			for _, i := range all[from:] {
				if shows(i) && !yield(int(i)) {
					return
				}
			}
			return
		}
		for i := lo; i < s.C.N; i++ {
			if shows(uint32(i)) && !yield(i) {
				return
			}
		}
	}
}

// CountShownFrom counts the atoms that ShownFrom yields.
func (s *Query) CountShownFrom(p int) int {
	lo := s.firstShown(p)
	n := max(0, s.C.N-lo)
	if s.Goal.Filter != nil {
		n = s.Goal.Filter.LenFrom(lo)
	}
	return n - s.CountShowable(s.hiddenFrom(lo))
}

// CountShowable counts those of hidden atoms, ascending, that the goal's filter and From allow.
func (s *Query) CountShowable(hidden []uint32) int {
	for len(hidden) > 0 && int(hidden[0]) < s.Goal.From {
		hidden = hidden[1:]
	}
	if s.Goal.Filter == nil {
		return len(hidden)
	}
	n := 0
	for _, i := range hidden {
		if s.Goal.Filter.Has(int(i)) {
			n++
		}
	}
	return n
}
