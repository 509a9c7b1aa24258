package main

import "thresher/simd/_generate/neon"

// test emits what a tile of one query does after its sums, for sums in memory, an atom's
// head and rest side by side. The same routines write the arithmetic, so the bits are
// the same.
func (s *scan) test() {
	s.Func("func testNEON(sums *int32, query, heads, rests, radii, offsets, values *float32) (mask uint64)",
		"testNEON is Test of 64 atoms. offsets may be nil.")
	s.Args("query "+query, "values "+value)
	s.stored(0, queryHeadBias)
	s.headTerm()
	s.stored(1, queryRestBias)
	v := s.otherTerms()
	s.store(v)
	s.mask(v)
	s.Return("mask " + bits)
}

// stored loads the head sums (which = 0) or the rest sums (1) from memory and subtracts
// the bias.
func (s *scan) stored(which neon.V, bias int) {
	b := s.everywhere(biasV, 0, bias)
	s.Args("sums " + address)
	for j := range s.vectors() {
		s.Go("VLD2.P 32(%s), [V%d.S4, V%d.S4]", address, termV, termV+1)
		s.Same("sub", neon.S4, s.sum(0, j), termV+which, b)
	}
}
