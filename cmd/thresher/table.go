package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// table writes aligned columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) *table {
	return &table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
}

func (t *table) row(cells ...any) {
	text := make([]string, len(cells))
	for i, c := range cells {
		text[i] = printableLine(fmt.Sprint(c))
	}
	fmt.Fprintln(t.w, strings.Join(text, "\t")) // errors come with flush
}

func (t *table) flush() error { return t.w.Flush() }
