package service

import (
	"errors"

	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

// vectorList is a JSON list of vectors of one length.
type vectorList struct {
	rows []float32
	dim  int
}

const fieldVectors = "source.vectors"

// UnmarshalJSON implements json.Unmarshaler. Errors name the vector.
func (l *vectorList) UnmarshalJSON(text []byte) error {
	end, err := jsonscan.Elements(text, jsonscan.Space(text, 0), func(n, at int) (int, error) {
		before := len(l.rows)
		rows, next, err := jsonscan.Floats(l.rows, text, at)
		if err != nil {
			return next, badVector(err, n)
		}
		switch have := len(rows) - before; {
		case have == 0:
			return next, problem.New(problem.InvalidValue, "vector %d is empty", n).At(fieldVectors, n)
		case n == 0:
			l.dim = have
		case have != l.dim:
			return next, problem.New(problem.WrongDimension, "vector %d has %d values, the first %d", n, have, l.dim).At(fieldVectors, n).Within(l.dim)
		}
		l.rows = rows
		return next, nil
	})
	if err == nil && jsonscan.Space(text, end) < len(text) {
		err = jsonscan.Wanted(text, end, "the end of the list")
	}
	var known *problem.Problem
	if err == nil || errors.As(err, &known) {
		return err
	}
	return problem.New(problem.InvalidValue, "vectors is no list of vectors: %v", err).In(fieldVectors).Because(err)
}

// badVector says what is wrong with vector n.
func badVector(err error, n int) error {
	var element *jsonscan.ElementError
	kind := problem.InvalidValue
	if errors.Is(err, jsonscan.ErrNotFinite) {
		kind = problem.NotFinite
	}
	if errors.As(err, &element) {
		return problem.New(kind, "vector %d, coordinate %d: %v", n, element.Index, err).At(fieldVectors, n).Because(err)
	}
	return problem.New(kind, "vector %d: %v", n, err).At(fieldVectors, n).Because(err)
}
