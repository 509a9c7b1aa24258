package dataset

import "io"

// edge is a row of a graph's table.
type edge struct {
	source, target int64
	score          float32
	score64        float64
	wide           bool // score64 is known
}

// WriteEdges writes a graph of n rows, given as to WriteCSR, in one of FormatsFor(EdgesWritten): as NPZ as WriteCSR
// does, without ids, else as a table with a row for each edge:
//
//	Parquet  source int64, target int64, score float, score64 double; source_id and target_id string before it, if
//	         names, the ids of the rows, are not nil. score64 is null where rows lack Scores64. Compressed with snappy
//	CSV      the same columns, with a header
//	JSONL    {"source":0,"target":7,"score":0.5,"score64":0.5}, with source_id and target_id where there are names
func WriteEdges(out io.Writer, format Format, rows EachResult, n int64, names *IDs) error {
	if c := codecOf(format); c.graph != nil {
		return c.graph(rows, n, out)
	}
	return writeTable(out, format, "edges", edgesOf(rows, names))
}

// edgesOf is the table of the edges of rows, whose names may be nil.
func edgesOf(rows EachResult, names *IDs) *table {
	fields := []field[edge]{
		{Column{Name: "source"}, func(c *tableCell, e *edge) { c.integer = e.source }},
		{Column{Name: "target"}, func(c *tableCell, e *edge) { c.integer = e.target }},
		{Column{Name: "score", Type: Float32}, func(c *tableCell, e *edge) { c.float = float64(e.score) }},
	}
	if names != nil {
		fields = append(fields,
			field[edge]{Column{Name: "source_id", Type: Text}, func(c *tableCell, e *edge) { c.text = names.Text(e.source) }},
			field[edge]{Column{Name: "target_id", Type: Text}, func(c *tableCell, e *edge) { c.text = names.Text(e.target) }})
	}
	fields = append(fields, field[edge]{Column{Name: score64Name, Type: Float64, Optional: true}, func(c *tableCell, e *edge) {
		c.float, c.missing = e.score64, !e.wide
	}})
	t := tableOf(fields, func(do func(e *edge) error) error {
		var e edge
		return rows(func(_ int64, r *Result) error {
			e.source, e.wide = r.Query, r.Scores64 != nil
			for at, target := range r.Rows {
				e.target, e.score = target, r.Scores[at]
				if e.wide {
					e.score64 = r.Scores64[at]
				}
				if err := do(&e); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if t.name = "edge"; names != nil {
		t.name = "namedEdge"
	}
	return t
}
