package dataset

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Queries are the queries that answers are to, for files of answers that call them by ids, list them in any order, or
// have no row for those without hits.
type Queries struct {
	Len func() (int64, error) // their number
	IDs func() (*IDs, error)  // what they are called; nil if they have no ids
}

// longSchema says in which columns a table with a row for each query and atom has what.
type longSchema struct {
	query, id   string
	score, rank string // "" without
	ascending   bool   // the score is a distance
}

// longNames are the accepted names of each column.
func longNames() (query, id, score, distance, rank []string) {
	return []string{"query", "query_id", "query_index", "query-id", "qid"}, []string{"id", "_id", "corpus-id", "corpus_id", "doc_id", "docid", "docno"},
		[]string{"score", "similarity", "_score"}, []string{"distance", "_distance", "dist", "$dist"}, []string{"rank"}
}

// namesQueries are the names of columns whose integers may be ids of queries; in others they are rows.
func namesQueries() []string { return []string{"query_id", "query-id", "qid"} }

// longForm describes the tables that are read, for messages.
const longForm = "answers have the columns query, id, score (or distance) and perhaps rank, a row for each query and vector"

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
	at     int64 // its number in the table, 0-based
	query  int64
	called string // the query's id, if named
	asked  bool   // the query is named
	hit
}

// longMemory is what a row takes beside its texts.
const longMemory = 104

// longResults gathers the rows of a table by query. They are held, as far as the budget allows, and may be in any
// order; what is beyond must be sorted by query. The atoms of a query are sorted by rank or else by score, distances
// ascending.
type longResults struct {
	tableReader
	schema  longSchema
	wants   []want
	row     []readCell
	file    string
	budget  *Budget
	queries *Queries  // nil if nobody knows them
	held    []longRow // by query
	size    int64     // of the memory of held
	read    int64     // rows
	begun   bool
	more    bool  // rows follow those held
	at      int64 // the next query
	count   int64 // queries, -1 if not known
	list    hitList
	err     error
}

// openLong opens the table of a file, whose name errors have. Before what is missing they have lacks.
func openLong(t tableReader, src *source, lacks string) (ResultReader, error) {
	all, err := t.columns()
	if err != nil {
		return nil, err
	}
	l := &longResults{tableReader: t, file: src.name, budget: src.budget, count: -1, list: hitList{budget: src.budget}}
	if l.schema, err = chooseLong(columnNames(all, false)); err != nil {
		return nil, t.locate(-1, fmt.Errorf("%s%w", lacks, err))
	}
	for _, w := range []want{
		{name: l.schema.query, as: asQuery}, {name: l.schema.id, as: asID}, {name: l.schema.score, as: asScore}, {name: l.schema.rank, as: asInteger},
	} {
		if w.name != "" {
			l.wants = append(l.wants, w)
		}
	}
	l.row = make([]readCell, len(l.wants))
	return l, t.choose(l.wants)
}

// ask says which queries the answers are to. It is called before the first Next.
func (l *longResults) ask(q *Queries) { l.queries = q }

// readRow reads the next row of the table.
func (l *longResults) readRow() (r longRow, err error) {
	err = l.tableReader.next(l.row)
	if err == nil && !l.row[0].named && l.row[0].integer < 0 {
		err = &cellError{0, fmt.Errorf("query %d is negative", l.row[0].integer)}
	}
	if err != nil {
		return r, placed(l, l.wants, "%s: %w", true, err)
	}
	r.at = l.read
	l.read++
	r.query, r.called, r.asked = l.row[0].integer, l.row[0].text, l.row[0].named
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
	if l.err == nil && !l.begun {
		l.begun, l.err = true, l.begin()
	}
	if l.err != nil {
		return Result{}, l.err
	}
	var r Result
	if r, l.err = l.gather(); l.err != nil {
		return Result{}, l.err
	}
	return r, nil
}

// begin reads as many rows as may be held, and sorts them by query.
func (l *longResults) begin() error {
	sorted, named := true, false
	for {
		row, err := l.readRow()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		n := len(l.held)
		sorted = sorted && (n == 0 || row.query >= l.held[n-1].query)
		named = named || row.asked
		l.hold(row)
		if l.size > l.budget.Block {
			if !sorted || named {
				return l.locate(-1, l.budget.exceeds(l.budget.Block, "the rows take more than %d bytes, beyond which they must be sorted by query, of a column of its row numbers", l.budget.Block))
			}
			l.more = true
			break
		}
	}
	if named {
		if err := l.lookUp(); err != nil {
			return err
		}
	} else if err := l.decideIntegers(); err != nil {
		return err
	}
	if !sorted || named || !slices.IsSortedFunc(l.held, byQuery) {
		slices.SortStableFunc(l.held, byQuery)
	}
	return l.countQueries()
}

func (l *longResults) hold(row longRow) {
	l.held = append(l.held, row)
	l.size += longMemory + int64(len(row.name)+len(row.called))
}

func byQuery(a, b longRow) int { return cmp.Compare(a.query, b.query) }

// countQueries asks how many queries there are, if somebody knows them, so that those without rows are answers, too.
func (l *longResults) countQueries() (err error) {
	if l.queries == nil {
		return nil
	}
	if l.count, err = l.queries.Len(); err != nil {
		return err
	}
	if n := len(l.held); n > 0 && l.held[n-1].query >= l.count {
		return fail(l.file, "a row is of query %d, and there are %d queries", l.held[n-1].query, l.count)
	}
	return nil
}

// lookUp turns what queries are called into their rows.
func (l *longResults) lookUp() error {
	ids, err := l.queryIDs()
	if err != nil {
		return err
	}
	for i := range l.held {
		r := &l.held[i]
		if !r.asked {
			r.called = strconv.FormatInt(r.query, 10)
		}
		if ids == nil {
			return fail(l.file, "query %.60q is no row number, and the queries have no ids", r.called)
		}
		var rows int
		switch r.query, rows = ids.Find(r.called); rows {
		case 0:
			return fail(l.file, "no query has the id %.60q", r.called)
		case 1:
		default:
			return fail(l.file, "several queries have the id %.60q", r.called)
		}
	}
	return nil
}

// queryIDs are what the queries are called; nil if they have no ids, or nobody knows the queries.
func (l *longResults) queryIDs() (*IDs, error) {
	if l.queries == nil {
		return nil, nil
	}
	return l.queries.IDs()
}

// decideIntegers finds out whether the integers of a column that may hold ids of queries do so.
func (l *longResults) decideIntegers() error {
	if !slices.Contains(namesQueries(), l.schema.query) {
		return nil
	}
	ids, err := l.queryIDs()
	if err != nil || ids == nil {
		return err
	}
	allRows, allIDs, apart := true, true, false
	found := make([]int64, len(l.held))
	for i := range l.held {
		q := l.held[i].query
		row, rows := ids.FindNumber(q)
		found[i] = row
		allRows, allIDs, apart = allRows && q < int64(ids.Len()), allIDs && rows == 1, apart || row != q
	}
	switch {
	case !allIDs || !apart:
		return nil // rows; what is out of bounds is reported as such
	case allRows:
		return fail(l.file, "the integers of column %s can be row numbers of the queries, or their ids: call the column query if they are row numbers, or write ids that are no integers", l.schema.query)
	case l.more:
		return fail(l.file, "column %s has ids of queries, and the rows take more than %d bytes: write row numbers", l.schema.query, l.budget.Block)
	}
	for i := range l.held {
		l.held[i].query = found[i]
	}
	return nil
}

// gather returns the answer to the next query.
func (l *longResults) gather() (Result, error) {
	if len(l.held) == 0 && l.at >= l.count {
		return Result{}, io.EOF
	}
	if l.count >= 0 && (len(l.held) == 0 || l.held[0].query > l.at) { // without a hit
		l.at++
		return l.list.take(l.at - 1), nil
	}
	query := l.held[0].query
	for len(l.held) > 0 && l.held[0].query == query {
		if err := l.list.add(l.held[0].hit, l.schema.score != ""); err != nil {
			return Result{}, located(l.file, l.held[0].at, fmt.Errorf("query %d: %w", query, err))
		}
		l.held = l.held[1:]
		if err := l.refill(query); err != nil {
			return Result{}, err
		}
	}
	if err := l.sort(); err != nil {
		return Result{}, fail(l.file, "query %d: %w", query, err)
	}
	l.at = query + 1
	return l.list.take(query), nil
}

// refill reads a row if none is held and some follow; the latest was of query.
func (l *longResults) refill(query int64) error {
	if len(l.held) > 0 || !l.more {
		return nil
	}
	row, err := l.readRow()
	switch {
	case err == io.EOF:
		l.more = false
		return nil
	case err != nil:
		return err
	case row.query < query:
		return l.locate(-1, fmt.Errorf("a row of query %d after one of query %d: sort the rows by query, of which no more than %d bytes are held", row.query, query, l.budget.Block))
	case l.count >= 0 && row.query >= l.count:
		return l.locate(-1, fmt.Errorf("a row is of query %d, and there are %d queries", row.query, l.count))
	}
	l.held = append(l.held[:0], row)
	return nil
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
