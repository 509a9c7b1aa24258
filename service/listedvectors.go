package service

import (
	"cmp"
	"errors"
	"math"

	"thresher/dataset/jsonscan"
	"thresher/service/jsonbody"
	"thresher/service/problem"
)

// vectorList is a JSON list of vectors of one dimension.
type vectorList struct {
	rows []float64
	dim  int
}

const fieldVectors = "source.vectors"

// listedValue is the memory of a value of the list while it is read, listedID that of an id.
const listedValue, listedID = 8, 32

// minListed is how many ids a list may have, whatever they are of.
const minListed = 1 << 16

// listed returns how many items of size bytes are read into the memory of all collections, 0 for any number: at
// least as many as ordinary requests list.
func listed(memory, size int64) int {
	if memory == 0 {
		return 0
	}
	return int(max(memory/size, minListed))
}

// readVectors reads the list. Errors name the vector.
func (s *sourceBody) readVectors(name string, l *vectorList) jsonbody.Reader {
	most := cmp.Or(listed(s.memory, listedValue), math.MaxInt)
	return func(b []byte, i int) (int, error) {
		if i < len(b) && b[i] != '[' {
			return i, jsonbody.Mistyped(name, b, i, "a list of vectors")
		}
		return jsonscan.Elements(b, i, func(n, at int) (int, error) {
			before := len(l.rows)
			rows, next, err := jsonscan.Doubles(l.rows, b, at, most-before)
			if errors.Is(err, jsonscan.ErrTooMany) {
				return next, problem.New(problem.OutOfMemory, "vector %d: more than %d values in all, which exceed the memory of all collections, %d bytes", n, most, s.memory).At(name, n).Within(s.memory)
			}
			if err != nil {
				return next, badVector(err, n)
			}
			switch have := len(rows) - before; {
			case have == 0:
				return next, problem.New(problem.InvalidValue, "vector %d is empty", n).At(name, n)
			case n == 0:
				l.dim = have
			case have != l.dim:
				return next, problem.New(problem.WrongDimension, "vector %d has %d values, the first %d", n, have, l.dim).At(name, n).Within(l.dim)
			}
			l.rows = rows
			return next, nil
		})
	}
}

// badVector returns the problem of vector n.
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
