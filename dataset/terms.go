package dataset

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// Term is one step of a matching pursuit of a signal: a vector, its coefficient, and what is then left of the signal.
type Term struct {
	Signal, Step int64 // 0-based; Step counts the terms of the signal
	Row          int64 // of the vector, 0-based
	Coefficient  float64
	Residual     float64 // length of what is left once coefficient times vector is subtracted
	Pulls        int64   // coordinates of vectors read for the step
}

// EachTerm calls do with every term and returns its first error. Whenever it is called, it calls do with the same terms in
// the same order. The term is valid during the call.
type EachTerm func(do func(m *Term) error) error

// TermTable describes the terms of a file.
type TermTable struct {
	Count int64 // terms
	// Signals and Vectors are the ids of the rows; if not nil they are written beside the row numbers.
	Signals, Vectors *RowIDs
	// WithoutPulls leaves out the column pulls.
	WithoutPulls bool
}

// RowIDs are the ids of rows.
type RowIDs struct {
	Of      func(row int64) string
	Longest int // letters of the longest, which NPZ needs
}

// RowIDsOf returns ids, one a row; nil for nil.
func RowIDsOf(ids *IDs) *RowIDs {
	if ids == nil {
		return nil
	}
	longest := 0
	for row := range int64(ids.Len()) {
		longest = max(longest, utf8.RuneCountInString(ids.Text(row)))
	}
	return &RowIDs{Of: ids.Text, Longest: longest}
}

// WriteTerms writes terms as a table with a row for each:
//
//	Parquet  signal int64, step int64, vector int64, coefficient double, residual double, pulls int64; signal_id and
//	         vector_id string where there are ids
//	CSV      the same columns, with a header
//	JSONL    {"signal":0,"step":0,"vector":7,"coefficient":3,"residual":1.5,"pulls":640}, with ids where there are any
//	NPZ      the same arrays, one element a term
func WriteTerms(out io.Writer, format Format, each EachTerm, t *TermTable) error {
	fields := []field[Term]{{Column{Name: "signal"}, func(c *tableCell, m *Term) { c.integer = m.Signal }}}
	name := "term"
	if t.Signals != nil {
		fields, name = append(fields, idsField("signal_id", t.Signals, func(m *Term) int64 { return m.Signal })), "namedTerm"
	}
	fields = append(fields,
		field[Term]{Column{Name: "step"}, func(c *tableCell, m *Term) { c.integer = m.Step }},
		field[Term]{Column{Name: "vector"}, func(c *tableCell, m *Term) { c.integer = m.Row }})
	if t.Vectors != nil {
		fields, name = append(fields, idsField("vector_id", t.Vectors, func(m *Term) int64 { return m.Row })), "namedTerm"
	}
	fields = append(fields,
		field[Term]{Column{Name: "coefficient", Type: Float64}, func(c *tableCell, m *Term) { c.float = m.Coefficient }},
		field[Term]{Column{Name: "residual", Type: Float64}, func(c *tableCell, m *Term) { c.float = m.Residual }})
	if !t.WithoutPulls {
		fields = append(fields, field[Term]{Column{Name: "pulls"}, func(c *tableCell, m *Term) { c.integer = m.Pulls }})
	}
	table := tableOf(fields, each)
	table.name, table.rows = name, t.Count
	return writeTable(out, format, "terms", table)
}

// idsField is the column of the ids of rows.
func idsField(name string, ids *RowIDs, row func(m *Term) int64) field[Term] {
	return field[Term]{Column{Name: name, Type: Text, Length: ids.Longest}, func(c *tableCell, m *Term) { c.text = ids.Of(row(m)) }}
}

// TermBytes is the length of a term in a log of terms: its fields in their order, 8 bytes each, little endian.
const TermBytes = 48

// AppendTerms appends terms to a log of terms.
func AppendTerms(log []byte, terms []Term) []byte {
	for i := range terms {
		m := &terms[i]
		for _, v := range [...]uint64{uint64(m.Signal), uint64(m.Step), uint64(m.Row), math.Float64bits(m.Coefficient), math.Float64bits(m.Residual), uint64(m.Pulls)} {
			log = binary.LittleEndian.AppendUint64(log, v)
		}
	}
	return log
}

// TermLog returns the terms of a log of so many bytes, which must be a multiple of TermBytes. They are read anew whenever
// it is called, and are never all in memory.
func TermLog(log io.ReaderAt, bytes int64) (EachTerm, error) {
	if bytes%TermBytes != 0 {
		return nil, fmt.Errorf("a log of %d bytes ends within a term of %d", bytes, TermBytes)
	}
	return func(do func(m *Term) error) error {
		in := bufio.NewReaderSize(io.NewSectionReader(log, 0, bytes), 1<<16)
		var b [TermBytes]byte
		for range bytes / TermBytes {
			if _, err := io.ReadFull(in, b[:]); err != nil {
				return err
			}
			at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
			m := Term{int64(at(0)), int64(at(1)), int64(at(2)), math.Float64frombits(at(3)), math.Float64frombits(at(4)), int64(at(5))}
			if err := do(&m); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
