package tasks

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// PursuitOptions say how signals are written as sums of atoms.
type PursuitOptions struct {
	Steps  int          // most terms of a signal, at least 1
	Method batch.Method // of each step's search; "" means certain
	// Delta in (0, 1) is the probability with which any step of a signal may choose another atom than the best; 0 means
	// .01. Methods that cannot be wrong need none.
	Delta float64
	// Published are the options of the published methods. Rewards, which Published.Sigma is about, are products of a
	// coordinate of the residual and one of an atom, each divided by the vector's length.
	Published batch.Published
	// Nonnegative allows only terms whose coefficient is positive, as published; otherwise signs are free.
	Nonnegative bool
}

// PursuitSummary says what came of a pursuit.
type PursuitSummary struct {
	Signals int64 `json:"signals"`
	Terms   int64 `json:"terms"` // of all signals
	// Residual is the length of all residuals at the end, as one vector, relative to that of all signals.
	Residual  float64 `json:"residual"`
	Method    string  `json:"method"`
	Guarantee string  `json:"guarantee"`
	Law       string  `json:"law,omitempty"` // of steps whose guarantee is probabilistic
	Promise   string  `json:"promise"`       // in words
	Delta     float64 `json:"delta"`         // of a signal
	// Rounded is the largest change of a coordinate of a residual, divided by its length, or of an atom, that float32 does
	// not hold.
	Rounded       float64  `json:"rounded,omitempty"`
	SearchSeconds float64  `json:"search_seconds"`
	Pulls         int64    `json:"pulls"`
	Saving        float64  `json:"saving"`
	BytesRead     int64    `json:"bytes_read"`
	RowsScored    int64    `json:"rows_scored"`
	Warnings      []string `json:"warnings,omitempty"`
}

// Pursuit is matching pursuit (Mallat and Zhang, 1993) with a search in the place of the scan of all atoms, as in arXiv
// 2212.07551, appendix 12.1.2: find the atom v with the largest |<r, v>|/|v| for the residual r of a signal, take
// c = <r, v>/|v|^2 as its coefficient, subtract c v, and repeat. Atoms need not have length 1: an atom is found by its
// direction, so that its length changes its coefficients alone, and the signal is about the sum of coefficients times atoms
// as they were given.
//
// Residuals and coefficients are float64. A search sees the residual divided by its length and rounded to float32, as
// <r, v> and as <-r, v>, so that signs are free; its delta is the Delta of the signal divided by all its searches. If every
// search of the signal is right, so is every residual that it searches for: the residuals of a pursuit without errors do not
// depend on what the searches draw, and all searches for these fail with probability at most Delta together.
//
// It is not safe for concurrent use.
type Pursuit struct {
	engine *batch.Engine
	atoms  *collection.Collection
	o      PursuitOptions
	counts SearchCounts
	// signals and terms count what was handed on; before and after are the squared lengths of signals and residuals.
	signals, terms int64
	before, after  float64
}

// NewPursuit checks the options against the atoms of e, whose metric must be cosine. Errors are *batch.RequestError.
func NewPursuit(e *batch.Engine, o PursuitOptions) (*Pursuit, error) {
	refuse := func(field, why string, args ...any) (*Pursuit, error) {
		return nil, &batch.RequestError{Field: field, Query: -1, Err: fmt.Errorf(why, args...)}
	}
	c := e.Collection()
	if o.Method == "" {
		o.Method = batch.Certain
	}
	if o.Delta == 0 {
		o.Delta = .01
	}
	switch {
	case o.Steps < 1:
		return refuse("steps", "%d is below 1", o.Steps)
	case !(o.Delta > 0 && o.Delta < 1):
		return refuse("delta", "%g is not in (0, 1)", o.Delta)
	case c.Metric != collection.Cosine:
		return refuse("vectors", "metric %s; a pursuit finds vectors by their directions, which is metric cosine", c.Metric)
	}
	for i := range c.N {
		if !(c.RowNorm(i) > 0) {
			return refuse("vectors", "row %d (0-based) is zero, so that it has no direction", i)
		}
	}
	return &Pursuit{engine: e, atoms: c, o: o}, nil
}

// directions is the number of searches of a step.
func (p *Pursuit) directions() int {
	if p.o.Nonnegative {
		return 1
	}
	return 2
}

// SignalBytes is the memory that each signal of a call of Signals takes, beside its terms.
func (p *Pursuit) SignalBytes() int64 {
	return int64(p.atoms.Dim) * (8 + int64(p.directions())*(8+4))
}

// pursued is one signal on its way.
type pursued struct {
	residual []float64
	length   float64
	terms    []dataset.Term
	ended    bool
}

// Signals writes signals [m, Dim] as sums of atoms and returns their terms, those of a signal in the order in which they
// were found, signals in theirs. Their numbers go on from the last call. A signal has fewer terms than Steps if nothing is
// left of it, or nothing that an atom has a share in.
func (p *Pursuit) Signals(ctx context.Context, signals []float32) ([]dataset.Term, error) {
	dim := p.atoms.Dim
	if len(signals)%dim != 0 {
		return nil, fmt.Errorf("%d coordinates are no rows of %d", len(signals), dim)
	}
	all := make([]pursued, len(signals)/dim)
	residuals := make([]float64, len(signals))
	for i := range all {
		s := &all[i]
		s.residual = residuals[i*dim : (i+1)*dim]
		for j, v := range signals[i*dim : (i+1)*dim] {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return nil, &batch.RequestError{Field: "signals", Query: i, Err: fmt.Errorf("coordinate %d is %g", j, v)}
			}
			s.residual[j] = float64(v)
		}
		s.length = length(s.residual)
		s.ended = s.length == 0
		p.before += s.length * s.length
	}
	for step := range p.o.Steps {
		if done, err := p.step(ctx, all, step); done || err != nil {
			if err != nil {
				return nil, err
			}
			break
		}
	}
	var terms []dataset.Term
	for i := range all {
		for t := range all[i].terms {
			all[i].terms[t].Signal = p.signals + int64(i)
		}
		terms = append(terms, all[i].terms...)
		p.after += all[i].length * all[i].length
	}
	p.signals += int64(len(all))
	p.terms += int64(len(terms))
	return terms, nil
}

// step finds the next term of every signal that has not ended, and reports whether all have.
func (p *Pursuit) step(ctx context.Context, all []pursued, step int) (done bool, err error) {
	dim, directions := p.atoms.Dim, p.directions()
	var open []*pursued
	for i := range all {
		if !all[i].ended {
			open = append(open, &all[i])
		}
	}
	if len(open) == 0 {
		return true, nil
	}
	queries := make([]float64, 0, len(open)*directions*dim)
	for _, s := range open {
		for sign := range directions {
			by := 1 / s.length
			if sign == 1 {
				by = -by
			}
			for _, v := range s.residual {
				queries = append(queries, v*by)
			}
		}
	}
	resp, err := p.engine.Search(ctx, batch.Request{
		Queries64: queries, K: 1, Method: p.o.Method, Delta: p.o.Delta / float64(p.o.Steps*directions), Published: p.o.Published,
		SearchScores: true, Part: true, // so that terms do not depend on the signals beside
	})
	if err != nil {
		return false, err
	}
	if !resp.Complete() {
		return false, ErrUnfinished
	}
	p.counts.Add(resp)
	for i, s := range open {
		if i%64 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		p.take(s, resp.Answers[i*directions:(i+1)*directions], step)
	}
	return false, nil
}

// take subtracts the better of the atoms that were found for the residual and, unless coefficients may not be negative, for
// its opposite; of equal ones the former. A signal in which no atom has a share ends.
func (p *Pursuit) take(s *pursued, found []batch.Answer, step int) {
	best, pulls := -1, int64(p.atoms.Dim) // for the coefficient
	for i := range found {
		pulls += found[i].Certificate.Pulls
		if len(found[i].IDs) > 0 && (best < 0 || found[i].SearchScores[0] > found[best].SearchScores[0]) {
			best = i
		}
	}
	if best < 0 {
		s.ended = true
		return
	}
	atom := found[best].IDs[0]
	v := p.atoms.Row(int(atom))
	var product, square float64
	for j, x := range v {
		product += s.residual[j] * float64(x)
		square += float64(x) * float64(x)
	}
	coefficient := product / square
	if coefficient == 0 || p.o.Nonnegative && coefficient < 0 {
		s.ended = true
		return
	}
	for j, x := range v {
		s.residual[j] -= coefficient * float64(x)
	}
	s.length = length(s.residual)
	s.ended = s.length == 0
	s.terms = append(s.terms, dataset.Term{Step: int64(step), Atom: atom, Coefficient: coefficient, Residual: s.length, Pulls: pulls})
}

// length is |x|, of coordinates between 1e-150 and 1e150 or 0.
func length(x []float64) float64 {
	var square float64
	for _, v := range x {
		square += v * v
	}
	return math.Sqrt(square)
}

// Summary describes the signals so far.
func (p *Pursuit) Summary() *PursuitSummary {
	n := p.counts
	s := &PursuitSummary{
		Signals: p.signals, Terms: p.terms, Method: joined(ranked(n.Methods)), Guarantee: n.Guarantee(), Law: n.Law(), Rounded: n.Rounded,
		SearchSeconds: time.Duration(n.Nanos).Seconds(), Pulls: n.Pulls + p.terms*int64(p.atoms.Dim), BytesRead: n.Bytes, RowsScored: n.RowsScored,
		Warnings: slices.Clone(n.Warnings),
	}
	s.Saving = batch.Stats{Pulls: s.Pulls, DensePulls: n.DensePulls + p.terms*int64(p.atoms.Dim)}.Saving()
	if p.before > 0 {
		s.Residual = math.Sqrt(p.after / p.before)
	}
	if n.Guarantees[batch.GuaranteeProbabilistic] > 0 {
		s.Delta = p.o.Delta
	}
	// What is promised of a search is so of each of a signal's; together they have the signal's delta.
	of := n.Promises
	if of.Delta > 0 {
		of.Delta = p.o.Delta
	}
	s.Promise = of.Say(Pursuits)
	return s
}
