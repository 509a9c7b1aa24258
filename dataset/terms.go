package dataset

import (
	"io"
	"unicode/utf8"
)

// Term is one step of a matching pursuit of a signal: an atom, its coefficient, and what is then left of the signal.
type Term struct {
	Signal, Step int64 // 0-based; Step counts the terms of the signal
	Atom         int64 // its row, 0-based
	Coefficient  float64
	Residual     float64 // length of what is left once coefficient times atom is subtracted
	Pulls        int64   // coordinates of atoms read for the step
}

// TermTable describes the terms of a file.
type TermTable struct {
	// Signals and Atoms are the ids of the rows; if not nil they are written beside the row numbers.
	Signals, Atoms []string
}

// WriteTerms writes terms as a table with a row for each:
//
//	Parquet  signal int64, step int64, atom int64, coefficient double, residual double, pulls int64; signal_id and
//	         atom_id string where there are ids
//	CSV      the same columns, with a header
//	JSONL    {"signal":0,"step":0,"atom":7,"coefficient":3,"residual":1.5,"pulls":640}, with ids where there are any
//	NPZ      the same arrays, one element a term
func WriteTerms(out io.Writer, format Format, terms []Term, t *TermTable) error {
	fields := []field[Term]{{Column{Name: "signal"}, func(c *tableCell, m *Term) { c.integer = m.Signal }}}
	name := "term"
	if t.Signals != nil {
		fields, name = append(fields, idsField("signal_id", t.Signals, func(m *Term) int64 { return m.Signal })), "namedTerm"
	}
	fields = append(fields,
		field[Term]{Column{Name: "step"}, func(c *tableCell, m *Term) { c.integer = m.Step }},
		field[Term]{Column{Name: "atom"}, func(c *tableCell, m *Term) { c.integer = m.Atom }})
	if t.Atoms != nil {
		fields, name = append(fields, idsField("atom_id", t.Atoms, func(m *Term) int64 { return m.Atom })), "namedTerm"
	}
	fields = append(fields,
		field[Term]{Column{Name: "coefficient", Type: Float64}, func(c *tableCell, m *Term) { c.float = m.Coefficient }},
		field[Term]{Column{Name: "residual", Type: Float64}, func(c *tableCell, m *Term) { c.float = m.Residual }},
		field[Term]{Column{Name: "pulls"}, func(c *tableCell, m *Term) { c.integer = m.Pulls }})
	table := tableOf(fields, func(do func(m *Term) error) error {
		for i := range terms {
			if err := do(&terms[i]); err != nil {
				return err
			}
		}
		return nil
	})
	table.name, table.rows = name, int64(len(terms))
	return writeTable(out, format, "terms", table)
}

// idsField is the column of the ids of rows.
func idsField(name string, ids []string, row func(m *Term) int64) field[Term] {
	longest := 0
	for _, id := range ids {
		longest = max(longest, utf8.RuneCountInString(id))
	}
	return field[Term]{Column{Name: name, Type: Text, Length: longest}, func(c *tableCell, m *Term) { c.text = ids[row(m)] }}
}
