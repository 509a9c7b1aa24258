package dataset

import (
	"io"
	"math"
)

// Pair is a row of one table, a row of the same or another table, and their score.
type Pair struct {
	A, B  int64 // 0-based
	Score float32
	// Score64 is the score before it is rounded to float32. Given back as the limit of scores it lets the pair
	// through. NaN: an earlier version found the pair, and kept Score alone.
	Score64 float64
}

// EachPair calls do with every pair and returns its first error. Whenever it is called, it calls
// do with the same pairs in the same order. The pair is valid during the call.
type EachPair func(do func(p *Pair) error) error

// PairTable describes the pairs of a file.
type PairTable struct {
	// RowsA and RowsB are the numbers of rows of the two tables.
	RowsA, RowsB int64
	// NamesA and NamesB are the ids of the rows; if not nil they are written beside the row
	// numbers.
	NamesA, NamesB *IDs
	// Count is the number of pairs.
	Count int64
}

// WritePairs writes pairs as a table with a row for each:
//
//	Parquet  a int64, b int64, score float, score64 double; a_id and b_id string where there are names, before
//	         score64. A score64 that is not known is null
//	CSV      the same columns, with a header
//	JSONL    {"a":0,"b":7,"score":0.93,"score64":0.9300000001}, with a_id and b_id where there are names
//	NPZ      the sparse matrix [RowsA, RowsB] of scores that scipy.sparse.save_npz writes in
//	         the format coo: row, col, format, shape and data, and beside them scores64; without names
//
// It holds at most 1,048,576 pairs in memory.
func WritePairs(out io.Writer, format Format, each EachPair, t *PairTable) error {
	if format == NPZ {
		return writeCOO(out, each, t)
	}
	named := t.NamesA != nil || t.NamesB != nil
	both := named && format == Parquet // of which one may be null throughout
	fields := []field[Pair]{
		{Column{Name: "a"}, func(c *tableCell, p *Pair) { c.integer = p.A }},
		{Column{Name: "b"}, func(c *tableCell, p *Pair) { c.integer = p.B }},
		{Column{Name: "score", Type: Float32}, func(c *tableCell, p *Pair) { c.float = float64(p.Score) }},
	}
	if t.NamesA != nil || both {
		fields = append(fields, nameField("a_id", t.NamesA, func(p *Pair) int64 { return p.A }))
	}
	if t.NamesB != nil || both {
		fields = append(fields, nameField("b_id", t.NamesB, func(p *Pair) int64 { return p.B }))
	}
	fields = append(fields, field[Pair]{Column{Name: score64Name, Type: Float64, Optional: true}, func(c *tableCell, p *Pair) {
		c.float, c.missing = p.Score64, math.IsNaN(p.Score64)
	}})
	pairs := tableOf(fields, each)
	if pairs.name = "parquetPair"; named {
		pairs.name = "namedPair"
	}
	return writeTable(out, format, "pairs", pairs)
}

// nameField is the column of the names of rows, which may be nil.
func nameField(name string, names *IDs, row func(p *Pair) int64) field[Pair] {
	return field[Pair]{Column{Name: name, Type: Text, Optional: true}, func(c *tableCell, p *Pair) {
		if names != nil {
			c.text = names.Text(row(p))
		}
	}}
}
