package tasks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// PursuitOptions say how signals are written as sums of atoms. As JSON they are what the HTTP service and the worker take.
type PursuitOptions struct {
	Terms  int          `json:"terms"`            // most terms of a signal, from 1 to MaxTerms
	Method batch.Method `json:"method,omitempty"` // of each step's search; "" means certain
	// Delta in (0, 1) is the probability with which any step of a signal may choose another atom than the best; 0 means
	// .01. Methods that cannot be wrong need none.
	Delta float64 `json:"delta,omitempty"`
	// Published are the options of the published methods. Rewards, which Published.Sigma is about, are products of a
	// coordinate of the residual and one of an atom, each divided by the vector's length.
	Published batch.Published `json:"published,omitzero"`
	// Nonnegative allows only terms whose coefficient is positive, as published; otherwise signs are free.
	Nonnegative bool `json:"nonnegative,omitempty"`
}

// MaxTerms is the greatest number of terms of a signal.
const MaxTerms = 1 << 20

// Check refuses options that are none, whatever the atoms are, and makes defaults of what is left out. Errors are
// *batch.RequestError with the name of the option in JSON.
func (o *PursuitOptions) Check() error {
	if o.Method == "" {
		o.Method = batch.Certain
	}
	if o.Delta == 0 {
		o.Delta = .01
	}
	switch {
	case o.Terms < 1 || o.Terms > MaxTerms:
		return pursuitError("terms", "%d is not from 1 to %d", o.Terms, MaxTerms)
	case !slices.Contains(batch.Methods(), o.Method):
		return pursuitError("method", "%q is none of %v", o.Method, batch.Methods())
	case !(o.Delta > 0 && o.Delta < 1):
		return pursuitError("delta", "%g is not in (0, 1)", o.Delta)
	}
	return o.Published.Check(o.Method)
}

func pursuitError(field, why string, args ...any) error {
	return &batch.RequestError{Field: field, Query: -1, Err: fmt.Errorf(why, args...)}
}

// directions is the number of searches of a step.
func (o *PursuitOptions) directions() int {
	if o.Nonnegative {
		return 1
	}
	return 2
}

// Request returns the request by which steps search, of the residuals of so many signals, without them. It has the method
// and the delta of a search, for whoever divides or reserves memory for it.
func (o *PursuitOptions) Request() batch.Request {
	return batch.Request{
		K: 1, Method: o.Method, Delta: o.Delta / float64(o.Terms*o.directions()), Published: o.Published,
		SearchScores: true, Part: true, // so that terms do not depend on the signals beside
	}
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
	searcher Searcher
	atoms    *collection.Collection
	o        PursuitOptions
	counts   PursuitCounts
}

// PursuitCounts are the figures of signals, in the form in which a run that can be resumed keeps them.
type PursuitCounts struct {
	Signals int64 `json:"signals"`
	Terms   int64 `json:"terms"`
	// Length and Residual are the squared lengths of all signals and all residuals, each as one vector.
	Length   float64      `json:"length"`
	Residual float64      `json:"residual"`
	Search   SearchCounts `json:"search"`
}

// NewPursuit checks the options against the atoms, whose metric must be cosine and which the searcher searches. Errors are
// *batch.RequestError.
func NewPursuit(atoms *collection.Collection, s Searcher, o PursuitOptions) (*Pursuit, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if atoms.Metric != collection.Cosine {
		return nil, pursuitError("vectors", "metric %s; a pursuit finds vectors by their directions, which is metric cosine", atoms.Metric)
	}
	for i := range atoms.N {
		if !(atoms.RowNorm(i) > 0) {
			return nil, pursuitError("vectors", "row %d (0-based) is zero, so that it has no direction", i)
		}
	}
	return &Pursuit{searcher: s, atoms: atoms, o: o}, nil
}

// Resume begins with the counts of a run before, whose signals come before the next.
func (p *Pursuit) Resume(counts PursuitCounts) { p.counts = counts }

// Counts are the figures of the signals so far.
func (p *Pursuit) Counts() PursuitCounts { return p.counts }

// SignalBytes is the memory that each signal of a call of Signals takes, beside its terms.
func (p *Pursuit) SignalBytes() int64 {
	return int64(p.atoms.Dim) * (8 + int64(p.o.directions())*(8+4))
}

// pursued is one signal on its way.
type pursued struct {
	residual []float64
	length   float64
	terms    []dataset.Term
	ended    bool
}

// Signals writes signals [m, Dim] as sums of atoms and returns their terms, those of a signal in the order in which they
// were found, signals in theirs. Their numbers go on from the last call. A signal has fewer terms than were asked for if
// nothing is left of it, or nothing that an atom has a share in; there may be more terms than atoms, which then recur. The
// error is a *batch.RequestError with the number of the signal in this call where a coordinate is not finite, and ErrUnfinished
// where a deadline ends a search; after one the counts mean nothing.
func (p *Pursuit) Signals(ctx context.Context, signals []float32) ([]dataset.Term, error) {
	return pursue(ctx, p, signals)
}

// SignalsFloat64 is Signals of signals of float64.
func (p *Pursuit) SignalsFloat64(ctx context.Context, signals []float64) ([]dataset.Term, error) {
	return pursue(ctx, p, signals)
}

// pursue is Pursuit.Signals of signals in either precision.
func pursue[T float32 | float64](ctx context.Context, p *Pursuit, signals []T) ([]dataset.Term, error) {
	dim := p.atoms.Dim
	if len(signals)%dim != 0 {
		return nil, pursuitError("signals", "%d coordinates are no rows of %d", len(signals), dim)
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
		p.counts.Length += s.length * s.length
	}
	for step := range p.o.Terms {
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
			all[i].terms[t].Signal = p.counts.Signals + int64(i)
		}
		terms = append(terms, all[i].terms...)
		p.counts.Residual += all[i].length * all[i].length
	}
	p.counts.Signals += int64(len(all))
	p.counts.Terms += int64(len(terms))
	return terms, nil
}

// pursuedTogether bounds the memory of the signals that All pursues together.
const pursuedTogether = 64 << 20

// Chunk is how many signals All pursues together.
func (p *Pursuit) Chunk() int { return int(max(1, min(1024, pursuedTogether/p.SignalBytes()))) }

// All is Signals for any number of signals, some at a time, whose terms it hands to visit. Errors are those of Signals, with
// the number of the signal in this call, and of visit.
func (p *Pursuit) All(ctx context.Context, signals []float32, visit func(terms []dataset.Term) error) error {
	return pursueAll(ctx, p, signals, visit)
}

// AllFloat64 is All of signals of float64.
func (p *Pursuit) AllFloat64(ctx context.Context, signals []float64, visit func(terms []dataset.Term) error) error {
	return pursueAll(ctx, p, signals, visit)
}

// pursueAll is Pursuit.All of signals in either precision.
func pursueAll[T float32 | float64](ctx context.Context, p *Pursuit, signals []T, visit func(terms []dataset.Term) error) error {
	each, dim := p.Chunk(), p.atoms.Dim
	for first := 0; len(signals) > 0; first += each {
		n := min(len(signals), each*dim)
		terms, err := pursue(ctx, p, signals[:n])
		if err != nil {
			return numbered(err, int64(first))
		}
		if err := visit(terms); err != nil {
			return err
		}
		signals = signals[n:]
	}
	return nil
}

// step finds the next term of every signal that has not ended, and reports whether all have.
func (p *Pursuit) step(ctx context.Context, all []pursued, step int) (done bool, err error) {
	dim, directions := p.atoms.Dim, p.o.directions()
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
	req := p.o.Request()
	req.Queries64 = queries
	resp, err := p.searcher.Search(ctx, req)
	if errors.Is(ctx.Err(), context.Canceled) {
		return false, context.Cause(ctx)
	}
	if resp == nil {
		return false, err
	}
	if !resp.Complete() {
		return false, ErrUnfinished
	}
	p.counts.Search.Add(resp)
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
	v := p.atoms.Given(int(atom))
	var product, square float64
	for j, x := range v {
		product += s.residual[j] * x
		square += x * x
	}
	coefficient := product / square
	if coefficient == 0 || p.o.Nonnegative && coefficient < 0 {
		s.ended = true
		return
	}
	for j, x := range v {
		s.residual[j] -= coefficient * x
	}
	s.length = length(s.residual)
	s.ended = s.length == 0
	s.terms = append(s.terms, dataset.Term{Step: int64(step), Row: atom, Coefficient: coefficient, Residual: s.length, Pulls: pulls})
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
	c, n := &p.counts, &p.counts.Search
	s := &PursuitSummary{
		Signals: c.Signals, Terms: c.Terms, Method: joined(ranked(n.Methods)), Guarantee: n.Guarantee(), Law: n.Law(), Rounded: n.Rounded,
		SearchSeconds: time.Duration(n.Nanos).Seconds(), Pulls: n.Pulls + c.Terms*int64(p.atoms.Dim), BytesRead: n.Bytes, RowsScored: n.RowsScored,
		Warnings: slices.Clone(n.Warnings),
	}
	s.Saving = batch.Stats{Pulls: s.Pulls, DensePulls: n.DensePulls + c.Terms*int64(p.atoms.Dim)}.Saving()
	if c.Length > 0 {
		s.Residual = math.Sqrt(c.Residual / c.Length)
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
