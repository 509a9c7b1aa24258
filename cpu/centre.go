package cpu

// shift returns by how much the query's scaled product with a row as given exceeds that with
// the row less the centre; 0 unless the dense path multiplies rows as given.
func (s *state) shift(t *denseTerms) (sum float64) {
	if s.c.Centre == nil || t == nil || t.far { // no terms: no products
		return 0
	}
	for c, m := range s.c.Centre {
		sum += (s.q[c] - m) * s.unit * m
	}
	return sum
}

// compared writes the query to be compared, less the centre if there is one, to row.
func (s *state) compared(row []float32) {
	if s.c.Centre == nil {
		for c, v := range s.q {
			row[c] = float32(v * s.unit)
		}
		return
	}
	for c, m := range s.c.Centre {
		row[c] = float32((s.q[c] - m) * s.unit)
	}
}
