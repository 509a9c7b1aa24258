package main

import (
	"context"
	"fmt"
	"io"

	"thresher/batch"
	"thresher/dataset"
	"thresher/tasks"
)

// queryRows are consecutive queries.
type queryRows struct {
	values  []float32
	changes []float64 // of each, by rounding to float32; nil if none can have one
	rests   []float32 // what each value lacks of the one given, if that is kept
	given   []float64 // values as given, for atoms of float64; else nil
	ids     []string  // of each; nil if the file has none
}

// ask sets the queries of a request, which are relative to the origin of the atoms.
func (q *queryRows) ask(req *batch.Request) {
	if q.given != nil {
		req.Queries64 = q.given
		return
	}
	req.Queries, req.Changes, req.Stored = q.values, q.changes, true
}

// checkSelves checks that the queries, numbered from first, are the atoms of these numbers.
func (q *queryRows) checkSelves(a *atoms, first int64) error {
	switch {
	case a.rows != nil && q.given != nil:
		return tasks.CheckGivenSelvesOfRows(q.given, a.rows, first, first)
	case a.rows != nil:
		return tasks.CheckSelvesOfRows(q.values, a.rows, first, first)
	case q.given != nil:
		return tasks.CheckGivenSelves(q.given, a.block, first, first)
	}
	return tasks.CheckStoredSelves(q.values, a.block, first, first)
}

// queryChunks yields the rows of a file as the chunks of a job. It implements
// jobs.Source; a chunk is whole rows.
type queryChunks struct {
	in     input
	r      dataset.Reader
	chunk  int
	memory [2][]float32 // one chunk is read while the other is searched
	turn   int
	ended  bool
	given  bool  // queries are wanted as given
	before int64 // rows that are skipped before the first
	left   int64 // rows that are wanted; -1: all
}

// chunkElements bounds the memory of a chunk of long queries: 256 MiB.
const chunkElements = 1 << 26

func newQueryChunks(in input, r dataset.Reader, chunk int) *queryChunks {
	chunk = max(1, min(chunk, chunkElements/r.Dim()))
	if n := r.Len(); n >= 0 {
		chunk = int(min(int64(chunk), max(n, 1)))
	}
	return &queryChunks{in: in, r: r, chunk: chunk, left: -1}
}

// within restricts the rows to a part of them; nil is all.
func (s *queryChunks) within(p *tasks.QueryPart) *queryChunks {
	if p != nil {
		s.before, s.left = p.First, p.Count
		s.chunk = int(min(int64(s.chunk), p.Count))
	}
	return s
}

// relativeTo makes the queries relative to the origin of the atoms, before any is read.
func (s *queryChunks) relativeTo(origin []float64) *queryChunks {
	s.r = dataset.RelativeTo(s.r, origin)
	return s
}

// forAtoms is relativeTo for what atoms need: their origin or, if they are kept as float64, the queries as given.
func (s *queryChunks) forAtoms(a *atoms) *queryChunks {
	if !a.Float64() {
		return s.relativeTo(a.Origin)
	}
	s.given, s.chunk = true, max(1, min(s.chunk, chunkElements/3/s.r.Dim()))
	dataset.KeepGiven(s.r)
	return s
}

// keepRests makes the chunks have what rounding takes from the queries, if that is wanted.
func (s *queryChunks) keepRests(wanted bool) *queryChunks {
	if wanted {
		dataset.KeepRests(s.r)
	}
	return s
}

// comparedBytes is the memory of an atom of an answer that is compared with another answer: ids
// and scores of both.
const comparedBytes = 48

// forAnswers reduces the chunks so that the answers to one, of so many atoms at most, take at
// most chunkBytes when they are compared with others.
func (s *queryChunks) forAnswers(longest int) *queryChunks {
	s.chunk = max(1, min(s.chunk, chunkBytes/(comparedBytes*max(longest, 1))))
	return s
}

// Skip skips the first rows.
func (s *queryChunks) Skip(ctx context.Context, rows int64) error {
	if s.left >= 0 {
		s.left -= rows
	}
	rows += s.before
	s.before = 0
	for left := rows; left > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := s.r.Read(s.buffer()[:min(left, int64(s.chunk))*int64(s.r.Dim())])
		left -= int64(n)
		if err == io.EOF {
			return fmt.Errorf("%s: has only %d queries, but %d are answered already", s.in.name, rows-left, rows)
		}
		if err != nil {
			return s.in.named(err)
		}
	}
	return nil
}

// Next returns the next chunk.
func (s *queryChunks) Next(ctx context.Context) (next queryRows, rows int, err error) {
	if s.before > 0 {
		if err := s.Skip(ctx, 0); err != nil {
			return next, 0, err
		}
	}
	if s.ended || s.left == 0 {
		return next, 0, io.EOF
	}
	s.turn = 1 - s.turn
	buf, dim, chunk := s.buffer(), s.r.Dim(), s.chunk
	if s.left >= 0 {
		chunk = int(min(int64(chunk), s.left))
	}
	for rows < chunk {
		if err := ctx.Err(); err != nil {
			return next, 0, err
		}
		n, err := s.r.Read(buf[rows*dim : chunk*dim])
		if s.given {
			next.given = dataset.AppendGiven(next.given, s.r, buf[rows*dim:(rows+n)*dim])
		}
		rows += n
		if !s.given { // else nothing is rounded
			next.changes = append(next.changes, dataset.RowChanges(s.r)...)
			next.rests = append(next.rests, dataset.RestsOf(s.r)...)
		}
		next.ids = append(next.ids, s.r.IDs()...)
		if err == io.EOF {
			s.ended = true
			break
		}
		if err != nil {
			return next, 0, s.in.named(err)
		}
	}
	if rows == 0 {
		return next, 0, io.EOF
	}
	if s.left >= 0 {
		s.left -= int64(rows)
	}
	next.values = buf[:rows*dim]
	return next, rows, nil
}

func (s *queryChunks) buffer() []float32 {
	if s.memory[s.turn] == nil {
		s.memory[s.turn] = make([]float32, s.chunk*s.r.Dim())
	}
	return s.memory[s.turn]
}
