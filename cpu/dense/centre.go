package dense

// shift returns by how much the query's scaled product with a row as given exceeds that
// with the row less the centre; 0 unless the dense path multiplies rows as given by the query less the centre. t is nil if
// it scores rows without products.
func (s *Query) shift(t *terms) (sum float64) {
	if s.C.Centre == nil || t == nil || t.far || s.dots == noError {
		return 0
	}
	for c, m := range s.C.Centre {
		sum += (s.Q[c] - m) * s.Unit * m
	}
	return sum
}

// writeCompared writes the query of the bounds to row, [Dim]: times unit and, if there is a
// centre, less it. If products have no error, only powers of two change it.
func (s *Query) writeCompared(row []float32) {
	if s.dots == noError && s.C.Metric.Normalises() {
		s.Kern.Narrow(row, s.Q, 1)
		return
	}
	if s.C.Centre == nil || s.dots == noError {
		s.Kern.Narrow(row, s.Q, s.Unit)
		return
	}
	for c, m := range s.C.Centre {
		row[c] = float32((s.Q[c] - m) * s.Unit)
	}
}
