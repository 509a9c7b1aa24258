package batch

import (
	"errors"
	"fmt"

	"thresher/collection"
)

// Placed returns r with its queries in float32 relative to c's Origin, as c's rows are, and with
// the Changes that this made. A request is placed once: searches place their own. A request whose
// queries need no change is returned as it is. Errors are *RequestError.
func (r Request) Placed(c *collection.Collection) (Request, error) {
	bad := func(query int, err error) (Request, error) {
		return r, &RequestError{Field: "queries", Query: query, Err: err}
	}
	if r.Queries64 != nil && r.Queries != nil {
		return bad(-1, errors.New("given both in float32 and in float64"))
	}
	values := max(len(r.Queries), len(r.Queries64))
	if values%c.Dim != 0 {
		return bad(-1, fmt.Errorf("%d values are no rows of the collection's %d dimensions", values, c.Dim))
	}
	if m := values / c.Dim; r.Changes != nil && len(r.Changes) != m {
		return bad(-1, fmt.Errorf("%d changes for %d queries", len(r.Changes), m))
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
			var at *collection.RowError
			if errors.As(err, &at) {
				err = fmt.Errorf("column %d: %w", at.Column, at.Err)
			}
			return bad(j, err)
		}
		changes[j] = change.Largest
		if given != nil {
			changes[j] += given[j]
		}
	}
	r.Queries, r.Queries64, r.Changes, r.Stored = queries, nil, changes, true
	return r, nil
}
