package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"thresher/collection"
	"thresher/dataset"
	"thresher/join"
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
	n, k                         int
	metric                       collection.Metric
	names                        []string // of the atoms, nil without
	symmetric, mutual, distances bool

	graph *join.Graph
	edges int64 // written
}

// resume makes the graph go on from its log.
func (g *graphRows) resume(log io.ReadSeeker) error {
	return g.graph.Resume(func(do func(i int64, r *dataset.Result) error) error { return dataset.EachRecord(log, do) })
}

// check refuses what this graph cannot have, and memory that is not there, before the search.
func (g *graphRows) check() error {
	if g.distances && g.metric == collection.InnerProduct {
		return errors.New("--distances: an inner product is no distance; leave it out, or use --metric cosine or l2")
	}
	if g.symmetric || g.mutual {
		return needMemory(fmt.Sprintf("joining the directions of %d rows of %d neighbours", g.n, g.k), join.UndirectedBytes(g.n, g.k))
	}
	return nil
}

// write reads the rows from their log and writes the graph in a format.
func (g *graphRows) write(log io.ReadSeeker, format dataset.Format, out io.Writer) error {
	if !g.graph.Complete() { // all rows were found by an earlier run
		if err := g.resume(log); err != nil {
			return err
		}
	}
	rows := g.graph.Rows(func(do func(i int64, r *dataset.Result) error) error { return dataset.EachRecord(log, do) })
	if g.symmetric || g.mutual {
		u, err := join.NewUndirected(rows, g.n, g.k, g.metric.Differences(), g.mutual)
		if err != nil {
			return err
		}
		rows = u.Each
	}
	rows = g.counted(rows)
	switch format {
	case dataset.NPZ:
		return dataset.WriteCSR(rows, int64(g.n), out)
	case dataset.Parquet:
		return dataset.WriteEdgesParquet(rows, g.names, out)
	}
	return dataset.WriteEdgesJSONL(rows, g.names, out)
}

// counted counts the edges of rows and, if they are wanted, makes their scores distances.
func (g *graphRows) counted(rows dataset.EachResult) dataset.EachResult {
	return func(do func(i int64, r *dataset.Result) error) error {
		g.edges = 0
		return rows(func(i int64, r *dataset.Result) error {
			g.edges += int64(len(r.Rows))
			if g.distances {
				for at, s := range r.Scores {
					r.Scores[at] = g.distance(s)
				}
			}
			return do(i, r)
		})
	}
}

// distance is the distance that a score stands for.
func (g *graphRows) distance(score float32) float32 {
	if g.metric.Differences() {
		return float32(math.Sqrt(float64(score)))
	}
	return max(0, 1-score)
}

// graphSummary is what the summary says of a graph.
type graphSummary struct {
	Rows  int    `json:"rows"`
	Edges int64  `json:"edges,omitempty"` // 0 if an earlier run wrote the graph
	Kind  string `json:"kind"`            // directed, symmetric or mutual
	Value string `json:"values"`          // score or distance
}

func (g *graphRows) summary() *graphSummary {
	s := &graphSummary{Rows: g.n, Edges: g.edges, Kind: "directed", Value: "score"}
	switch {
	case g.symmetric:
		s.Kind = "symmetric"
	case g.mutual:
		s.Kind = "mutual"
	}
	if g.distances {
		s.Value = "distance"
	}
	return s
}

// describe is the summary's row of a graph.
func (g *graphSummary) describe(s *summary) string {
	text := fmt.Sprintf("%d rows of %d neighbours, %s", g.Rows, s.K, g.Kind)
	if g.Edges > 0 {
		text += fmt.Sprintf(": %d edges", g.Edges)
	}
	if s.Resumed > 0 {
		text += fmt.Sprintf("; %d rows by an earlier run", s.Resumed)
	}
	return text
}
