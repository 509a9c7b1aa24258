package verify

import (
	"fmt"
	"math"
	"strings"

	"thresher/batch"
)

// Tally counts the results of checks. It is not safe for concurrent use; the zero value is
// empty.
type Tally struct {
	// Wrong counts answers that lack an atom covered by their guarantee, or whose certificate
	// grants more than the Bar allows, Malformed those with a defect that no guarantee permits,
	// Unfinished those stopped early.
	Wrong      int64 `json:"wrong"`
	Malformed  int64 `json:"malformed"`
	Unfinished int64 `json:"unfinished"`
	// WrongSure counts the wrong answers with an exact or certain guarantee, or with a
	// certificate marked exact.
	WrongSure int64 `json:"wrong_sure"`
	// Exceeding counts those of the wrong answers whose certificate grants more than the Bar allows.
	Exceeding int64 `json:"exceeding"`
	// Criteria counts the answers by the criterion that they were checked by.
	Criteria map[Criterion]int64 `json:"criteria"`
	// Granted says what certificates grant.
	Granted Granted `json:"granted"`
	// Guarantees counts answers by guarantee.
	Guarantees map[batch.Guarantee]int64 `json:"guarantees"`
	// Laws counts probabilistic answers by law, if their certificates name it.
	Laws map[batch.Law]int64 `json:"laws,omitempty"`
	// Delta is the mean failure probability allowed, Trials the number of promises it applies to
	// (queries or, with a least score, the atoms that reach it), Failures the number broken, Rate
	// their share, and PValue the probability of so many or more if they were independent. Those
	// that share a rotation are not.
	Delta    float64 `json:"delta"`
	Trials   int64   `json:"trials"`
	Failures int64   `json:"failures"`
	Rate     float64 `json:"rate"`
	PValue   float64 `json:"p_value"`
	// Neighbourhoods counts groups of wrong answers that share a missed atom: queries that share
	// a rotation fail together.
	Neighbourhoods int     `json:"neighbourhoods"`
	WorstGap       float64 `json:"worst_gap"` // the greatest Finding.Gap
	// Rounded is the largest amount by which a coordinate of atoms or queries was changed when it was
	// rounded to float32, 0 if none was. Whoever has them sets it: what is verified are the rounded.
	Rounded float64 `json:"rounded,omitempty"`

	deltas float64
	groups atomGroups
}

// Granted is the most that certificates grant: gaps, in score units, and failure probabilities.
type Granted struct {
	Epsilon     float64 `json:"epsilon"`      // the greatest
	WithEpsilon int64   `json:"with_epsilon"` // answers that may have a gap
	Delta       float64 `json:"delta"`        // the greatest
	WithDelta   int64   `json:"with_delta"`   // answers that may fail with some probability
}

// String says it in words; "" if nothing is granted.
func (g *Granted) String() string {
	var said []string
	if g.WithEpsilon > 0 {
		said = append(said, fmt.Sprintf("epsilon up to %.4g (%d answers)", g.Epsilon, g.WithEpsilon))
	}
	if g.WithDelta > 0 {
		said = append(said, fmt.Sprintf("delta up to %.4g (%d answers)", g.Delta, g.WithDelta))
	}
	return strings.Join(said, ", ")
}

func (g *Granted) add(c *batch.Certificate) {
	if c.Epsilon > 0 {
		g.Epsilon = max(g.Epsilon, c.Epsilon)
		g.WithEpsilon++
	}
	if c.Delta > 0 && !sure(c) && c.Guarantee != batch.GuaranteeHeuristic {
		g.Delta = max(g.Delta, c.Delta)
		g.WithDelta++
	}
}

// Add counts the finding for an answer with the certificate c.
func (t *Tally) Add(c *batch.Certificate, f Finding) {
	if t.Guarantees == nil {
		t.Guarantees, t.Laws, t.Criteria = map[batch.Guarantee]int64{}, map[batch.Law]int64{}, map[Criterion]int64{}
	}
	t.Granted.add(c)
	t.Guarantees[c.Guarantee]++
	if c.Law != "" {
		t.Laws[c.Law]++
	}
	if partial(c) {
		t.Unfinished++
	}
	if f.Malformed != "" {
		t.Malformed++
		return
	}
	if (c.Guarantee == batch.GuaranteeProbabilistic || c.Guarantee == batch.GuaranteeBound) && !sure(c) {
		t.Trials += int64(f.Trials)
		t.Failures += int64(f.Failures)
		t.deltas += c.Delta * float64(f.Trials)
	}
	t.Criteria[CriterionOf(c)]++
	if f.Wrong() {
		t.Wrong++
	}
	if f.Exceeds != "" {
		t.Exceeding++
	}
	if len(f.Missed) == 0 {
		return
	}
	t.groups.join(f.Missed)
	t.WorstGap = max(t.WorstGap, f.Gap)
	if sure(c) {
		t.WrongSure++
	}
}

// CriteriaUsed says in words by which criteria the answers were checked.
func (t *Tally) CriteriaUsed() []string {
	var said []string
	for _, c := range []Criterion{CriterionMissing, CriterionThreshold} {
		if n := t.Criteria[c]; n > 0 {
			text := c.String()
			if len(t.Criteria) > 1 {
				text += fmt.Sprintf(" (%d answers)", n)
			}
			said = append(said, text)
		}
	}
	return said
}

// strictLevel is the binomial p below which wrong answers are incompatible with delta.
const strictLevel = 1e-6

// Verdict returns an error that says what is beyond the promises of the answers, after Finish: a
// malformed answer, a certificate that grants more than the Bar allows, a wrong answer where none
// may be, or more of them than delta allows, but for a chance below 1e-6 if they were independent.
// If strict is set, any wrong answer is beyond, though delta allows some. Wrong answers without
// any promise (heuristic) are not.
func (t *Tally) Verdict(strict bool) error {
	answers := int64(0)
	for _, n := range t.Guarantees {
		answers += n
	}
	switch {
	case t.Malformed > 0:
		return fmt.Errorf("%d of %d answers are malformed", t.Malformed, answers)
	case t.Exceeding > 0:
		return fmt.Errorf("%d of %d answers grant more than is allowed", t.Exceeding, answers)
	case t.WrongSure > 0:
		return fmt.Errorf("%d of %d answers are wrong, though their guarantee excludes it", t.WrongSure, answers)
	case t.Failures > 0 && t.PValue < strictLevel:
		return fmt.Errorf("%d failures in %d are more than delta %g allows: p = %.2g if independent, the limit is %g", t.Failures, t.Trials, t.Delta, t.PValue, strictLevel)
	case strict && t.Failures > 0:
		return fmt.Errorf("%d failures in %d, which delta %g allows", t.Failures, t.Trials, t.Delta)
	}
	return nil
}

// Finish computes the figures that need all answers: Delta, Rate, PValue and Neighbourhoods.
func (t *Tally) Finish() {
	t.Neighbourhoods = t.groups.count()
	t.PValue = 1
	if t.Trials == 0 {
		return
	}
	t.Delta = t.deltas / float64(t.Trials)
	t.Rate = float64(t.Failures) / float64(t.Trials)
	t.PValue = binomialTail(t.Failures, t.Trials, t.Delta)
}

// binomialTail returns P(X >= count) for X ~ Binomial(n, p). If the trials' p differ, their
// mean gives an upper bound provided count exceeds the expectation by at least one (Hoeffding
// 1956, theorem 4).
func binomialTail(count, n int64, p float64) float64 {
	switch {
	case count <= 0:
		return 1
	case p <= 0 || count > n:
		return 0
	case p >= 1:
		return 1
	}
	odds := p / (1 - p)
	if float64(count) > float64(n)*p {
		return sumTerms(count, n, p, func(x float64) float64 { return (float64(n) - x) / (x + 1) * odds }, 1)
	}
	return 1 - sumTerms(count-1, n, p, func(x float64) float64 { return x / (float64(n) - x + 1) / odds }, -1)
}

// sumTerms adds binomial probabilities from x = from on, away from the mode, until they are
// negligible. ratio is that of the next term to the term at x.
func sumTerms(from, n int64, p float64, ratio func(x float64) float64, step float64) float64 {
	x := float64(from)
	all, _ := math.Lgamma(float64(n) + 1)
	in, _ := math.Lgamma(x + 1)
	out, _ := math.Lgamma(float64(n) - x + 1)
	term := math.Exp(all - in - out + x*math.Log(p) + (float64(n)-x)*math.Log1p(-p))
	sum := 0.
	for term > sum*1e-17 {
		sum += term
		term *= ratio(x)
		x += step
	}
	return min(sum, 1)
}

// atomGroups joins the sets of atoms that wrong answers lack (union-find).
type atomGroups struct {
	parent map[int64]int64
}

func (g *atomGroups) join(ids []int64) {
	if g.parent == nil {
		g.parent = map[int64]int64{}
	}
	first := g.root(ids[0])
	for _, id := range ids[1:] {
		g.parent[g.root(id)] = first
	}
}

func (g *atomGroups) root(id int64) int64 {
	p, ok := g.parent[id]
	if !ok {
		g.parent[id] = id
		return id
	}
	if p == id {
		return id
	}
	r := g.root(p)
	g.parent[id] = r
	return r
}

func (g *atomGroups) count() int {
	n := 0
	for id, p := range g.parent {
		if id == p {
			n++
		}
	}
	return n
}
