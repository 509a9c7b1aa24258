package dataset

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// longSchema says in which columns a table with a row for each query and atom has what.
type longSchema struct {
	query, id   string
	score, rank string // "" without
	ascending   bool   // the score is a distance
}

// longNames are the accepted names of each column.
func longNames() (query, id, score, distance, rank []string) {
	return []string{"query", "query_id", "query_index"}, []string{"id"},
		[]string{"score", "similarity"}, []string{"distance", "_distance"}, []string{"rank"}
}

// longForm describes the tables that are read, for messages.
const longForm = "answers have the columns query, id, score (or distance) and perhaps rank, a row for each query and vector, sorted by query"

// chooseLong finds the columns among all names of a table.
func chooseLong(all []string) (s longSchema, err error) {
	query, id, score, distance, rank := longNames()
	var scored string
	for _, c := range []struct {
		names  []string
		to     *string
		needed bool
	}{{query, &s.query, true}, {id, &s.id, true}, {append(score, distance...), &scored, false}, {rank, &s.rank, false}} {
		for _, name := range all {
			if !slices.Contains(c.names, name) {
				continue
			}
			if *c.to != "" {
				return s, fmt.Errorf("columns %s and %s: one of them is wanted", *c.to, name)
			}
			*c.to = name
		}
		if *c.to == "" && c.needed {
			return s, fmt.Errorf("no column %s; the file has %s; %s", strings.Join(c.names, " or "), listed(slices.Clone(all)), longForm)
		}
	}
	s.score, s.ascending = scored, slices.Contains(distance, scored)
	return s, nil
}

// longRow is a row of the table.
type longRow struct {
	query int64
	hit
}

// longResults gathers the rows of a table by query, which they are sorted by. The atoms of a
// query are sorted by rank or else by score, distances ascending. It holds the rows of one
// query.
type longResults struct {
	tableReader
	schema longSchema
	wants  []want
	row    []readCell
	file   string
	held   *longRow // first row of the next query
	last   bool     // there is none
	list   hitList
	err    error
}

// openLong opens the table of a file, whose name errors have. Before what is missing they have lacks.
func openLong(t tableReader, src *source, lacks string) (ResultReader, error) {
	all, err := t.columns()
	if err != nil {
		return nil, err
	}
	l := &longResults{tableReader: t, file: src.name, list: hitList{budget: src.budget}}
	if l.schema, err = chooseLong(columnNames(all, false)); err != nil {
		return nil, t.locate(-1, fmt.Errorf("%s%w", lacks, err))
	}
	for _, w := range []want{
		{name: l.schema.query, as: asInteger}, {name: l.schema.id, as: asID}, {name: l.schema.score, as: asScore}, {name: l.schema.rank, as: asInteger},
	} {
		if w.name != "" {
			l.wants = append(l.wants, w)
		}
	}
	l.row = make([]readCell, len(l.wants))
	return l, t.choose(l.wants)
}

// read reads the next row of the table.
func (l *longResults) read() (r longRow, err error) {
	err = l.next(l.row)
	if err == nil && l.row[0].integer < 0 {
		err = &cellError{0, fmt.Errorf("query %d is negative", l.row[0].integer)}
	}
	if err != nil {
		return r, placed(l, l.wants, "%s: %w", true, err)
	}
	r.query = l.row[0].integer
	id, more := &l.row[1], l.row[2:]
	r.id, r.name, r.named = id.integer, id.text, id.named
	if l.schema.score != "" {
		r.score, more = float32(more[0].float), more[1:]
	}
	if l.schema.rank != "" {
		r.rank = more[0].integer
	}
	return r, nil
}

func (l *longResults) Len() int64 { return -1 }

func (l *longResults) Next() (Result, error) {
	if l.err != nil {
		return Result{}, l.err
	}
	var r Result
	if r, l.err = l.gather(); l.err != nil {
		return Result{}, l.err
	}
	return r, nil
}

func (l *longResults) gather() (Result, error) {
	if l.last {
		return Result{}, io.EOF
	}
	if l.held == nil {
		row, err := l.read()
		if err != nil {
			return Result{}, err
		}
		l.held = &row
	}
	query := l.held.query
	for l.held != nil && l.held.query == query {
		if err := l.list.add(l.held.hit, l.schema.score != ""); err != nil {
			return Result{}, l.locate(-1, err)
		}
		row, err := l.read()
		if err == io.EOF {
			l.held, l.last = nil, true
			break
		}
		if err != nil {
			return Result{}, err
		}
		if row.query < query {
			return Result{}, l.locate(-1, fmt.Errorf("a row of query %d after one of query %d: sort the rows by query", row.query, query))
		}
		l.held = &row
	}
	if err := l.sort(); err != nil {
		return Result{}, fail(l.file, "query %d: %w", query, err)
	}
	return l.list.take(query), nil
}

// sort puts the hits of a query in order, best first.
func (l *longResults) sort() error {
	s, hits := l.schema, l.list.hits
	switch {
	case s.rank != "":
		slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(a.rank, b.rank) })
		for i := 1; i < len(hits); i++ {
			if hits[i].rank == hits[i-1].rank {
				return fmt.Errorf("rank %d appears twice", hits[i].rank)
			}
		}
	case s.ascending:
		slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.score, b.score) })
	case s.score != "":
		slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	}
	return nil
}
