package verify

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"thresher/batch"
)

// Finding is the result of checking one answer.
type Finding struct {
	// Malformed, if not "", is a defect that no guarantee permits: a wrong length, an atom that
	// does not exist, is not allowed or occurs twice, a score that is not the atom's, a wrong
	// order. The other fields are then not computed.
	Malformed string
	Short     bool // malformed because there are too few atoms
	// Missed are the rows of the atoms that the guarantee covers and the answer lacks, best
	// first. The answer is wrong if there are any.
	Missed []int64
	// Gap is by how much the best of them exceeds the worst atom returned or, if the search was
	// stopped, what its certificate permits; in units of Scores.Search.
	Gap float64
	// Exceeds, if not "", is what the certificate grants beyond the Bar of the check. The answer is
	// then wrong, whatever its atoms are.
	Exceeds string
	// Trials is the number of promises the answer made, Failures the number it broke: one for
	// the whole answer or, with a least score, one for each atom that clearly reaches it.
	Trials, Failures int

	scales scales // that explain all scores of an answer of another program
	stated bool   // it states some
}

// Wrong reports whether the answer breaks its promise, or makes too small a one.
func (f *Finding) Wrong() bool { return len(f.Missed) > 0 || f.Exceeds != "" }

// Check compares answers to one request with an Oracle. It is safe for concurrent use.
type Check struct {
	oracle *Oracle
	k      int // 0: all that reach minScore
	// minScore, if not nil, is the least score asked for (Euclidean: the greatest).
	minScore *float64
	// maxScore, if not nil, is the greatest score asked for (Euclidean: the least).
	maxScore  *float64
	allowed   []bool  // by row number; nil: all
	exclude   []int64 // rows that no query may have
	selves    bool    // query j is atom selfFirst+j and must not be returned
	selfFirst int64
	selfRows  []int64           // if not nil, query j is atom selfRows[j] instead
	goals     []batch.QueryGoal // what each query asks for beside; nil: nothing
	bar       Bar
	others    *Others // not nil: of another program
}

// NewCheck returns the check of answers to req by o. It uses K, MinScore, MaxScore, Filter, Exclude,
// ExcludeSelf, SelfFirst, Selves and Goals of req; a K beyond the number of allowed atoms is reduced to it.
// It refuses LaterOnly, because an Oracle does not know the internal order. Errors are
// *batch.RequestError.
func NewCheck(o *Oracle, req batch.Request) (*Check, error) {
	if req.K < 0 || req.K == 0 && req.MinScore == nil && req.Goals == nil {
		return nil, &batch.RequestError{Field: "k", Query: -1, Err: fmt.Errorf("%d, at least 1", req.K)}
	}
	if req.LaterOnly {
		return nil, &batch.RequestError{Field: "later_only", Query: -1, Err: errors.New("answers of such a search cannot be checked")}
	}
	c := &Check{oracle: o, k: cmp.Or(req.K, req.Limit), minScore: req.MinScore, maxScore: req.MaxScore, selves: req.ExcludeSelf, selfFirst: req.SelfFirst, selfRows: req.Selves, goals: req.Goals, exclude: req.Exclude}
	if err := c.checkRows(-1, req.Filter, req.Exclude); err != nil {
		return nil, err
	}
	for j := range req.Goals {
		if err := c.checkRows(j, req.Goals[j].Filter, req.Goals[j].Exclude); err != nil {
			return nil, err
		}
	}
	if req.Filter == nil && len(req.Exclude) == 0 {
		return c, nil
	}
	c.allowed = make([]bool, o.n)
	for i := range c.allowed {
		c.allowed[i] = req.Filter == nil
	}
	for _, row := range req.Filter {
		c.allowed[row] = true
	}
	for _, row := range req.Exclude {
		c.allowed[row] = false
	}
	return c, nil
}

// checkRows returns a *batch.RequestError for a row that is not there, in the lists of a query or, -1, of all.
func (c *Check) checkRows(query int, filter, exclude []int64) error {
	for _, list := range []struct {
		field string
		rows  []int64
	}{{"filter", filter}, {"exclude", exclude}} {
		for at, row := range list.rows {
			if row < 0 || row >= int64(c.oracle.n) {
				return &batch.RequestError{Field: list.field, Query: query, Err: fmt.Errorf("entry %d: row %d of %d", at, row, c.oracle.n)}
			}
		}
	}
	return nil
}

// forQuery returns the check of one query, by its goal.
func (c *Check) forQuery(query int64) *Check {
	if c.goals == nil {
		return c
	}
	g, own := c.goals[query], *c
	if g.K != 0 {
		own.k = g.K
	}
	if g.MinScore != nil {
		own.minScore = g.MinScore
	}
	if g.MaxScore != nil {
		own.maxScore = g.MaxScore
	}
	if len(g.Exclude) == 0 && g.Filter == nil {
		return &own
	}
	own.allowed = make([]bool, c.oracle.n)
	for i := range own.allowed {
		own.allowed[i] = g.Filter == nil && (c.allowed == nil || c.allowed[i])
	}
	for _, row := range g.Filter {
		own.allowed[row] = true
	}
	for _, rows := range [][]int64{c.exclude, g.Exclude} {
		for _, row := range rows {
			own.allowed[row] = false
		}
	}
	return &own
}

// CheckCertificate returns an error if guarantee, law, delta or epsilon of a certificate are
// impossible.
func CheckCertificate(c *batch.Certificate) error {
	if !slices.Contains(batch.Guarantees(), c.Guarantee) {
		return fmt.Errorf("guarantee %q is none of %v", c.Guarantee, batch.Guarantees())
	}
	if c.Guarantee == batch.GuaranteeBound && !partial(c) {
		return fmt.Errorf("guarantee %s, that of stopped answers, and stopped_by %q", c.Guarantee, c.StoppedBy)
	}
	// Older files name no law.
	if c.Law != "" && !slices.Contains(batch.Laws(), c.Law) {
		return fmt.Errorf("law %q is none of %v", c.Law, batch.Laws())
	}
	if !(c.Delta >= 0 && c.Delta < 1) || !(c.Epsilon >= 0) {
		return fmt.Errorf("delta %g or epsilon %g is out of range", c.Delta, c.Epsilon)
	}
	if c.Delta > 0 && (c.Guarantee == batch.GuaranteeExact || c.Guarantee == batch.GuaranteeCertain) {
		return fmt.Errorf("guarantee %s, which cannot fail, and delta %g", c.Guarantee, c.Delta)
	}
	return nil
}

// sure reports whether no wrong answer at all is permitted.
func sure(c *batch.Certificate) bool {
	return c.Exact || c.Guarantee == batch.GuaranteeExact || c.Guarantee == batch.GuaranteeCertain || c.Guarantee == batch.GuaranteeBound && c.Delta == 0
}

// partial reports whether the search was stopped early.
func partial(c *batch.Certificate) bool { return c.StoppedBy != "" && c.StoppedBy != batch.Done }

// Answer checks the answer a to query number query, from 0, of the request. s must come from
// the check's oracle and be that query's. Of the certificate it uses Epsilon, StoppedBy (""
// is Done), where s has scores of values that float32 does not hold VectorsChange and QueryChange, and OpenBound, without which a partial answer is malformed. A nil Scores of a is not
// checked, nor are nil SearchScores.
func (c *Check) Answer(s *Scores, query int64, a *batch.Answer) Finding {
	self := int64(-1)
	if c.selves {
		self = c.selfFirst + query
		if c.selfRows != nil {
			self = c.selfRows[query]
		}
	}
	c = c.forQuery(query)
	if s.vectors, s.query = 0, 0; c.oracle.rests != nil || s.wide {
		s.vectors, s.query = a.Certificate.VectorsChange, a.Certificate.QueryChange
	}
	if what := c.form(s, a, self); what != "" {
		return Finding{Malformed: what}
	}
	stopped := partial(&a.Certificate)
	if stopped && a.Certificate.OpenBound == nil {
		return Finding{Malformed: "the search was stopped, and no open bound says what it promises"}
	}
	k := c.k
	if k == 0 {
		k = c.oracle.n
	}
	s.buf = ranking(s.Search, k, c.clearlyWanted(s), self, s.buf)
	want := c.reaching(s, s.buf)
	if c.minScore == nil && !stopped && len(a.IDs) < len(want) {
		return Finding{Malformed: fmt.Sprintf("%d vectors where %d were asked for", len(a.IDs), len(want)), Short: true}
	}

	f := Finding{Trials: 1, Exceeds: c.bar.exceeded(&a.Certificate)}
	if c.others != nil && a.Scores != nil {
		f.scales, f.stated = c.others.add(s, a)
	}
	if stopped {
		f.Missed, f.Gap = c.closed(s, a, want)
	} else {
		f.Missed, f.Gap = c.lacking(s, a, want)
	}
	switch {
	case c.minScore != nil:
		f.Trials, f.Failures = len(want), len(f.Missed)
	case len(f.Missed) > 0:
		f.Failures = 1
	}
	return f
}

// form returns the defect of an answer's form, independently of other atoms' scores.
func (c *Check) form(s *Scores, a *batch.Answer, self int64) string {
	if a.Scores != nil && len(a.Scores) != len(a.IDs) {
		return fmt.Sprintf("%d scores for %d ids", len(a.Scores), len(a.IDs))
	}
	if c.k > 0 && len(a.IDs) > c.k {
		return fmt.Sprintf("%d vectors where %d were asked for", len(a.IDs), c.k)
	}
	if a.SearchScores != nil && len(a.SearchScores) != len(a.IDs) {
		return fmt.Sprintf("%d float64 scores for %d ids", len(a.SearchScores), len(a.IDs))
	}
	compared := a.Scores != nil && c.others == nil
	seen := make(map[int64]bool, len(a.IDs))
	for at, id := range a.IDs {
		if id < 0 || id >= int64(c.oracle.n) {
			return fmt.Sprintf("vector %d at rank %d is outside [0, %d)", id, at+1, c.oracle.n)
		}
		if seen[id] {
			return fmt.Sprintf("vector %d at rank %d is there twice", id, at+1)
		}
		seen[id] = true
		if id == self {
			return fmt.Sprintf("vector %d at rank %d is the query itself", id, at+1)
		}
		if c.allowed != nil && !c.allowed[id] {
			return fmt.Sprintf("vector %d at rank %d is not allowed", id, at+1)
		}
		score, off := s.reported(int(id))
		if compared && !(math.Abs(float64(a.Scores[at])-score) <= off) {
			return fmt.Sprintf("vector %d at rank %d scores %.9g, not %.9g", id, at+1, score, a.Scores[at])
		}
		if what := c.unrounded(s, a, at); what != "" {
			return what
		}
		if a.Scores != nil && math.IsNaN(float64(a.Scores[at])) { // which is on no scale
			return fmt.Sprintf("vector %d at rank %d has the score NaN", id, at+1)
		}
		if c.minScore != nil && !c.within(a.Scores, at, score, off) {
			return fmt.Sprintf("vector %d at rank %d scores %.9g, beyond the limit of %g", id, at+1, score, *c.minScore)
		}
		if c.maxScore != nil && !c.beneath(a.Scores, at, score, off) {
			return fmt.Sprintf("vector %d at rank %d scores %.9g, better than the limit of %g", id, at+1, score, *c.maxScore)
		}
		if at > 0 && compared && c.before(a.Scores[at], a.Scores[at-1]) {
			return fmt.Sprintf("rank %d scores better than rank %d", at+1, at)
		}
	}
	return ""
}

// unrounded returns what is wrong with the float64 score that an answer states at a rank, from 0. Scores of other
// programs may be on another scale, and are not compared here.
func (c *Check) unrounded(s *Scores, a *batch.Answer, at int) string {
	if a.SearchScores == nil || c.others != nil {
		return ""
	}
	id := a.IDs[at]
	score, off := s.unrounded(int(id))
	if stated := a.SearchScores[at]; !(math.Abs(stated-score) <= off) {
		m := c.oracle.metric
		return fmt.Sprintf("vector %d at rank %d scores %.17g in float64, not %.17g", id, at+1, m.Shown(score), m.Shown(stated))
	}
	return ""
}

// clearlyWanted returns which rows may be returned and clearly score no better than maxScore. Those at
// maxScore within rounding may or may not be in an answer.
func (c *Check) clearlyWanted(s *Scores) []bool {
	if c.maxScore == nil {
		return c.allowed
	}
	wanted := make([]bool, c.oracle.n)
	for i := range wanted {
		score, off := s.reported(i)
		wanted[i] = (c.allowed == nil || c.allowed[i]) && c.stays(score, -off)
	}
	return wanted
}

// reaching truncates a ranking to the atoms that clearly reach the least score.
func (c *Check) reaching(s *Scores, best []int) []int {
	if c.minScore == nil {
		return best
	}
	end := 0
	for end < len(best) {
		score, off := s.reported(best[end])
		if !c.reaches(score, -off) {
			break
		}
		end++
	}
	return best[:end]
}
