package thresher

import (
	"context"

	"thresher/dataset"
	"thresher/tasks"
)

type (
	// PursuitOptions say how signals are written as sums of vectors. Only Terms must be set.
	PursuitOptions = tasks.PursuitOptions
	// PursuitSummary says what came of a pursuit, and what is guaranteed of it.
	PursuitSummary = tasks.PursuitSummary
	// Term is a vector's share in a signal, and what is then left of the signal.
	Term = dataset.Term
)

// Pursuit writes signals, rows of Dim values, as sums of few vectors each, by matching pursuit: it finds the vector with the
// largest |<r, v>|/|v| for the rest r of a signal, subtracts <r, v>/|v|^2 times v, and repeats. It passes the terms to visit,
// those of a signal in the order in which they were found, signals in theirs. An error of visit ends it. The metric must be
// Cosine; vectors may have any length but 0. Errors in options and signals are of type *batch.RequestError; it is
// tasks.ErrUnfinished if the deadline of ctx ends a search.
func (x *Index) Pursuit(ctx context.Context, signals []float32, o PursuitOptions, visit func(Term) error) (*PursuitSummary, error) {
	x, leave, err := x.now(ctx, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	p, err := tasks.NewPursuit(x.atoms, x.runs, o)
	if err != nil {
		return nil, err
	}
	err = p.All(ctx, signals, func(terms []dataset.Term) error {
		for _, m := range terms {
			if x.numbers != nil {
				m.Row = x.numbers[m.Row]
			}
			if err := visit(m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.Summary(), nil
}
