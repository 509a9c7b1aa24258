package cpu

// denseShift returns by how much the query's scaled product with a row as given exceeds that
// with the row less the centre; 0 unless the dense path multiplies rows as given by the query less the centre. t is nil if
// it scores rows without products.
func (s *state) denseShift(t *denseTerms) (sum float64) {
	if s.c.Centre == nil || t == nil || t.far || s.dots == noError {
		return 0
	}
	for c, m := range s.c.Centre {
		sum += (s.q[c] - m) * s.unit * m
	}
	return sum
}

// writeCompared writes the query of the bounds to row, [Dim]: times unit and, if there is a
// centre, less it. If products have no error, only powers of two change it.
func (s *state) writeCompared(row []float32) {
	if s.dots == noError && s.c.Metric.Normalises() {
		s.kern.Narrow(row, s.q, 1)
		return
	}
	if s.c.Centre == nil || s.dots == noError {
		s.kern.Narrow(row, s.q, s.unit)
		return
	}
	for c, m := range s.c.Centre {
		row[c] = float32((s.q[c] - m) * s.unit)
	}
}
