package cpu

// Scores of a query are kept in two scales that differ for squared differences alone.
// Answers are ranked by the search score itself, -|q-v|^2/2, a sum of squared
// differences. Bounds are of the product form: with q and v relative to the
// collection's centre they are of q.v - |v|^2/2, which is |q|^2/2 more: looks.Conversion
// converts. Everything is times 2^-exp.

// exacts writes the search scores of rows, by number, to out.
func (s *state) exacts(out []float64, rows []uint32) {
	if s.c.Metric.Differences() {
		s.k.SquaredDistances(out, s.c.Rows, s.c.Dim, rows, s.q)
	} else {
		s.k.Dots(out, s.c.Rows, s.c.Dim, rows, s.q)
	}
	for k, row := range rows {
		out[k] = s.scoreOf(row, out[k])
	}
}

// exact is the search score of a row.
func (s *state) exact(row uint32) float64 {
	if s.c.Metric.Differences() {
		return s.scoreOf(row, s.k.SquaredDistance(s.c.Row(int(row)), s.q))
	}
	return s.scoreOf(row, s.k.Dot(s.c.Row(int(row)), s.q))
}

// scoreOf turns a row's product with q, or squared distance from it, into its search
// score.
func (s *state) scoreOf(row uint32, x float64) float64 {
	return s.c.ScoreOf(int(row), x, s.qq) * s.toScore
}

// surely reports whether an atom of this lower bound reaches the floor.
func (s *state) surely(lower float64) bool {
	return s.scale.LowerThreshold(lower)-s.scale.Lead >= s.floor
}

// take takes a scored row into the answers and lifts tau.
func (s *state) take(x scored) {
	if x.score < s.floor {
		return
	}
	s.best.push(x)
	if s.best.full() {
		s.tau = max(s.tau, s.scale.Threshold(s.best.heap[0].score)+s.epsilon)
	}
}

// threshold is tau as a search score; that of the k-th best, if it is that, as it is.
func (s *state) threshold() float64 {
	t := max(s.tau-s.scale.Lead, s.floor)
	if s.best.full() {
		t = max(t, s.best.heap[0].score+s.epsilon)
	}
	return t
}
