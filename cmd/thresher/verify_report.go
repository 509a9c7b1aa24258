package main

import (
	"fmt"
	"io"
	"math"

	"thresher/batch"
)

// strictLevel is the binomial p below which --strict-delta calls the rate of
// wrong answers incompatible with delta.
const strictLevel = 1e-6

// shown is how many problems a report spells out.
const shown = 10

// verifyReport is what verify prints.
type verifyReport struct {
	Queries int64  `json:"queries"` // in the answers
	Checked int64  `json:"checked"`
	K       int    `json:"k"`
	Metric  string `json:"metric"`
	// Wrong counts answers that lack an atom their promise covers, Malformed
	// those that no promise excuses, Partial those stopped early.
	Wrong     int64 `json:"wrong"`
	Malformed int64 `json:"malformed"`
	Partial   int64 `json:"partial"`
	// WrongSure counts the wrong answers under an exact or certain guarantee,
	// or whose certificate says that nothing was left to chance.
	WrongSure int64 `json:"wrong_sure"`
	// Guarantees counts answers by guarantee.
	Guarantees map[batch.Guarantee]int64 `json:"guarantees"`
	// Laws counts probabilistic answers by law, where certificates name it.
	Laws map[batch.Law]int64 `json:"laws,omitempty"`
	// Delta is the mean failure probability allowed, Trials how many promises
	// that is about (queries, or with a least score the atoms that reach it),
	// Failures how many were broken, PValue the chance of so many or more.
	Delta    float64 `json:"delta"`
	Trials   int64   `json:"trials"`
	Failures int64   `json:"failures"`
	Rate     float64 `json:"rate"`
	PValue   float64 `json:"p_value"`
	// Neighbourhoods counts groups of wrong answers that share a missed atom:
	// queries that share a rotation fail together.
	Neighbourhoods int      `json:"neighbourhoods"`
	WorstGap       float64  `json:"worst_gap"`
	Problems       []string `json:"problems,omitempty"`

	deltas float64
	groups atomGroups
	pairs  bool  // promises are about atoms, not about queries
	short  int64 // malformed answers that lack atoms
	bare   bool  // the answers have no certificates
}

func (r *verifyReport) add(f finding) {
	r.Checked++
	r.Guarantees[f.claim.guarantee]++
	if f.claim.law != "" {
		if r.Laws == nil {
			r.Laws = map[batch.Law]int64{}
		}
		r.Laws[f.claim.law]++
	}
	if f.claim.partial {
		r.Partial++
	}
	if f.malformed != "" {
		r.Malformed++
		if f.short {
			r.short++
		}
		r.note("query %d: %s", f.query, f.malformed)
		return
	}
	if f.claim.guarantee == batch.GuaranteeProbabilistic && !f.claim.sure() {
		trials, failures := int64(1), int64(0)
		if r.pairs {
			trials, failures = int64(f.wanted), int64(len(f.missed))
		} else if f.wrong {
			failures = 1
		}
		r.Trials += trials
		r.Failures += failures
		r.deltas += f.claim.delta * float64(trials)
	}
	if !f.wrong {
		return
	}
	r.Wrong++
	r.groups.join(f.missed)
	r.WorstGap = max(r.WorstGap, f.gap)
	if f.claim.sure() {
		r.WrongSure++
	}
	r.note("query %d: lacks %s (%s)", f.query, describe(f), f.claim.guarantee)
}

func describe(f finding) string {
	if len(f.missed) == 0 {
		return "an atom"
	}
	if len(f.missed) == 1 {
		return fmt.Sprintf("atom %d, better by %.3g", f.missed[0], f.gap)
	}
	return fmt.Sprintf("atom %d and %d more, better by up to %.3g", f.missed[0], len(f.missed)-1, f.gap)
}

func (r *verifyReport) note(format string, args ...any) {
	if len(r.Problems) < shown {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// close computes the figures that need all answers.
func (r *verifyReport) close() {
	r.Neighbourhoods = r.groups.count()
	r.PValue = 1
	if r.Trials == 0 {
		return
	}
	r.Delta = r.deltas / float64(r.Trials)
	r.Rate = float64(r.Failures) / float64(r.Trials)
	r.PValue = binomialTail(r.Failures, r.Trials, r.Delta)
}

// verdict is the rule of the exit code: malformed answers and wrong ones under
// a sure promise are errors; a rate of failures is one only when strict, and
// only if it is incompatible with delta.
func (r *verifyReport) verdict(strict bool) error {
	switch {
	case r.Malformed > 0 && r.short > 0 && r.bare:
		return fmt.Errorf("%d of %d answers are malformed, %d of them too short; if a deadline cut the search short, --certificates says so",
			r.Malformed, r.Checked, r.short)
	case r.Malformed > 0:
		return fmt.Errorf("%d of %d answers are malformed", r.Malformed, r.Checked)
	case r.WrongSure > 0:
		return fmt.Errorf("%d answers are wrong although nothing was left to chance", r.WrongSure)
	case strict && r.PValue < strictLevel:
		return fmt.Errorf("%d failures in %d are incompatible with delta %g: p = %.2g, the limit is %g",
			r.Failures, r.Trials, r.Delta, r.PValue, strictLevel)
	}
	return nil
}

// print writes the report for people.
func (r *verifyReport) print(w io.Writer) error {
	t := newTable(w)
	t.row("checked", fmt.Sprintf("%d of %d answers, %s, %s", r.Checked, r.Queries, r.Metric, r.asked()))
	t.row("guarantee", withLaw(names(r.Guarantees, "none"), names(r.Laws, "")))
	t.row("wrong", r.Wrong)
	t.row("malformed", r.Malformed)
	if r.Partial > 0 {
		t.row("partial", fmt.Sprintf("%d, held to their open bound", r.Partial))
	}
	if r.Wrong > 0 {
		t.row("neighbourhoods", fmt.Sprintf("%d groups of wrong answers that lack the same atom", r.Neighbourhoods))
		t.row("worst gap", fmt.Sprintf("%.4g", r.WorstGap))
	}
	if r.Trials > 0 {
		t.row("rate", fmt.Sprintf("%d failures in %d = %.3g; delta allows %.3g", r.Failures, r.Trials, r.Rate, r.Delta))
		t.row("binomial p", fmt.Sprintf("%.3g if independent", r.PValue))
	}
	for _, p := range r.Problems {
		t.row("", p)
	}
	return t.flush()
}

func (r *verifyReport) asked() string {
	if r.pairs {
		return "all that reach the least score"
	}
	return fmt.Sprintf("k = %d", r.K)
}

// binomialTail is P(X >= count) for X ~ Binomial(n, p). If the trials' p
// differ, their mean gives an upper bound of it wherever count is above the
// expectation by one or more (Hoeffding 1956, theorem 4).
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

// sumTerms adds binomial probabilities from x = from on, away from the mode,
// until they no longer count. ratio is that of the next term to the one at x.
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

// atomGroups joins the sets of atoms that wrong answers lack.
type atomGroups struct {
	parent map[int64]int64
	loose  int // wrong answers without a missed atom
}

func (g *atomGroups) join(ids []int64) {
	if len(ids) == 0 {
		g.loose++
		return
	}
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
	n := g.loose
	for id, p := range g.parent {
		if id == p {
			n++
		}
	}
	return n
}
