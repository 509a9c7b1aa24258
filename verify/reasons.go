package verify

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Reasons finds out why answers lack vectors that belong to the k best: it looks for what, granted, would make
// them right. It keeps some of the answers that lack vectors, and of those that lack none, to contradict.
// It is not safe for concurrent use.
type Reasons struct {
	oracle *Oracle
	origin []float64 // that the rows and queries are relative to; nil for none

	lacking, complete []*specimen
	answers           int64              // of all, that lack vectors
	holders           map[int64][]*claim // of the answers kept that lack vectors, by the rows of the first vectors
	absent            absence
}

// specimen is an answer that is kept.
type specimen struct {
	*Specimen
	lacks int
	floor float64 // search score of the last of the best
	pairs pairScores
	claim claim
}

// Specimen is an answer with what was found of it. Its slices are not changed later, but for those in Missed.
type Specimen struct {
	Query int64     // its number
	Q     []float64 // its vector, in the type in which the rows are kept, widened
	Best  []int64   // the k best vectors, best first
	IDs   []int64   // those of the answer, at most as many; some may be no row
	// Missed are those of Best that it lacks, where vectors of equal score stand for each other.
	Missed []int64
	// Scores are what the answer states, one an id, or nil.
	Scores []float32
	// May reports whether the query may have a row; nil: all.
	May func(int64) bool
	// Bounded says that the query has a least or greatest score, which other metrics do not have.
	Bounded bool
}

const (
	// maxLacking and maxComplete bound the answers kept.
	maxLacking, maxComplete = 32, 16
	// comparedRows is how many vectors of an answer are compared with those of others.
	comparedRows = 64
)

// NewReasons returns reasons for answers with the scores of o, whose rows and queries are relative to origin; those of
// float64 to none.
func NewReasons(o *Oracle, origin []float64) *Reasons {
	return &Reasons{oracle: o, origin: origin, holders: map[int64][]*claim{}, absent: absence{missed: map[int64]bool{}, highest: -1}}
}

// Keeps reports whether Add keeps an answer, so that it needs May: one that lacks vectors, or one that does not.
func (r *Reasons) Keeps(lacks bool) bool {
	if lacks {
		return len(r.lacking) < maxLacking
	}
	return len(r.complete) < maxComplete
}

// Add adds an answer to a query.
func (r *Reasons) Add(s *Specimen) {
	r.absent.add(s)
	r.match(s)
	lacks := len(s.Missed)
	if lacks > 0 {
		r.answers++
	}
	if len(s.Best) == 0 || !r.Keeps(lacks > 0) {
		return
	}
	own := *s
	own.Q, own.Missed = slices.Clone(s.Q), slices.Clone(s.Missed)
	own.Best, own.IDs = slices.Clone(s.Best), slices.Clone(s.IDs)
	own.Scores = slices.Clone(s.Scores)
	e := &specimen{Specimen: &own, lacks: lacks, pairs: r.oracle.pairs64(own.Q)}
	e.floor = e.pairs.search(own.Best[len(own.Best)-1])
	if lacks == 0 {
		r.complete = append(r.complete, e)
		return
	}
	r.lacking = append(r.lacking, e)
	r.hold(e)
}

// Reason is what, granted, makes most of the answers right that lack vectors.
type Reason struct {
	Kind string `json:"kind"` // one of the Because constants
	// Queries is how many of the answers examined, Of, that lack vectors, lack no more than a tenth as many with
	// this granted: more than by chance, see decided.
	Queries int64 `json:"queries"`
	Of      int64 `json:"of"`
	// Recall is the mean over them of the share of their best vectors that they have, with this granted.
	Recall float64 `json:"recall"`
	Text   string  `json:"text"` // all of this in words
}

// ReasonTexts says reasons in words, a line each; none if no answer lacks vectors.
func ReasonTexts(reasons []Reason) (lines []string) {
	if reasons != nil && len(reasons) == 0 {
		return []string{"not known: none of the usual reasons explains what answers lack"}
	}
	for _, one := range reasons {
		lines = append(lines, one.Text)
	}
	return lines
}

// The kinds of reasons.
const (
	BecauseShifted  = "shifted"  // each id is off by the same number
	BecauseOrder    = "order"    // answers are those of other queries
	BecauseMetric   = "metric"   // the answers are the best by another metric
	BecauseReversed = "reversed" // they are the worst
	BecauseRounded  = "rounded"  // they are the best of vectors rounded to fewer bits
	BecauseTies     = "ties"     // what they lack ties with what they have, within rounding
	BecauseFilter   = "filter"   // they are the best of all vectors, also of those that queries may not have
	BecauseAbsent   = "absent"   // the other program lacks vectors, or does not find them
)

// maxExamined bounds the coordinates that Find reads to compare the answers with all vectors.
const maxExamined = 1 << 32

// Find returns the reasons, those that explain most first. It is empty, not nil, if none is known, and nil if
// no answer lacks vectors. form is what the stated scores are, nil for none. turn, unless it is nil, is called
// before steps that read so many coordinates; its error ends Find.
func (r *Reasons) Find(ctx context.Context, stated *StatedScores, turn func(coordinates int) error) ([]Reason, error) {
	if r.answers == 0 {
		return nil, nil
	}
	found := []Reason{}
	add := func(one *Reason) {
		if one != nil {
			found = append(found, *one)
		}
	}
	add(r.Shifted())
	add(r.permuted())
	add(r.tied(stated))
	scanned, err := r.scan(ctx, turn)
	if err != nil {
		return nil, err
	}
	found = append(found, scanned...)
	add(r.lacked())
	slices.SortStableFunc(found, func(a, b Reason) int { return int(b.Queries - a.Queries) })
	return found, nil
}

// verdict counts what answers lack with something granted.
type verdict struct {
	lacks     []int   // vectors, of each answer that lacks some without it
	explained int     // of these answers
	recall    float64 // sum of theirs
	complete  int     // answers that lack nothing without it
	agree     int     // and with it
	against   int     // of the complete, those that lack more than a tenth with it
}

// add adds an answer that lacks some of wanted vectors, and left with the reason granted.
func (v *verdict) add(lacks, left, wanted int) {
	if lacks == 0 {
		v.complete++
		switch {
		case left == 0:
			v.agree++
		case 10*left > wanted:
			v.against++
		}
		return
	}
	v.lacks = append(v.lacks, lacks)
	v.recall += 1 - float64(left)/float64(wanted)
	if 10*left <= lacks {
		v.explained++
	}
}

// decided reports whether the reason explains half of the answers that lack vectors and holds for three quarters of
// the complete ones, and this is not by chance at a level of .001. Without a reason, what it grants changes the best vectors of a query with some probability c, whether or not
// the answer lacks some; only then can it explain the answer, and that for each vector that this lacks with
// probability 1/2 at most (the vector or the one returned in its place is the better), of which five are taken to be independent.
// Whatever c is, so many answers that are explained beside complete ones that agree must be unlikely.
func (v *verdict) decided() bool {
	if 2*v.explained < len(v.lacks) || v.explained == 0 || 4*v.against > v.complete {
		return false
	}
	const steps = 32
	chances, agreeing := make([]float64, len(v.lacks)), make([]float64, v.complete)
	for step := 1; step <= steps; step++ {
		c := float64(step) / steps
		for i, n := range v.lacks {
			chances[i] = min(c, math.Ldexp(1, -min(n, 5)))
		}
		for i := range agreeing {
			agreeing[i] = 1 - c
		}
		if tail(chances, v.explained)*tail(agreeing, v.agree) > .001 {
			return false
		}
	}
	return true
}

// tail is the probability of at least so many successes among independent trials of these chances.
func tail(chances []float64, least int) float64 {
	p := make([]float64, len(chances)+1) // of each number
	p[0] = 1
	for n, chance := range chances {
		for i := n + 1; i > 0; i-- {
			p[i] = p[i]*(1-chance) + p[i-1]*chance
		}
		p[0] *= 1 - chance
	}
	sum := 0.0
	for _, x := range p[least:] {
		sum += x
	}
	return sum
}

// reason is nil unless the verdict is decided.
func (v *verdict) reason(kind, text string) *Reason {
	if !v.decided() {
		return nil
	}
	return v.stated(kind, text)
}

// stated is a reason with its evidence.
func (v *verdict) stated(kind, text string) *Reason {
	of := len(v.lacks)
	r := &Reason{Kind: kind, Queries: int64(v.explained), Of: int64(of), Recall: v.recall / float64(of)}
	r.Text = fmt.Sprintf("%s (explains %d of %d answers examined that lack vectors; granted that, their recall is %.4f)", text, r.Queries, r.Of, r.Recall)
	return r
}

// each calls visit with all answers that are kept.
func (r *Reasons) each(visit func(*specimen)) {
	for _, list := range [][]*specimen{r.lacking, r.complete} {
		for _, e := range list {
			visit(e)
		}
	}
}

// left returns how many of the best an answer lacks that has these rows, ties within the margin of float64
// sums and slack forgiven.
func (e *specimen) left(rows []int64, slack func(row int64) float64) int {
	last := e.Best[len(e.Best)-1]
	hits, seen := 0, map[int64]bool{}
	for _, row := range rows {
		if row < 0 || row >= int64(e.pairs.oracle.n) || seen[row] || e.May != nil && !e.May(row) {
			continue
		}
		seen[row] = true
		score := e.pairs.search(row)
		room := e.pairs.margin(row, last, score, e.floor)
		if slack != nil {
			room = max(room, slack(row))
		}
		if score >= e.floor-room {
			hits++
		}
	}
	return len(e.Best) - min(hits, len(e.Best))
}

// tied grants that vectors tie within the rounding of float32 sums or, if scores are stated, of the precision of
// their scale.
func (r *Reasons) tied(stated *StatedScores) *Reason {
	reason := r.tiedWithin(nil, "within the rounding of float32")
	if reason != nil || stated == nil || stated.Stated == 0 {
		return reason
	}
	best, _, ok := stated.scale(r.oracle.metric)
	if !ok || best.precision() == single {
		return nil
	}
	return r.tiedWithin(&best, "in scores as they are stated, "+best.String())
}

// tiedWithin grants ties in scores on a scale, nil for those within the rounding of float32 sums. Complete answers do
// not count: they stay so.
func (r *Reasons) tiedWithin(s *scale, where string) *Reason {
	var v verdict
	for _, e := range r.lacking {
		last := e.pairs.pair(e.Best[len(e.Best)-1])
		sum, _ := last.sumOf(r.oracle.metric, r.oracle.dim)
		v.add(e.lacks, e.left(e.IDs, func(row int64) float64 {
			p := e.pairs.pair(row)
			own, off := p.sumOf(r.oracle.metric, r.oracle.dim)
			switch {
			case s == nil:
				return r.oracle.searchUnits(2 * off)
			case s.same(own, sum, off):
				return math.Inf(1)
			}
			return 0
		}), len(e.Best))
	}
	return v.reason(BecauseTies, "what they lack ties with what they have "+where)
}

// same reports whether two sums of a metric may make the same score on a scale.
func (s scale) same(a, b, off float64) bool {
	f := knownForms[s.form()].of
	x, y := f(a), f(b)
	room := 2 * halfStep(max(x, -x, y, -y))
	if s.precision() == digits {
		room = max(1e-4, fourth(x), fourth(y))
	}
	return max(x-y, y-x) <= room+max(f(a+off)-x, x-f(a+off))
}
