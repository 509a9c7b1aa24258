package main

import "thresher/simd/_generate/neon"

// test writes what a tile of one query does after its sums, for sums that lie in
// memory, an atom's head and rest beside each other. What is computed from them
// is written by the same routines, and so has the same bits.
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

// stored takes the head sums (which = 0) or the rest sums (1) from memory, and
// their bias off.
func (s *scan) stored(which neon.V, bias int) {
	b := s.everywhere(biasV, 0, bias)
	s.Args("sums " + address)
	for j := range s.vectors() {
		s.Go("VLD2.P 32(%s), [V%d.S4, V%d.S4]", address, termV, termV+1)
		s.Same("sub", neon.S4, s.sum(0, j), termV+which, b)
	}
}
