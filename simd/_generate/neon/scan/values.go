package main

import "thresher/simd/_generate/neon"

// headTerm stores Head_i (q.Head dh) in values.
func (s *scan) headTerm() {
	s.factors()
	s.Args("heads " + address)
	s.toTile()
	for j := range s.vectors() {
		head := s.term(termV, j)
		for i := range s.queries {
			v := s.sum(i, j)
			s.Misc("scvtf", neon.S4, v, v)
			s.Lane("fmul", neon.S4, v, v, s.factor(i), headLane)
			s.Same("fmul", neon.S4, v, v, head)
			s.Go("FMOVQ F%d, %s", v, s.value(i, j))
		}
	}
}

// otherTerms computes the values from sums of rest codes and returns their registers. The
// order of operations is that of all assembly.
func (s *scan) otherTerms() (v [][]neon.V) {
	s.factors()
	// A value replaces its head term in that register; the register of its sum becomes spare.
	var spare []neon.V
	for r := spareV; r <= biasV; r++ {
		spare = append(spare, r)
	}
	v = make([][]neon.V, s.queries)
	for j := range s.vectors() {
		s.Args("rests " + address)
		s.toTile()
		rest := s.term(termV, j)
		s.Args("radii " + address)
		s.toTile()
		radius := s.term(termV+1, j)
		for i := range s.queries {
			dr, f, to := s.sum(i, j), s.factor(i), spare[0]
			s.Go("FMOVQ %s, F%d", s.value(i, j), to)
			s.Misc("scvtf", neon.S4, dr, dr)
			s.Lane("fmul", neon.S4, dr, dr, f, restLane)
			s.Same("fmla", neon.S4, to, dr, rest)
			s.Lane("fmla", neon.S4, to, radius, f, radiusLane)
			spare = append(spare[1:], dr)
			v[i] = append(v[i], to)
		}
	}
	without := s.Label("without")
	s.Args("offsets " + address)
	s.Go("CBZ %s, %s", address, without)
	s.toTile()
	for j := range s.vectors() {
		offset := s.term(termV, j)
		for i := range s.queries {
			s.Lane("fmla", neon.S4, v[i][j], offset, s.factor(i), offsetLane)
		}
	}
	s.At(without)
	return v
}

// factors loads each query's factors.
func (s *scan) factors() {
	for i := range s.queries {
		s.Go("FMOVQ %d(%s), F%d", querySize*i, query, s.factor(i))
	}
}

func (s *scan) factor(i int) neon.V { return codeV + neon.V(i) }

// toTile moves from the first of the atoms' terms to the tile's.
func (s *scan) toTile() {
	if s.queries > 1 {
		s.Go("ADD %s, %s", at, address)
	}
}

// term loads four atoms' terms.
func (s *scan) term(to neon.V, j int) neon.V {
	s.Go("FMOVQ %d(%s), F%d", 16*j, address, to)
	return to
}

func (s *scan) store(v [][]neon.V) {
	for i := range v {
		for j := range v[i] {
			s.Go("FMOVQ F%d, %s", v[i][j], s.value(i, j))
		}
	}
}

// mask makes the bits of values that reach the cuts, query after query from the lowest
// bit on, and overwrites values.
func (s *scan) mask(v [][]neon.V) {
	var all []neon.V
	for i := range v {
		cut := s.everywhere(s.factor(i), i, queryCut)
		for _, x := range v[i] {
			s.Same("fcmge", neon.S4, x, x, cut)
			all = append(all, x)
		}
	}
	for _, a := range []neon.Arrangement{neon.H8, neon.B16} { // a lane's 4 bytes become one
		for k := 0; k < len(all); k += 2 {
			s.Zip("uzp1", a, all[k/2], all[k], all[k+1])
		}
		all = all[:len(all)/2]
	}
	weights := termV
	s.Go("MOVD $0x8040201008040201, %s", bits)
	s.Go("VDUP %s, V%d.D2", bits, weights)
	for _, x := range all {
		s.Bits("and", x, x, weights)
	}
	for len(all) > 1 {
		for k := 0; k < len(all); k += 2 {
			s.Same("addp", neon.B16, all[k/2], all[k], all[k+1])
		}
		all = all[:len(all)/2]
	}
	s.Same("addp", neon.B16, all[0], all[0], all[0])
	s.Go("VMOV V%d.D[0], %s", all[0], bits)
}

// everywhere broadcasts a field of query i to every lane.
func (s *scan) everywhere(to neon.V, i, field int) neon.V {
	s.Go("ADD $%d, %s, %s", querySize*i+field, query, address)
	s.Go("VLD1R (%s), [V%d.S4]", address, to)
	return to
}
