package arms

import (
	"math"
	"thresher/cpu/threads"

	"thresher/backend/looks"
	"thresher/cpu/topk"
)

// A query has scores on two scales, which differ for squared differences only. Answers are
// ranked by the search score itself, -|q-v|^2/2, a sum of squared differences. Bounds have
// the product form q.v - |v|^2/2, with q and v relative to the collection's centre, which is
// |q|^2/2 more; looks.Conversion converts. All are multiplied by 2^-Exp.

// ScoreArms scores arms exactly and adds them to the answers. Scoring several together
// prefetches their rows.
func (s *Query) ScoreArms(w *threads.Scratch, arms []topk.Arm) {
	w.IDs, w.Scores = topk.Grow(w.IDs, len(arms)), topk.Grow(w.Scores, len(arms))
	for k, a := range arms {
		w.IDs[k] = s.C.Order[a.ID]
	}
	s.scoreRows(w.Scores, w.IDs, false)
}

// ScoreAtoms scores atoms exactly and adds them to the answers.
func (s *Query) ScoreAtoms(w *threads.Scratch, atoms []uint32) {
	w.IDs, w.Scores = topk.Grow(w.IDs, len(atoms)), topk.Grow(w.Scores, len(atoms))
	for k, i := range atoms {
		w.IDs[k] = s.C.Order[i]
	}
	s.scoreRows(w.Scores, w.IDs, false)
}

// scoreRows scores rows, by number, exactly and adds them to the answers; scores is memory for
// their scores. near says that most of the rows are in a cache.
func (s *Query) scoreRows(scores []float64, rows []uint32, near bool) {
	s.ComputeScores(scores, rows, near)
	for k, row := range rows {
		s.addScored(topk.Scored{Score: scores[k], Row: row})
	}
}

// ComputeScores writes the exact scores of rows, by number, to scores, and counts them. Helpers may do parts of them.
func (s *Query) ComputeScores(scores []float64, rows []uint32, near bool) {
	if s.Team.Shares(len(rows), minShared) {
		s.Team.ShareOut(len(rows), func(_ *threads.Scratch, lo, hi int) { s.SearchScoresOf(scores[lo:hi], rows[lo:hi], near) })
	} else {
		s.SearchScoresOf(scores, rows, near)
	}
	s.CountRows(len(rows))
}

// TakeScored counts a row that was scored for the query as read, and adds it to the answers.
func (s *Query) TakeScored(x topk.Scored) {
	s.CountRows(1)
	s.addScored(x)
}

// AddFound adds scored rows to the answers, except for those that are among them already.
func (s *Query) AddFound(list []topk.Scored) {
	if len(list) == 0 {
		return
	}
	have := make(map[uint32]bool, len(s.Best.All()))
	for _, a := range s.Best.All() {
		have[a.Row] = true
	}
	for _, a := range list {
		if !have[a.Row] {
			have[a.Row] = true
			s.addScored(a)
		}
	}
}

// ScoreCap returns an upper bound, by the norms, of the scores of all atoms.
func (s *Query) ScoreCap() float64 {
	if s.C.Metric.Differences() {
		// Lead is |q|^2/2, scaled.
		return looks.CapAll(s.C, math.Sqrt(math.Ldexp(2*s.Conversion.Lead, -s.Exp)))
	}
	var norm float64
	for _, v := range s.Q {
		norm += v * v
	}
	return looks.CapAll(s.C, s.Unit*math.Sqrt(norm))
}

// scoreCapOfGiven bounds the scores of the given candidates that are not scored yet; -Inf if none
// are left.
func (s *Query) scoreCapOfGiven() (left int, most float64) {
	if left = s.GivenLeft(); left == 0 {
		return 0, math.Inf(-1)
	}
	return left, s.ScoreCap()
}

// Raises reports whether the lower bound of an arm that has this upper bound can raise the threshold.
func (s *Query) Raises(lower, upper float64) bool {
	return s.Goal.K > 0 && s.Lower.Takes(lower) && s.certainlyReachesFloor(lower) && s.CertainlyBelow(upper)
}

// RaiseToLower raises tau to the k-th greatest lower bound, if there are k: without epsilon, which
// would drop the k arms of these bounds before they are scored.
func (s *Query) RaiseToLower() {
	if s.Goal.K > 0 && s.Lower.Full() {
		s.Tau = max(s.Tau, s.Conversion.LowerThreshold(s.Lower.Min()))
	}
}

// minShared is the least number of rows to score together that are divided into pieces.
const minShared = 48

// SearchScores writes the search scores of rows, by number, to out.
func (s *Query) SearchScores(out []float64, rows []uint32) { s.SearchScoresOf(out, rows, false) }

// SearchScoresOf is SearchScores; near says that most of the rows are in a cache.
func (s *Query) SearchScoresOf(out []float64, rows []uint32, near bool) {
	s.C.Sums(s.Kern, out, rows, s.scored, near)
	s.C.ScoresOf(out[:len(rows)], rows, s.scoredSquares, s.ToScore)
}

// SearchScore returns the search score of a row, by number.
func (s *Query) SearchScore(row uint32) float64 {
	var sum [1]float64
	s.C.Sums(s.Kern, sum[:], []uint32{row}, s.scored, true)
	return s.ScoreOfSum(row, sum[0])
}

// ScoreOfSum returns the search score of a row from x, its product with what is scored or squared distance
// from it.
func (s *Query) ScoreOfSum(row uint32, x float64) float64 {
	return s.C.ScoreOf(int(row), x, s.scoredSquares) * s.ToScore
}

// certainlyReachesFloor reports whether an atom of this lower bound must reach the floor.
func (s *Query) certainlyReachesFloor(lower float64) bool {
	return s.Conversion.LowerThreshold(lower)-s.Conversion.Lead >= s.Floor
}

// addScored adds a scored row to the answers if it is within floor and ceiling, and raises tau.
func (s *Query) addScored(x topk.Scored) {
	if !s.AnswersWith(x.Score) {
		return
	}
	s.Best.Push(x)
	s.RaiseToBest()
}

// RaiseToBest raises tau to the k-th best score plus epsilon, if there are k scores.
func (s *Query) RaiseToBest() {
	if s.Best.Full() {
		s.Tau = max(s.Tau, s.Conversion.Threshold(s.Best.Worst().Score)+s.epsilon)
	}
}

// RaiseFloor raises the floor to a search score, unless it is higher already, and the threshold to at least the floor.
func (s *Query) RaiseFloor(score float64) {
	s.Floor = max(s.Floor, math.Ldexp(score, -s.Exp))
	s.Tau = max(s.Tau, s.Conversion.Threshold(s.Floor))
}

// RaiseTo raises tau to a bound that k arms reach, plus epsilon.
func (s *Query) RaiseTo(bound float64) { s.Tau = max(s.Tau, bound+s.epsilon) }

// MayRise reports whether scores of so many arms, all that are listed, can raise the threshold. If
// there is a floor and there are no more than k atoms above it, they cannot, and later looks drop
// some of the arms for less.
func (s *Query) MayRise(arms int) bool {
	return s.Goal.K > 0 && (math.IsInf(s.Tau, -1) || s.Best.Len()+len(s.Finalists)+arms > s.Goal.K)
}

// threshold returns tau as a search score. If the k-th best score determines it, it is
// computed from that score, without the rounding of conversions.
func (s *Query) threshold() float64 {
	t := max(s.Tau-s.Conversion.Lead, s.Floor)
	if s.Best.Full() {
		t = max(t, s.Best.Worst().Score+s.epsilon)
	}
	return t
}

// ScoreAtom scores atom i exactly and adds it to the answers.
func (s *Query) ScoreAtom(i int) {
	row := s.C.Order[i]
	s.CountRows(1)
	s.addScored(topk.Scored{Score: s.SearchScore(row), Row: row})
}

// ScoreCapFrom returns an upper bound, by the norms, of the scores of all atoms from
// panel p on that the goal's From allows. The collection must be coded.
func (s *Query) ScoreCapFrom(p int) float64 {
	return looks.CapFrom(s.C, s.Prep.Norm, s.PerUnit, max(p, s.Goal.From/PanelAtoms))
}

// ScoreCounted scores atom i, all of whose coordinates are counted as read, exactly and adds it to the answers.
func (s *Query) ScoreCounted(i int) {
	row := s.C.Order[i]
	s.RowsRead++
	s.addScored(topk.Scored{Score: s.SearchScore(row), Row: row})
}
