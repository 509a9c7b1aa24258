package batch

import (
	"errors"
	"fmt"

	"thresher/collection"
)

// Placed returns r with its queries in float32 relative to c's Origin, as c's rows are, and with
// the Changes that this made. For vectors of float64 queries are kept as they were given, too, in Queries64. A request is placed once: searches place their own. A request whose
// queries need no change is returned as it is. Errors are *RequestError.
func (r Request) Placed(c *collection.Collection) (Request, error) {
	bad := func(query int, err error) (Request, error) {
		return r, &RequestError{Field: "queries", Query: query, Err: err}
	}
	placed64 := c.Float64() && r.Stored && r.Queries64 != nil && len(r.Queries) == len(r.Queries64)
	if r.Queries64 != nil && r.Queries != nil && !placed64 {
		return bad(-1, errors.New("given both in float32 and in float64"))
	}
	values := max(len(r.Queries), len(r.Queries64))
	if values%c.Dim != 0 {
		return bad(-1, fmt.Errorf("%d values are no rows of the collection's %d dimensions", values, c.Dim))
	}
	if m := values / c.Dim; r.Changes != nil && len(r.Changes) != m {
		return bad(-1, fmt.Errorf("%d changes for %d queries", len(r.Changes), m))
	}
	if placed64 {
		return r, nil
	}
	if c.Float64() {
		return r.placed64(c, bad)
	}
	if r.Queries64 == nil && (c.Origin == nil || r.Stored) {
		return r, nil
	}
	given, changes := r.Changes, make([]float64, values/c.Dim)
	queries, row := make([]float32, values), make([]float64, c.Dim)
	for j := range changes {
		at := j * c.Dim
		if r.Queries64 != nil {
			row = r.Queries64[at : at+c.Dim]
		} else {
			for i, x := range r.Queries[at : at+c.Dim] {
				row[i] = float64(x)
			}
		}
		change, err := collection.Narrow(queries[at:at+c.Dim], row, c.Dim, c.Origin)
		if err != nil {
			return bad(j, columnOf(err))
		}
		changes[j] = change.Largest
		if given != nil {
			changes[j] += given[j]
		}
	}
	r.Queries, r.Queries64, r.Changes, r.Stored = queries, nil, changes, true
	return r, nil
}

// placed64 is Placed for vectors of float64, which are scored for the queries as given. bad makes an error.
func (r Request) placed64(c *collection.Collection, bad func(int, error) (Request, error)) (Request, error) {
	if r.Stored && r.Queries64 == nil && len(r.Queries) > 0 {
		return bad(-1, errors.New("rounded to float32 where the vectors are of float64"))
	}
	given := r.Queries64
	if given == nil {
		given = make([]float64, len(r.Queries))
		for i, x := range r.Queries {
			given[i] = float64(x)
		}
	}
	queries := make([]float32, len(given))
	for j := 0; j*c.Dim < len(given); j++ {
		row := given[j*c.Dim : (j+1)*c.Dim]
		_, err := collection.Narrow(queries[j*c.Dim:(j+1)*c.Dim], row, c.Dim, c.Origin)
		if err != nil {
			return bad(j, columnOf(err))
		}
		if err := c.Metric.CheckGiven(row); err != nil {
			return bad(j, err)
		}
	}
	r.Queries, r.Queries64, r.Stored = queries, given, true
	return r, nil
}

// columnOf returns the error of a query, without its number, which the error of a request has.
func columnOf(err error) error {
	var at *collection.RowError
	if errors.As(err, &at) {
		return fmt.Errorf("column %d: %w", at.Column, at.Err)
	}
	return err
}
