package tasks

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"thresher/batch"
	"thresher/collection"
)

// Goals are what the queries of a request ask for themselves: columns with an entry for each
// query, nil where no query asks for anything.
type Goals struct {
	K []int64 // atoms wanted, at least 1, or 0 for what the request says
	// MinScore and MaxScore are the least and the greatest score wanted (Euclidean: the greatest
	// and the least squared distance), NaN for what the request says.
	MinScore, MaxScore []float64
	// Filter has the rows that may be returned, nil for those that the request allows. Queries whose lists share
	// their memory are searched together.
	Filter     [][]int64
	Exclude    *Lists // rows that may not be returned
	Candidates *Lists // rows that are scored first
}

// None reports whether no query asks for anything itself.
func (g *Goals) None() bool {
	return g.K == nil && g.MinScore == nil && g.MaxScore == nil && g.Filter == nil && g.Exclude == nil && g.Candidates == nil
}

// Queries returns what queries lo to hi-1 ask for, as an engine takes it; nil if None.
func (g *Goals) Queries(lo, hi int) []batch.QueryGoal {
	if g.None() {
		return nil
	}
	all := make([]batch.QueryGoal, hi-lo)
	for i := range all {
		all[i] = g.query(lo + i)
	}
	return all
}

func (g *Goals) query(j int) batch.QueryGoal {
	q := batch.QueryGoal{MinScore: limitOf(g.MinScore, j), MaxScore: limitOf(g.MaxScore, j), Exclude: g.Exclude.Of(j), Candidates: g.Candidates.Of(j)}
	if g.K != nil {
		q.K = int(min(g.K[j], maxK))
	}
	if g.Filter != nil {
		q.Filter = g.Filter[j]
	}
	return q
}

// limitOf returns the limit of query j, nil if it has none.
func limitOf(limits []float64, j int) *float64 {
	if limits == nil || math.IsNaN(limits[j]) {
		return nil
	}
	return &limits[j]
}

// SetLimit sets entry j of a column of m limits, such as MinScore, to a limit; the column is made for the first that
// is not nil.
func SetLimit(column *[]float64, limit *float64, j, m int) {
	if limit == nil {
		return
	}
	if *column == nil {
		*column = slices.Repeat([]float64{math.NaN()}, m)
	}
	(*column)[j] = *limit
}

// MaxK returns the greatest k of a query; k is that of queries without one of their own.
func (g *Goals) MaxK(k int) int {
	if len(g.K) == 0 {
		return k
	}
	greatest := slices.Max(g.K)
	if slices.Contains(g.K, 0) {
		greatest = max(greatest, int64(k))
	}
	return int(min(greatest, maxK))
}

// Check checks what each query asks for, as CheckGoal does.
func (g *Goals) Check(all *batch.Request, m collection.Metric) error {
	for j := range max(len(g.K), len(g.MinScore), len(g.MaxScore)) {
		q := g.query(j)
		if err := CheckGoal(&q, all, m); err != nil {
			err.Query = j
			return err
		}
	}
	return nil
}

// ErrUnbounded says that a query names neither k nor a least score, and that its request does not
// either.
var ErrUnbounded = errors.New("neither k nor a least score says how many vectors are wanted")

// CheckGoal returns what is wrong with the numbers of a query's goal, nil for nothing: a k below 0;
// a limit that is not finite; limits, its own or those of all queries, that no score is within;
// neither k nor a least score (ErrUnbounded). all is what the request asks for, of which K and the
// limits are used. Whether rows exist is left to the engine. Query of the error is -1; its text has
// the names of fields, which doors translate to theirs.
func CheckGoal(g *batch.QueryGoal, all *batch.Request, m collection.Metric) *batch.RequestError {
	wrong := func(field, format string, args ...any) *batch.RequestError {
		return &batch.RequestError{Field: field, Query: -1, Err: fmt.Errorf(format, args...)}
	}
	if g.K < 0 {
		return wrong("k", "%d, at least 1", g.K)
	}
	if limit := g.MinScore; limit != nil && *limit-*limit != 0 {
		return wrong("min_score", "%g is not finite", *limit)
	}
	if limit := g.MaxScore; limit != nil && *limit-*limit != 0 {
		return wrong("max_score", "%g is not finite", *limit)
	}
	low, high := cmp.Or(g.MinScore, all.MinScore), cmp.Or(g.MaxScore, all.MaxScore)
	if low != nil && high != nil && m.Ceiling(*high) < m.Ceiling(*low) {
		if g.MaxScore == nil && g.MinScore != nil {
			return wrong("min_score", "%g, but max_score is %g: no score is within both", *low, *high)
		}
		return wrong("max_score", "%g, but min_score is %g: no score is within both", *high, *low)
	}
	if g.K == 0 && all.K == 0 && low == nil {
		return wrong("k", "%w", ErrUnbounded)
	}
	return nil
}

// Columns name the columns of a table that say what the query of each row asks for; "" names
// none.
type Columns struct {
	K, MinScore, MaxScore string
}

// Names returns the names of the columns that are there, in the order k, least and greatest score.
func (c Columns) Names() []string {
	return slices.DeleteFunc([]string{c.K, c.MinScore, c.MaxScore}, func(name string) bool { return name == "" })
}

// Of returns the column of a field of a batch.QueryGoal that an error names.
func (c Columns) Of(field string) string {
	switch field {
	case "k":
		return c.K
	case "min_score":
		return c.MinScore
	}
	return c.MaxScore
}

// Goal returns what the query of a row asks for, whose numbers are those of the columns of Names,
// NaN where a column has null. A k that is no integer from 1 on is an error.
func (c Columns) Goal(numbers []float64) (g batch.QueryGoal, err *batch.RequestError) {
	number := func(column string) *float64 {
		if column == "" {
			return nil
		}
		v := numbers[0]
		if numbers = numbers[1:]; math.IsNaN(v) {
			return nil
		}
		return &v
	}
	k := number(c.K)
	g.MinScore, g.MaxScore = number(c.MinScore), number(c.MaxScore)
	if k == nil {
		return g, nil
	}
	if *k != math.Trunc(*k) || *k < 1 || *k > maxK {
		return g, &batch.RequestError{Field: "k", Query: -1, Err: fmt.Errorf("k is %v; an integer from 1 to %d is wanted, or null for the k of all", *k, maxK)}
	}
	g.K = int(*k)
	return g, nil
}
