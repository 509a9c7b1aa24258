package verify

// Readings finds out of which atoms an answer speaks whose integers can be read in two ways, by the
// scores that it states. It is not safe for concurrent use.
type Readings struct {
	oracle *Oracle
	of     [2]StatedScores
}

// NewReadings returns a comparison by the scores of o, which may be lazy.
func NewReadings(o *Oracle) *Readings { return &Readings{oracle: o} }

// enoughReadings is how many scores tell; more would only take longer.
const enoughReadings = 1000

// Add adds an answer to the query q: the rows of its atoms by either reading, and the score stated for
// each. Atoms that are the same by both do not count. It reports whether more answers are needed.
func (r *Readings) Add(q []float32, first, second []int64, stated []float32) (more bool) {
	s := r.oracle.pairs(q)
	for at, score := range stated {
		if first[at] == second[at] {
			continue
		}
		for i, row := range []int64{first[at], second[at]} {
			r.of[i].add(0, row, &s, float64(score))
		}
	}
	return r.of[0].Stated < enoughReadings
}

// Decide returns 0 or 1, the reading by which the scores are those of the atoms in some form, where by
// the other one they are not; -1 if that is neither or both.
func (r *Readings) Decide() int {
	for i := range r.of {
		if r.of[i].explained(.9) && !r.of[1-i].explained(.5) {
			return i
		}
	}
	return -1
}

// explained reports whether one form explains at least this share of the scores, of which there are some.
func (c *StatedScores) explained(share float64) bool {
	for i := range knownForms {
		if c.Stated > 0 && float64(c.Stated-c.Wrong[i].Count) >= share*float64(c.Stated) {
			return true
		}
	}
	return false
}
