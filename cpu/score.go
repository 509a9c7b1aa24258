package cpu

import "math"

// Scores of a query are kept in two scales that differ for squared differences alone.
// Answers are ranked by the search score itself, -|q-v|^2/2, a sum of squared
// differences. Bounds are of the product form: with q and v relative to the
// collection's centre they are of q.v - |v|^2/2, which is |q|^2/2 more. lead is that
// difference, and give what float64 can be wrong by in it and in scores, relative to
// their sizes. Both are 0 for products, and everything is times 2^-exp.

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

// convert sets what turns scores into thresholds of bounds, for a query of the given
// working norm.
func (s *state) convert(norm float64) {
	if s.c.Metric.Differences() {
		s.lead = math.Ldexp(s.c.Metric.Lead(norm), -s.exp)
		s.give = float64(s.c.Dim+32) * 0x1p-52
	}
}

// bar is the threshold that a search score makes: an atom whose bound is below has a
// lower score, as computed too.
func (s *state) bar(score float64) float64 {
	if math.IsInf(score, 0) {
		return score
	}
	return score + s.lead - s.give*(s.lead+math.Abs(score))
}

// firm is the threshold that a lower bound makes: an atom whose bound is below has
// a lower score than the atom of that lower bound, as computed too.
func (s *state) firm(lower float64) float64 {
	return lower - s.give*(2*s.lead+math.Abs(lower))
}

// surely reports whether an atom of this lower bound reaches the floor.
func (s *state) surely(lower float64) bool {
	return s.firm(lower)-s.lead >= s.floor
}

// outward turns a bound into one of search scores.
func (s *state) outward(bound float64) float64 {
	if !s.c.Metric.Differences() || math.IsInf(bound, 0) {
		return bound
	}
	return min(0, bound-s.lead+s.give*(2*s.lead+math.Abs(bound)))
}

// take takes a scored row into the answers and lifts tau.
func (s *state) take(x scored) {
	if x.score < s.floor {
		return
	}
	s.best.push(x)
	if s.best.full() {
		s.tau = max(s.tau, s.bar(s.best.heap[0].score)+s.epsilon)
	}
}

// threshold is tau as a search score; that of the k-th best, if it is that, as it is.
func (s *state) threshold() float64 {
	t := max(s.tau-s.lead, s.floor)
	if s.best.full() {
		t = max(t, s.best.heap[0].score+s.epsilon)
	}
	return t
}
