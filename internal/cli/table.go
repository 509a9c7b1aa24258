package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table writes aligned columns.
type Table struct{ w *tabwriter.Writer }

// NewTable returns a table that is written to w by Flush.
func NewTable(w io.Writer) *Table {
	return &Table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
}

// Row adds a row; none of its cells spoils the terminal or the columns.
func (t *Table) Row(cells ...any) {
	text := make([]string, len(cells))
	for i, c := range cells {
		text[i] = PrintableLine(fmt.Sprint(c))
	}
	fmt.Fprintln(t.w, strings.Join(text, "\t")) // errors come with Flush
}

// Flush writes the rows.
func (t *Table) Flush() error { return t.w.Flush() }
