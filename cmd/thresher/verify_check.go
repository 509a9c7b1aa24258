package main

import (
	"fmt"
	"math"
	"slices"

	"thresher/batch"
	"thresher/collection"
)

// claim is what an answer promises, from its certificate or from flags.
type claim struct {
	guarantee batch.Guarantee
	law       batch.Law // "" if unknown
	delta     float64
	epsilon   float64
	// exact: no arm was dropped by a bound that can fail.
	exact bool
	// partial: the search was stopped early; open is then the largest bound
	// of an arm never resolved, +Inf if it is not known.
	partial bool
	open    float64
}

// sure says that not even one wrong answer is excused.
func (c claim) sure() bool {
	return c.exact || c.guarantee == batch.GuaranteeExact || c.guarantee == batch.GuaranteeCertain
}

// given is one answer to check.
type given struct {
	query  int64
	ids    []int64
	scores []float32 // nil if the file has none
	claim  claim
}

// finding is what the check of one answer came to.
type finding struct {
	query int64
	claim claim
	// malformed says what no guarantee excuses: a wrong length, an id out of
	// range or twice, a score that is not the atom's.
	malformed string
	short     bool // malformed because atoms are lacking
	// wrong: an atom is missing that the promise covers.
	wrong  bool
	missed []int64 // the missing atoms, best first
	gap    float64 // by how much the best of them beats the worst returned
	// wanted is how many atoms the promise covered: with a least score each
	// is a promise of its own.
	wanted int
}

// check compares answers with an oracle.
type check struct {
	oracle *oracle
	k      int
	// selves says that query j is atom j and must not be returned.
	selves bool
	// minScore, if not nil, is the least score asked for (Euclidean: greatest).
	minScore *float64
}

// one checks the answer g to query q. buf is reused memory for the ranking,
// which is returned for the next call.
func (c *check) one(g given, q []float32, s scored, buf []int) (finding, []int) {
	f := finding{query: g.query, claim: g.claim}
	self := int64(-1)
	if c.selves {
		self = g.query
	}
	if f.malformed = c.form(g, q, s, self); f.malformed != "" {
		return f, buf
	}

	k := c.k
	if k == 0 {
		k = c.oracle.n
	}
	buf = ranking(s.search, k, self, buf)
	want := c.reaching(buf, q, s)
	f.wanted = len(want)
	if g.claim.partial {
		c.partial(&f, g, s, want)
		return f, buf
	}
	if c.minScore == nil && len(g.ids) != len(want) {
		f.malformed = fmt.Sprintf("%d atoms where %d were asked for", len(g.ids), len(want))
		f.short = len(g.ids) < len(want)
		return f, buf
	}
	c.compare(&f, g, s, want)
	return f, buf
}

// form finds what is wrong with an answer whatever the others score.
func (c *check) form(g given, q []float32, s scored, self int64) string {
	if g.scores != nil && len(g.scores) != len(g.ids) {
		return fmt.Sprintf("%d scores for %d ids", len(g.scores), len(g.ids))
	}
	if c.k > 0 && len(g.ids) > c.k {
		return fmt.Sprintf("%d atoms where %d were asked for", len(g.ids), c.k)
	}
	seen := make(map[int64]bool, len(g.ids))
	for at, id := range g.ids {
		if id < 0 || id >= int64(c.oracle.n) {
			return fmt.Sprintf("atom %d at rank %d is outside [0, %d)", id, at+1, c.oracle.n)
		}
		if seen[id] {
			return fmt.Sprintf("atom %d at rank %d is there twice", id, at+1)
		}
		seen[id] = true
		if id == self {
			return fmt.Sprintf("atom %d at rank %d is the query itself", id, at+1)
		}
		score, off := c.oracle.reported(q, s, int(id))
		if g.scores != nil && !(math.Abs(float64(g.scores[at])-score) <= off) {
			return fmt.Sprintf("atom %d at rank %d scores %.9g, not %.9g", id, at+1, score, g.scores[at])
		}
		if c.minScore != nil && !c.reaches(score, off) {
			return fmt.Sprintf("atom %d at rank %d scores %.9g, beyond the limit of %g", id, at+1, score, *c.minScore)
		}
		if at > 0 && g.scores != nil && c.before(g, at) {
			return fmt.Sprintf("rank %d scores better than rank %d", at+1, at)
		}
	}
	return ""
}

// before says that rank at should stand before the one above it.
func (c *check) before(g given, at int) bool {
	if c.oracle.metric == collection.Euclidean {
		return g.scores[at] < g.scores[at-1]
	}
	return g.scores[at] > g.scores[at-1]
}

// reaches says that a score meets the limit, give or take off.
func (c *check) reaches(score, off float64) bool {
	if c.oracle.metric == collection.Euclidean {
		return score <= *c.minScore+off
	}
	return score >= *c.minScore-off
}

// reaching cuts a ranking to the atoms that clearly meet the least score.
func (c *check) reaching(best []int, q []float32, s scored) []int {
	if c.minScore == nil {
		return best
	}
	end := 0
	for end < len(best) {
		score, off := c.oracle.reported(q, s, best[end])
		if !c.reaches(score, -off) {
			break
		}
		end++
	}
	return best[:end]
}

// compare applies the definition of failure: some returned atom's score is
// below T_(k) - epsilon - margin; with a least score, an atom that reaches it
// is not there.
func (c *check) compare(f *finding, g given, s scored, want []int) {
	if len(want) == 0 {
		return
	}
	if c.minScore != nil && len(want) != c.k {
		f.missed, f.gap = missing(g, s, want)
		f.wrong = len(f.missed) > 0
		return
	}
	last := want[len(want)-1]
	floor := s.search[last] - g.claim.epsilon
	for _, id := range g.ids {
		if s.search[id] < floor-c.oracle.margin(s.norm, int(id), last) {
			f.wrong = true
		}
	}
	if len(g.ids) < len(want) {
		f.wrong = true
	}
	if f.wrong {
		f.missed, f.gap = missing(g, s, want)
	}
}

// partial holds an answer stopped early to its open bound: what was not
// resolved scores no more.
func (c *check) partial(f *finding, g given, s scored, want []int) {
	worst := math.Inf(-1)
	if len(g.ids) == len(want) && len(g.ids) > 0 {
		worst = s.search[g.ids[len(g.ids)-1]] + g.claim.epsilon
	}
	limit := max(worst, g.claim.open)
	for _, i := range want {
		if slices.Contains(g.ids, int64(i)) || s.search[i] <= limit+c.oracle.margin(s.norm, i, i) {
			continue
		}
		f.wrong = true
		f.missed = append(f.missed, int64(i))
		f.gap = max(f.gap, s.search[i]-limit)
	}
}

// missing lists the wanted atoms that are not there, best first, and how far
// the first of them is above the worst that is.
func missing(g given, s scored, want []int) (ids []int64, gap float64) {
	there := make(map[int64]bool, len(g.ids))
	worst := math.Inf(1)
	for _, id := range g.ids {
		there[id] = true
		worst = min(worst, s.search[id])
	}
	for _, i := range want {
		if !there[int64(i)] {
			ids = append(ids, int64(i))
		}
	}
	if len(ids) > 0 && len(g.ids) > 0 {
		gap = s.search[ids[0]] - worst
	}
	return ids, gap
}
