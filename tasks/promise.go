package tasks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"thresher/batch"
	"thresher/dataset"
)

// Subject is what a promise is about.
type Subject int

const (
	Answers  Subject = iota // the k best of each query
	Reaching                // all vectors that reach a least score, of each query
	AllPairs                // all pairs above a score
	Pursuits                // the atoms of a signal's terms, step by step
)

// words are what is promised of a subject by answers that cannot be wrong and, for a delta, by those
// that can.
func (of Subject) words() (sure, chance string) {
	switch of {
	case Reaching:
		return "none wrong", "each vector that reaches the least score is missed with probability at most %g; no promise for all together"
	case AllPairs:
		return "no pair is missing", "each pair is missed with probability at most %g; no promise for all together"
	case Pursuits:
		return "every step takes the best vector", "a signal has a step that does not take the best vector with probability at most %g"
	}
	return "none wrong", "each wrong with probability at most %g"
}

const (
	noPromise = "no promise"
	// ifTrue is the condition of what rests on a sigma that somebody gave.
	ifTrue = " if the given sigma is true of the data"
	// openBound is what an answer that was stopped early promises, whatever its search would have.
	openBound = "no vector left out scores above the open bound"
)

// granted is the guarantee of a certificate. Those of earlier versions name what the method of a
// stopped search would have promised. One that is merged may be stopped and heuristic: beside what
// a heuristic left out no open bound holds.
func granted(c *batch.Certificate) batch.Guarantee {
	if c.StoppedBy != "" && c.StoppedBy != batch.Done && c.Guarantee != batch.GuaranteeHeuristic {
		return batch.GuaranteeBound
	}
	return c.Guarantee
}

// promise words what answers with a guarantee promise. It is the only place that does: a new
// guarantee is worded here.
func promise(g batch.Guarantee, of Subject, delta float64) string {
	sure, chance := of.words()
	switch g {
	case batch.GuaranteeExact, batch.GuaranteeCertain:
		return sure
	case batch.GuaranteeProbabilistic:
		return fmt.Sprintf(chance, delta)
	case batch.GuaranteeBound:
		text := "stopped early, " + openBound
		if delta > 0 {
			text += fmt.Sprintf(", but with probability at most %g", delta)
		}
		return text
	}
	return noPromise
}

// Promise words what one answer of k vectors promises.
func Promise(c *batch.Certificate, k int) string {
	best := fmt.Sprintf("these are the true %d best", k) + forFloat32(max(c.VectorsChange, c.QueryChange))
	switch granted(c) {
	case batch.GuaranteeExact, batch.GuaranteeCertain:
		return best + ", beyond chance"
	case batch.GuaranteeProbabilistic:
		text := fmt.Sprintf("%s with probability at least %g", best, 1-c.Delta)
		if c.Law == batch.LawAssumed {
			text += ifTrue
		}
		return text
	case batch.GuaranteeBound:
		return "the best found until then; " + openBound
	}
	return noPromise
}

// forFloat32 words that coordinates were changed, by this much at most, when they were rounded to
// float32, which a promise then is about; "" if none was.
func forFloat32(change float64) string {
	if change == 0 {
		return ""
	}
	return fmt.Sprintf(" for float32, largest change %.2g", change)
}

// Promises counts what the certificates of a set of answers promise, and words it. The zero
// value counts none. It is kept, as JSON, with the progress of a run; the names are those of
// earlier runs, of which some lack Delta.
type Promises struct {
	Guarantees map[batch.Guarantee]int64 `json:"guarantees"`     // answers by guarantee
	Laws       map[batch.Law]int64       `json:"laws,omitempty"` // of the probabilistic ones
	// Delta is the greatest failure probability of an answer, Allowed their sum.
	Delta   float64 `json:"delta,omitempty"`
	Allowed float64 `json:"allowed"`
	// Rounded is the largest change of a coordinate of vectors or queries that float32 does not hold:
	// what is promised is so of the rounded.
	Rounded float64 `json:"rounded,omitempty"`
	// Risk is the greatest probability with which the open bound of a stopped answer may be wrong.
	Risk float64 `json:"risk,omitempty"`
}

// Add counts an answer with certificate c.
func (p *Promises) Add(c *batch.Certificate) {
	g := granted(c)
	p.addFigures(g, c)
	p.addKind(g, c.Law, 1)
}

// addResult counts an answer of a file, which states its law and what rounding changed if it has a certificate.
func (p *Promises) addResult(r *dataset.Result) error {
	c := batch.Certificate{Guarantee: batch.Guarantee(r.Guarantee), Delta: r.Delta}
	if r.Certificate != nil {
		var more struct {
			Law           batch.Law `json:"law"`
			VectorsChange float64   `json:"vectors_change"`
			QueryChange   float64   `json:"query_change"`
		}
		if err := json.Unmarshal(r.Certificate, &more); err != nil {
			return fmt.Errorf("certificate: %w", err)
		}
		c.Law, c.VectorsChange, c.QueryChange = more.Law, more.VectorsChange, more.QueryChange
	}
	p.Add(&c)
	return nil
}

// AddAll counts answers.
func (p *Promises) AddAll(answers []batch.Answer) {
	for len(answers) > 0 {
		// Consecutive answers of a kind are counted together: counting in a map takes longer than the rest.
		kind, law, n := granted(&answers[0].Certificate), answers[0].Certificate.Law, 0
		for ; n < len(answers); n++ {
			c := &answers[n].Certificate
			if granted(c) != kind || c.Law != law {
				break
			}
			p.addFigures(kind, c)
		}
		p.addKind(kind, law, int64(n))
		answers = answers[n:]
	}
}

// addFigures adds what an answer with a guarantee states in figures.
func (p *Promises) addFigures(g batch.Guarantee, c *batch.Certificate) {
	p.Rounded = max(p.Rounded, c.VectorsChange, c.QueryChange)
	switch g {
	case batch.GuaranteeBound:
		p.Risk = max(p.Risk, c.Delta)
	case batch.GuaranteeProbabilistic:
		p.Allowed += c.Delta
		p.Delta = max(p.Delta, c.Delta)
	}
}

// addKind counts n answers with a guarantee and, if it is probabilistic, a law.
func (p *Promises) addKind(g batch.Guarantee, law batch.Law, n int64) {
	count(&p.Guarantees, g, n)
	if g == batch.GuaranteeProbabilistic {
		count(&p.Laws, law, n)
	}
}

func count[K comparable](counts *map[K]int64, key K, n int64) {
	if *counts == nil {
		*counts = map[K]int64{}
	}
	(*counts)[key] += n
}

// delta returns the greatest failure probability of answers with a guarantee, of earlier runs the
// mean.
func (p *Promises) delta(of batch.Guarantee) float64 {
	if of == batch.GuaranteeBound {
		return p.Risk
	}
	if p.Delta == 0 && p.Allowed > 0 {
		return p.Allowed / float64(p.Guarantees[batch.GuaranteeProbabilistic])
	}
	return p.Delta
}

// Say words what the answers promise, the most frequent guarantee first: "exact: none wrong", for instance.
func (p *Promises) Say(of Subject) string {
	all := int64(0)
	for _, n := range p.Guarantees {
		all += n
	}
	var said []string
	for _, g := range ranked(p.Guarantees) {
		n := p.Guarantees[g]
		name := string(g)
		if laws := ranked(p.Laws); g == batch.GuaranteeProbabilistic && len(laws) > 0 {
			name += " (" + joined(laws) + ")"
		}
		name += forFloat32(p.Rounded)
		if n < all {
			name += fmt.Sprintf(" (%d of %d)", n, all)
		}
		text := promise(g, of, p.delta(g))
		if g == batch.GuaranteeProbabilistic && p.Laws[batch.LawAssumed] > 0 {
			text += ifTrue
		}
		if g == batch.GuaranteeProbabilistic && of == Answers {
			text += fmt.Sprintf(", so up to %.3g of %d on average", p.Allowed, n)
		}
		said = append(said, name+": "+text)
	}
	return strings.Join(said, "; ")
}

// ranked returns the keys by descending count, equal ones by name; those without a name are left out.
func ranked[K ~string](counts map[K]int64) []K {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		if counts[a] != counts[b] {
			return int(min(1, max(-1, counts[b]-counts[a])))
		}
		return strings.Compare(string(a), string(b))
	})
	return slices.DeleteFunc(keys, func(k K) bool { return k == "" })
}

// joined lists names.
func joined[K ~string](names []K) string {
	text := make([]string, len(names))
	for i, name := range names {
		text[i] = string(name)
	}
	return strings.Join(text, ", ")
}

// Guarantee lists the guarantees, the most frequent first; "" if there are no answers.
func (p *Promises) Guarantee() string { return joined(ranked(p.Guarantees)) }

// Law lists what the probabilities rest on, the most frequent first; "" if nothing is known.
func (p *Promises) Law() string { return joined(ranked(p.Laws)) }
