package dataset

import "io"

// edge is a row of a graph's table.
type edge struct {
	source, target int64
	score          float32
	score64        float64
	wide           bool // score64 is known
}

// WriteEdgesParquet writes a graph, given as to WriteCSR, as a table with a row for each edge:
// source int64, target int64, score float, unless names is nil source_id and target_id, the names of these atoms,
// and score64 double, which is null where rows lack Scores64. It is compressed with snappy.
func WriteEdgesParquet(rows EachResult, names []string, out io.Writer) error {
	return writeTable(out, Parquet, "edges", edgesOf(rows, names))
}

// WriteEdgesJSONL writes a graph, given as to WriteCSR, as JSON lines with an object for each edge:
// {"source":0,"target":7,"score":0.5,"score64":0.5}, the last where rows have Scores64, and, unless names is nil,
// source_id and target_id before it.
func WriteEdgesJSONL(rows EachResult, names []string, out io.Writer) error {
	return writeTable(out, JSONL, "edges", edgesOf(rows, names))
}

// edgesOf is the table of the edges of rows, whose names may be nil.
func edgesOf(rows EachResult, names []string) *table {
	fields := []field[edge]{
		{Column{Name: "source"}, func(c *tableCell, e *edge) { c.integer = e.source }},
		{Column{Name: "target"}, func(c *tableCell, e *edge) { c.integer = e.target }},
		{Column{Name: "score", Type: Float32}, func(c *tableCell, e *edge) { c.float = float64(e.score) }},
	}
	if names != nil {
		fields = append(fields,
			field[edge]{Column{Name: "source_id", Type: Text}, func(c *tableCell, e *edge) { c.text = names[e.source] }},
			field[edge]{Column{Name: "target_id", Type: Text}, func(c *tableCell, e *edge) { c.text = names[e.target] }})
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
