package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"thresher/dataset"
	"thresher/tasks"
)

// rowBlocks divides n rows into blocks. It implements jobs.Source; a chunk is the number of rows of
// a block.
type rowBlocks struct {
	next, n, size int64
	log           string // file of the results of the rows before next
	resume        func(log io.ReadSeeker) error
}

// Skip goes on after the first rows, from what the log has of them.
func (b *rowBlocks) Skip(_ context.Context, rows int64) error {
	b.next = rows
	log, err := os.Open(b.log)
	if err != nil {
		return err
	}
	defer log.Close()
	return b.resume(log)
}

// Next returns the next block.
func (b *rowBlocks) Next(context.Context) (int, int, error) {
	rows := int(min(b.size, b.n-b.next))
	if rows <= 0 {
		return 0, 0, io.EOF
	}
	b.next += int64(rows)
	return rows, rows, nil
}

// graphRows writes the rows of a graph.
type graphRows struct {
	n     int
	names *dataset.IDs // of the atoms, nil without
	graph *tasks.GraphSearch
}

// resume makes the graph go on from its log.
func (g *graphRows) resume(log io.ReadSeeker) error { return g.graph.Resume(recordsOf(log)) }

// recordsOf reads the results of a log.
func recordsOf(log io.ReadSeeker) dataset.EachResult {
	return func(do func(i int64, r *dataset.Result) error) error { return dataset.EachRecord(log, do) }
}

// write reads the rows from their log and writes the graph in a format.
func (g *graphRows) write(log io.ReadSeeker, format dataset.Format, out io.Writer) error {
	rows, err := g.graph.Rows(recordsOf(log))
	if err != nil {
		return err
	}
	return dataset.WriteEdges(out, format, rows, int64(g.n), g.names)
}

// describeGraph is the summary's row of a graph.
func (s *summary) describeGraph() string {
	g := s.Graph
	text := fmt.Sprintf("%d rows of %d neighbours, %s", g.Rows, s.K, g.Kind)
	if g.Edges > 0 {
		text += fmt.Sprintf(": %d edges", g.Edges)
	}
	if s.Resumed > 0 {
		text += fmt.Sprintf("; %d rows by an earlier run", s.Resumed)
	}
	return text
}
