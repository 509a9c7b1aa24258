package wire

import (
	"errors"
	"slices"

	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

// Draft is a Search being decoded; its parts may come in any order, each at most once. Errors
// of its methods are of type *problem.Problem.
type Draft struct {
	s      Search
	limits Limits
	seen   map[string]bool
	goals  string // the first field that has goals; "" if none has
	listed int    // ids in the goals
}

const fieldQueries = "queries"

// NewDraft begins a search in a collection of dimension dim.
func NewDraft(dim int, l Limits) *Draft {
	return &Draft{s: Search{Dim: dim}, limits: l, seen: map[string]bool{}}
}

// markSeen refuses a field that was given before.
func (d *Draft) markSeen(field string) error {
	if d.seen[field] {
		return problem.New(problem.InvalidValue, "%s is given twice", field).In(field)
	}
	d.seen[field] = true
	return nil
}

// Option reads the JSON value at b[i] as the named option and returns the index after it.
func (d *Draft) Option(name string, b []byte, i int) (next int, err error) {
	if name == fieldGoals {
		return d.readGoals(b, i)
	}
	o, err := find(name)
	if err != nil {
		return i, err
	}
	if err := d.markSeen(name); err != nil {
		return i, err
	}
	v, next, err := o.kind.read(name, b, i)
	if err != nil {
		return next, inField(err, name)
	}
	return next, o.set(d, v)
}

// Text sets the named option from the values of a query parameter.
func (d *Draft) Text(name string, values []string) error {
	if name == fieldGoals {
		return d.goalsText(values)
	}
	o, err := find(name)
	if err != nil {
		return err
	}
	if err := d.markSeen(name); err != nil {
		return err
	}
	v, err := o.kind.parse(name, values)
	if err != nil {
		return inField(err, name)
	}
	return o.set(d, v)
}

// Integer sets an option to an integer.
func (d *Draft) Integer(name string, n int64) error { return d.setOption(name, value{integer: n}) }

// Number sets an option to a number.
func (d *Draft) Number(name string, x float64) error { return d.setOption(name, value{number: x}) }

func (d *Draft) setOption(name string, v value) error {
	o, err := find(name)
	if err != nil {
		return err
	}
	if err := d.markSeen(name); err != nil {
		return err
	}
	return o.set(d, v)
}

// Rows sets the queries, whole rows of finite values, and keeps the slice.
func (d *Draft) Rows(queries []float32) error {
	if err := d.markSeen(fieldQueries); err != nil {
		return err
	}
	d.s.Queries = queries
	return nil
}

// Len returns the number of values of the queries so far.
func (d *Draft) Len() int { return len(d.s.Queries) }

// Shape checks the number and dimension of queries before they are read.
func (d *Draft) Shape(m, dim int64) error {
	if m > 0 && dim != int64(d.s.Dim) {
		return d.wrongDimension(0, dim)
	}
	if most := int64(d.limits.Queries); most > 0 && m > most {
		return problem.New(problem.OverLimit, "%d queries, a search may have at most %d", m, most).In(fieldQueries).Within(most)
	}
	return nil
}

func (d *Draft) wrongDimension(query int, have int64) error {
	return problem.New(problem.WrongDimension, "query %d has %d values, the collection %d dimensions", query, have, d.s.Dim).
		At(fieldQueries, query).Within(d.s.Dim)
}

// Flat reads the queries from an array of numbers at b[i], of any length, with capacity for
// the expected number.
func (d *Draft) Flat(b []byte, i, expected int) (next int, err error) {
	if err := d.markSeen(fieldQueries); err != nil {
		return i, err
	}
	if d.s.Queries, next, err = jsonscan.Vector(make([]float32, 0, expected), b, i); err != nil {
		var element *jsonscan.ElementError
		if errors.As(err, &element) {
			// The index counts through all rows.
			element.Index, i = element.Index%d.s.Dim, element.Index/d.s.Dim
			return next, badRow(err, i, b, next)
		}
	}
	return next, inField(err, fieldQueries)
}

// Matrix reads the queries from an array of arrays of numbers at b[i].
func (d *Draft) Matrix(b []byte, i int) (next int, err error) {
	if err := d.markSeen(fieldQueries); err != nil {
		return i, err
	}
	if i < len(b) && b[i] != '[' {
		if _, err := jsonscan.Value(b, i); err == nil {
			return i, problem.New(problem.InvalidValue, "queries is %s, an array of vectors is wanted", what(b, i)).In(fieldQueries)
		}
	}
	queries := d.s.Queries
	end, err := jsonscan.Elements(b, i, func(n, at int) (next int, err error) {
		if most := d.limits.Queries; most > 0 && n == most {
			return at, problem.New(problem.OverLimit, "more than %d queries, the limit of a search", most).In(fieldQueries).Within(most)
		}
		before := len(queries)
		if queries, next, err = jsonscan.Vector(queries, b, at); err != nil {
			return next, badRow(err, n, b, at)
		}
		if have := len(queries) - before; have != d.s.Dim {
			return next, d.wrongDimension(n, int64(have))
		}
		if n == 0 {
			queries = slices.Grow(queries, d.rest(len(b)-next, next-at))
		}
		return next, nil
	})
	d.s.Queries = queries
	return end, inField(err, fieldQueries)
}

// rest estimates the number of values in the remaining left bytes, if a row takes as many
// bytes as the first: an eighth more, and at most as many as can be written in that many
// bytes.
func (d *Draft) rest(left, row int) int {
	rows := left / (row + 1)
	rows += rows/8 + 1
	if most := d.limits.Queries; most > 0 {
		rows = min(rows, most-1)
	}
	return min(rows*d.s.Dim, left/2)
}

// badRow returns the problem of query n, at b[at].
func badRow(err error, n int, b []byte, at int) error {
	var element *jsonscan.ElementError
	switch {
	case errors.Is(err, jsonscan.ErrNotFinite) && errors.As(err, &element):
		return problem.New(problem.NotFinite, "query %d, coordinate %d: %v", n, element.Index, err).At(fieldQueries, n)
	case errors.As(err, &element):
		return problem.New(problem.Malformed, "query %d, coordinate %d: %v", n, element.Index, err).At(fieldQueries, n)
	}
	if _, e := jsonscan.Value(b, at); e == nil {
		return problem.New(problem.InvalidValue, "query %d is %s, an array of numbers is wanted: queries is an array of vectors", n, what(b, at)).
			At(fieldQueries, n)
	}
	return problem.New(problem.Malformed, "query %d: %v", n, err).At(fieldQueries, n)
}

// Search returns the completed search.
func (d *Draft) Search() (*Search, error) {
	s := d.s
	if len(s.Queries) == 0 {
		if !d.seen[fieldQueries] {
			return nil, problem.New(problem.NoQueries, "queries is missing").In(fieldQueries)
		}
		return nil, problem.New(problem.NoQueries, "queries is empty").In(fieldQueries)
	}
	s.M = len(s.Queries) / s.Dim
	if err := d.completeGoals(&s); err != nil {
		return nil, err
	}
	if s.K == 0 {
		s.K, s.CutK = d.limits.DefaultK(s.MinScore != nil), true
	}
	return &s, nil
}

// inField is problem.Unreadable with the name of the field.
func inField(err error, field string) error {
	if err == nil {
		return nil
	}
	p := problem.Unreadable(err)
	if p.Field == "" {
		p.Field, p.Detail = field, field+": "+p.Detail
	}
	return p
}
