package verify

// Readings finds out of which atoms an answer speaks whose integers can be read in two ways, by the
// scores that it states. It is not safe for concurrent use.
type Readings struct {
	oracle *Oracle
	stated int
	fits   [2][64]int // by reading and scale: the scores that are the atoms'
}

// NewReadings returns a comparison by the scores of o, which may be lazy.
func NewReadings(o *Oracle) *Readings { return &Readings{oracle: o} }

// enoughReadings is how many scores tell; more would only take longer.
const enoughReadings = 1000

// Add adds an answer to the query q: the rows of its atoms by either reading, and the score stated for
// each. Atoms that are the same by both do not count. It reports whether more answers are needed.
func (r *Readings) Add(q []float64, first, second []int64, stated []float32) (more bool) {
	s := r.oracle.pairs64(q)
	for at, score := range stated {
		if first[at] == second[at] {
			continue
		}
		r.stated++
		for i, row := range []int64{first[at], second[at]} {
			p := s.pair(row)
			found := p.scalesOf(r.oracle.metric, r.oracle.dim, float64(score))
			for x := range r.fits[i] {
				if found.has(scale(x)) {
					r.fits[i][x]++
				}
			}
		}
	}
	return r.stated < enoughReadings
}

// Decide returns 0 or 1, the reading by which the scores are those of the atoms on some scale, where by
// the other one they are not; -1 if that is neither or both.
func (r *Readings) Decide() int {
	for i := range r.fits {
		if r.explained(i, .9) && !r.explained(1-i, .5) {
			return i
		}
	}
	return -1
}

// explained reports whether by a reading one scale explains at least this share of the scores, of which
// there are some.
func (r *Readings) explained(reading int, share float64) bool {
	for _, n := range r.fits[reading] {
		if r.stated > 0 && float64(n) >= share*float64(r.stated) {
			return true
		}
	}
	return false
}
