package cpu

// shift is by how much the query's product with a row as given exceeds that with
// the row less the centre, if the dense path takes rows as given; scaled.
func (s *state) shift(t *denseTerms) (sum float64) {
	if s.c.Centre == nil || t == nil || t.far { // no terms: nothing is multiplied
		return 0
	}
	for c, m := range s.c.Centre {
		sum += (s.q[c] - m) * s.unit * m
	}
	return sum
}

// compared writes the query that is compared, less the centre if there is one, to row.
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
