package problem

import (
	"errors"

	"thresher/columns"
)

// OfFilter returns the problem of a filter, which a request calls field; it names the place in the filter.
func OfFilter(err error, field string) *Problem {
	var of *columns.ExprError
	if errors.As(err, &of) && of.Path != "" {
		field += "." + of.Path
	}
	return New(InvalidValue, "%v", err).In(field).Because(err)
}
