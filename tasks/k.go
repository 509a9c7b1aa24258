package tasks

import (
	"fmt"
	"math"
)

// defaultK is the k of a query that names neither k nor a least score.
const defaultK = 10

// KLimits are what a door accepts as the k of a query.
type KLimits struct {
	Max int // the greatest k; 0 sets no limit
}

// KError says why a k is not accepted.
type KError struct {
	K int64
	// Bound is the greatest k that is accepted, or the least if TooSmall. Vectors says that it is how many vectors
	// there are.
	Bound             int64
	TooSmall, Vectors bool
}

func (e *KError) Error() string {
	switch {
	case e.TooSmall:
		return fmt.Sprintf("k is %d, at least %d is wanted", e.K, e.Bound)
	case e.Vectors:
		return fmt.Sprintf("k is %d, and there are %d vectors", e.K, e.Bound)
	}
	return fmt.Sprintf("k is %d, at most %d is accepted", e.K, e.Bound)
}

// Check returns a k that a query asks for. An error is a *KError.
func (l KLimits) Check(k int64) (int, error) {
	limit := int64(maxK)
	if l.Max > 0 {
		limit = min(limit, int64(l.Max))
	}
	switch {
	case k < 1:
		return 0, &KError{K: k, Bound: 1, TooSmall: true}
	case k > limit:
		return 0, &KError{K: k, Bound: limit}
	}
	return int(k), nil
}

// Of returns the k of a query: its own, or else that of all queries, or else the default; 0 says that none is named. The
// default of a query with a least score is all vectors that reach it, of which there may be Max; 0 is any number.
// reduced says that it is the default, which is reduced where there are fewer vectors.
func (l KLimits) Of(own, all int, hasMinScore bool) (k int, reduced bool) {
	switch {
	case own > 0:
		return own, false
	case all > 0:
		return all, false
	case hasMinScore:
		return l.Max, true
	case l.Max > 0:
		return min(defaultK, l.Max), true
	}
	return defaultK, true
}

// FitK returns the k of a query over n vectors: a greater one is reduced to n if it may be, and otherwise a *KError.
func FitK(k, n int, reduce bool) (int, error) {
	if k > n && !reduce {
		return 0, &KError{K: int64(k), Bound: int64(n), Vectors: true}
	}
	return min(k, n), nil
}

// maxK bounds the k of a query, of which no collection has more atoms.
const maxK = math.MaxInt32
