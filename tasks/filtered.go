package tasks

import "fmt"

// Filtered says by which filter vectors were searched, so that figures are not read as those of all vectors; zero without one.
type Filtered struct {
	// Filter is the expression of all queries, and Allowed of how many vectors it is true.
	Filter  string `json:"filter,omitempty"`
	Allowed int    `json:"allowed,omitempty"`
	// FilterColumn is the column of the queries with an expression for each.
	FilterColumn string `json:"filter_column,omitempty"`
}

// Words says it for a summary; "" without a filter.
func (f *Filtered) Words() string {
	switch {
	case f.FilterColumn != "":
		return fmt.Sprintf("of each query, column %q", f.FilterColumn)
	case f.Filter != "":
		return fmt.Sprintf("allows %d of the vectors", f.Allowed)
	}
	return ""
}
