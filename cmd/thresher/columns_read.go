package main

import (
	"strings"

	"thresher/dataset"
	"thresher/internal/cli"
)

// columnsRead says which columns, fields or arrays of the files made the vectors, for people; ""
// for files without names.
type columnsRead struct {
	VectorColumns string `json:"vector_columns,omitempty"`
	QueryColumns  string `json:"query_columns,omitempty"`
}

// columnsOf returns which columns of two files were read; queries may be nil.
func columnsOf(vectors dataset.Layout, queries dataset.Reader) columnsRead {
	c := columnsRead{VectorColumns: vectors.String()}
	if queries != nil {
		c.QueryColumns = dataset.LayoutOf(queries).String()
	}
	return c
}

// print adds what is known to a summary.
func (c columnsRead) print(t *cli.Table) {
	var parts []string
	if c.VectorColumns != "" {
		parts = append(parts, "vectors from "+c.VectorColumns)
	}
	if c.QueryColumns != "" {
		parts = append(parts, "queries from "+c.QueryColumns)
	}
	if len(parts) > 0 {
		t.Row("columns", strings.Join(parts, "; "))
	}
}
