package cpu

import (
	"math"

	"thresher/simd"
)

// A query has scores on two scales, which differ for squared differences only. Answers are
// ranked by the search score itself, -|q-v|^2/2, a sum of squared differences. Bounds have
// the product form q.v - |v|^2/2, with q and v relative to the collection's centre, which is
// |q|^2/2 more; looks.Conversion converts. All are multiplied by 2^-exp.

// leastShared is the least number of rows to score together that are divided into pieces.
const leastShared = 48

// searchScores writes the search scores of rows, by number, to out.
func (s *state) searchScores(out []float64, rows []uint32) { s.searchScoresOf(out, rows, false) }

// searchScoresOf is searchScores; near says that most of the rows are in a cache.
func (s *state) searchScoresOf(out []float64, rows []uint32, near bool) {
	sums := simd.Kernels.Dots
	switch {
	case s.c.Metric.Differences() && near:
		sums = simd.Kernels.SquaredDistancesNear
	case s.c.Metric.Differences():
		sums = simd.Kernels.SquaredDistances
	case near:
		sums = simd.Kernels.DotsNear
	}
	sums(s.kern, out, s.c.Rows, s.c.Dim, rows, s.q)
	s.c.ScoresOf(out[:len(rows)], rows, s.qq, s.toScore)
}

// searchScore returns the search score of a row, by number.
func (s *state) searchScore(row uint32) float64 {
	if s.c.Metric.Differences() {
		return s.scoreOfSum(row, s.kern.SquaredDistance(s.c.Row(int(row)), s.q))
	}
	return s.scoreOfSum(row, s.kern.Dot(s.c.Row(int(row)), s.q))
}

// scoreOfSum returns the search score of a row from x, its product with q or squared distance
// from it.
func (s *state) scoreOfSum(row uint32, x float64) float64 {
	return s.c.ScoreOf(int(row), x, s.qq) * s.toScore
}

// certainlyReachesFloor reports whether an atom of this lower bound must reach the floor.
func (s *state) certainlyReachesFloor(lower float64) bool {
	return s.conversion.LowerThreshold(lower)-s.conversion.Lead >= s.floor
}

// addScored adds a scored row to the answers if it is within floor and ceiling, and raises tau.
func (s *state) addScored(x scored) {
	if !s.answersWith(x.score) {
		return
	}
	s.best.push(x)
	s.raiseToBest()
}

// raiseToBest raises tau to the k-th best score plus epsilon, if there are k scores.
func (s *state) raiseToBest() {
	if s.best.full() {
		s.tau = max(s.tau, s.conversion.Threshold(s.best.worst().score)+s.epsilon)
	}
}

// raiseFloor raises the floor to a search score, unless it is higher already, and the threshold to at least the floor.
func (s *state) raiseFloor(score float64) {
	s.floor = max(s.floor, math.Ldexp(score, -s.exp))
	s.tau = max(s.tau, s.conversion.Threshold(s.floor))
}

// raiseTo raises tau to a bound that k arms reach, plus epsilon.
func (s *state) raiseTo(bound float64) { s.tau = max(s.tau, bound+s.epsilon) }

// mayRise reports whether scores of so many arms, all that are listed, can raise the threshold. If
// there is a floor and there are no more than k atoms above it, they cannot, and later looks drop
// some of the arms for less.
func (s *state) mayRise(arms int) bool {
	return s.goal.K > 0 && (math.IsInf(s.tau, -1) || s.best.len()+len(s.finalists)+arms > s.goal.K)
}

// threshold returns tau as a search score. If the k-th best score determines it, it is
// computed from that score, without the rounding of conversions.
func (s *state) threshold() float64 {
	t := max(s.tau-s.conversion.Lead, s.floor)
	if s.best.full() {
		t = max(t, s.best.worst().score+s.epsilon)
	}
	return t
}
