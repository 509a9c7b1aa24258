package dataset

import (
	"bufio"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// edge is a row of a graph's Parquet file; namedEdge has the atoms' own ids too.
type edge struct {
	Source int64   `parquet:"source"`
	Target int64   `parquet:"target"`
	Score  float32 `parquet:"score"`
}

type namedEdge struct {
	Source   int64   `parquet:"source"`
	Target   int64   `parquet:"target"`
	Score    float32 `parquet:"score"`
	SourceID string  `parquet:"source_id"`
	TargetID string  `parquet:"target_id"`
}

// WriteEdgesParquet writes a graph, given as to WriteCSR, as a table with a row for each edge:
// source int64, target int64, score float and, unless names is nil, source_id and target_id, the
// names of these atoms. It is compressed with snappy.
func WriteEdgesParquet(rows EachResult, names []string, out io.Writer) error {
	if names == nil {
		return writeEdges(rows, out, func(source, target int64, score float32) edge { return edge{source, target, score} })
	}
	return writeEdges(rows, out, func(source, target int64, score float32) namedEdge {
		return namedEdge{source, target, score, names[source], names[target]}
	})
}

func writeEdges[T any](rows EachResult, out io.Writer, row func(source, target int64, score float32) T) error {
	w := parquet.NewGenericWriter[T](out, parquet.Compression(&parquet.Snappy))
	held := 0
	var list []T
	err := rows(func(_ int64, r *Result) error {
		if held > 0 && held+len(r.Rows) > resultGroup {
			held = 0
			if err := w.Flush(); err != nil {
				return err
			}
		}
		held += len(r.Rows)
		list = list[:0]
		for at, target := range r.Rows {
			list = append(list, row(r.Query, target, r.Scores[at]))
		}
		_, err := w.Write(list)
		return err
	})
	if err != nil {
		return err
	}
	return w.Close()
}

// WriteEdgesJSONL writes a graph, given as to WriteCSR, as JSON lines with an object for each edge:
// {"source":0,"target":7,"score":0.5} and, unless names is nil, source_id and target_id.
func WriteEdgesJSONL(rows EachResult, names []string, out io.Writer) error {
	w := bufio.NewWriterSize(out, streamBuffer)
	var line []byte
	err := rows(func(_ int64, r *Result) error {
		for at, target := range r.Rows {
			line = append(line[:0], `{"source":`...)
			line = strconv.AppendInt(line, r.Query, 10)
			line = append(line, `,"target":`...)
			line = strconv.AppendInt(line, target, 10)
			line = append(line, `,"score":`...)
			line = appendFloat(line, r.Scores[at])
			if names != nil {
				line = appendString(append(line, `,"source_id":`...), names[r.Query])
				line = appendString(append(line, `,"target_id":`...), names[target])
			}
			if _, err := w.Write(append(line, "}\n"...)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.Flush()
}
