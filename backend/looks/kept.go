package looks

import (
	"unsafe"

	"thresher/backend"
	"thresher/simd"
)

// sideBytes, stripBytes and signTermBytes are the memory of the terms of an atom in Sides, of a Strip, and of an atom in SignTerms.
const (
	sideBytes     = int64(unsafe.Sizeof(Side{}))
	stripBytes    = int64(unsafe.Sizeof(Strip{}))
	signTermBytes = 3 * 4
)

// Kept is the memory of strips, sides, terms and panels of signs that looks have made, in bytes.
func (s *Set) Kept() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(s.c.N)
	all := int64(len(s.sides))*n*sideBytes + int64(len(s.strips))*s.stripsBytes()
	if s.signs != nil {
		all += n * signTermBytes
	}
	for width := range s.panels {
		all += s.c.SignPanelsSize(width)
	}
	return all
}

// Making is by how much compiling these looks would raise Kept. Those that the collection's codes do not support raise it by nothing.
func (s *Set) Making(these []backend.Look) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, all := int64(s.c.N), int64(0)
	strips, sides, panels := map[termsKey]bool{}, map[termsKey]bool{}, map[int]bool{}
	signs := s.signs != nil
	for _, l := range these {
		if !l.Rep.Coded() || !l.Rep.StoredIn(s.c) || !l.Rep.Takes(l.Rule) {
			continue
		}
		stage, codes := l.Rep.Stage(s.c, l.To), codesOf[l.Rep]
		if stage < 0 {
			continue
		}
		kind, atPanels := kindOf(s.c, l, stage), l.Rep == backend.SignPanels
		if atPanels && l.To <= min(s.c.D, simd.MaxSignPanel) && s.panels[l.To] == nil && !panels[l.To] {
			panels[l.To] = true
			all += s.c.SignPanelsSize(l.To)
		}
		if key := (termsKey{stage, kind, atPanels}); codes == Codes8 && s.strips[key] == nil && !strips[key] {
			strips[key] = true
			all += s.stripsBytes()
		}
		if key := (termsKey{stage, kind, false}); contiguous(codes, kind) && s.sides[key] == nil && !sides[key] {
			sides[key] = true
			all += n * sideBytes
		}
		if !signs && kind == Whole && stage != len(s.c.Stages)-1 {
			signs = true
			all += n * signTermBytes
		}
	}
	return all
}

// stripsBytes is the memory of the strips of the terms of one kind.
func (s *Set) stripsBytes() int64 { return stripBytes * int64((s.c.N+StripAtoms-1)/StripAtoms) }
