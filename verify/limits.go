package verify

// A limit is compared with the score that an answer states, as both are in float32 and without a
// tolerance. Without stated scores the oracle's own are compared, which rounding can make differ
// from the search's by off.

// within reports whether the atom at rank at of an answer reaches the least score wanted. stated are
// the answer's scores or nil; score is the oracle's, with an error of at most off.
func (c *Check) within(stated []float32, at int, score, off float64) bool {
	if stated == nil {
		return c.reaches(score, off)
	}
	return !c.before(float32(*c.minScore), stated[at])
}

// beneath reports whether the atom at rank at of an answer scores no better than the greatest score
// wanted, by the same arguments as within.
func (c *Check) beneath(stated []float32, at int, score, off float64) bool {
	if stated == nil {
		return c.stays(score, off)
	}
	return !c.before(stated[at], float32(*c.maxScore))
}
