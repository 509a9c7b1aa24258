package wire

import (
	"errors"
	"math"
	"slices"

	"thresher/dataset"
	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

// Draft is a Search being decoded; its parts may come in any order, each at most once. Errors
// of its methods are of type *problem.Problem.
type Draft struct {
	s      Search
	limits Limits
	seen   map[string]bool
	goalOf map[string]bool // fields seen that have an entry for each query
	goals  string          // the first field that has goals; "" if none has
	listed int             // ids in the goals

	changes []float64 // by rounding, of the queries in Search
	row     []float64 // memory of a query
	placed  bool      // the queries are relative to the origin
	single  bool      // numbers of queries are float32, whatever their digits

	covers bool   // a digest of the queries is wanted
	given  []byte // the queries as an array of JSON, if their digits count
	npy    []byte // the queries as a file, if its values may differ from those in Search
}

const fieldQueries = "queries"

// NewDraft begins a search in a collection of dimension dim.
func NewDraft(dim int, l Limits) *Draft {
	return &Draft{s: Search{Dim: dim}, limits: l, seen: map[string]bool{}, goalOf: map[string]bool{}}
}

// Single makes the numbers of queries float32 by the word of the request, however many digits they have:
// rounding does not change them.
func (d *Draft) Single() { d.single = true }

// markSeen refuses a field that was given before.
func (d *Draft) markSeen(field string) error {
	if d.seen[field] {
		return problem.New(problem.InvalidValue, "%s is given twice", field).In(field)
	}
	d.seen[field] = true
	return nil
}

// markGoals is markSeen for a field that has an entry for each query, which may have the name of an option of all.
func (d *Draft) markGoals(field string) error {
	if d.goalOf[field] {
		return problem.New(problem.InvalidValue, "%s is given twice", field).In(field)
	}
	d.goalOf[field] = true
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
	if err := d.present(o, name); err != nil {
		return i, err
	}
	v, next, err := o.kind.read(name, b, i, d.limits.IDs)
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
	if err := d.present(o, name); err != nil {
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
	if err := d.present(o, name); err != nil {
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

// Shape checks the number, -1 if it is not known, and dimension of queries before they are read.
func (d *Draft) Shape(m, dim int64) error {
	if m != 0 && dim != int64(d.s.Dim) {
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
// the expected number. They are float32, as of Single.
func (d *Draft) Flat(b []byte, i, expected int) (next int, err error) {
	if err := d.markSeen(fieldQueries); err != nil {
		return i, err
	}
	most := math.MaxInt
	if d.limits.Queries > 0 {
		most = d.limits.Queries * d.s.Dim
	}
	if d.s.Queries, _, next, err = jsonscan.Rounded(make([]float32, 0, expected), b, i, most); err != nil {
		if errors.Is(err, jsonscan.ErrTooMany) {
			return next, problem.New(problem.OverLimit, "more than %d queries, the limit of a search", d.limits.Queries).In(fieldQueries).Within(d.limits.Queries)
		}
		var element *jsonscan.ElementError
		if errors.As(err, &element) {
			// The index counts through all rows.
			element.Index, i = element.Index%d.s.Dim, element.Index/d.s.Dim
			return next, badRow(err, i, b, next)
		}
	}
	return next, inField(err, fieldQueries)
}

// place appends query n, relative to the origin, to queries, and notes what rounding changes. One of another
// dimension, which is refused elsewhere, is not relative to it.
func (d *Draft) place(queries []float32, given []float64, n int) ([]float32, error) {
	origin := d.limits.Origin
	if len(given) != d.s.Dim {
		origin = nil
	}
	queries = append(queries, make([]float32, len(given))...)
	change, bad := dataset.Narrow(queries[len(queries)-len(given):], given, origin)
	if bad >= 0 {
		return queries, problem.New(problem.NotFinite, "query %d, coordinate %d: value %g is beyond the range of float32", n, bad, given[bad]).At(fieldQueries, n)
	}
	d.changes = append(d.changes, change.Largest)
	return queries, nil
}

// readRow appends query n, the array of numbers at b[at], to queries.
func (d *Draft) readRow(queries []float32, b []byte, at, n int) (all []float32, next int, err error) {
	if d.limits.Float64 {
		if d.row, next, err = jsonscan.Doubles(d.row[:0], b, at, d.s.Dim); err == nil {
			d.s.Queries64 = append(d.s.Queries64, d.row...)
		}
		return append(queries, make([]float32, len(d.row))...), next, d.counted(err, b, at, n)
	}
	if d.single || d.limits.Origin == nil {
		var change float64
		queries, change, next, err = jsonscan.Rounded(queries, b, at, d.s.Dim)
		if !d.single {
			d.changes = append(d.changes, change)
		}
		return queries, next, d.counted(err, b, at, n)
	}
	if d.row, next, err = jsonscan.Doubles(d.row[:0], b, at, d.s.Dim); err != nil {
		return queries, next, d.counted(err, b, at, n)
	}
	queries, err = d.place(queries, d.row, n)
	return queries, next, err
}

// counted returns, for the error of a query of too many values at b[at], one that says how many: they are counted
// without being kept.
func (d *Draft) counted(err error, b []byte, at, n int) error {
	if !errors.Is(err, jsonscan.ErrTooMany) {
		return err
	}
	have, _, err := jsonscan.Numbers(b, at)
	if err != nil {
		return err
	}
	return d.wrongDimension(n, int64(have))
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
		if queries, next, err = d.readRow(queries, b, at, n); err != nil {
			var known *problem.Problem
			if errors.As(err, &known) {
				return next, err
			}
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
	d.s.Queries, d.placed = queries, !d.single
	if err == nil && !d.single {
		d.given = b[i:end]
	}
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
	if d.covers || d.limits.Covers {
		var err error
		if s.Digest, err = d.digest(); err != nil {
			return nil, err
		}
	}
	if d.limits.Float64 {
		for _, x := range s.Queries[len(s.Queries64):] { // of those that are float32 by themselves
			s.Queries64 = append(s.Queries64, float64(x))
		}
		s.Queries = nil
	}
	if d.limits.Origin != nil && !d.placed {
		given := s.Queries // float32, not of JSON
		s.Queries, d.row = make([]float32, 0, len(given)), make([]float64, s.Dim)
		for n := range s.M {
			for j, x := range given[n*s.Dim : (n+1)*s.Dim] {
				d.row[j] = float64(x)
			}
			var err error
			if s.Queries, err = d.place(s.Queries, d.row, n); err != nil {
				return nil, err
			}
		}
	}
	if slices.ContainsFunc(d.changes, func(change float64) bool { return change > 0 }) {
		s.Changes = d.changes
	}
	if err := d.completeGoals(&s); err != nil {
		return nil, err
	}
	if s.K == 0 {
		s.K, s.CutK = d.limits.ks().Of(0, 0, s.MinScore != nil)
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
