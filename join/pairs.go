package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// PairOptions say which pairs a join finds.
type PairOptions struct {
	// MinScore is the least score of a pair; for distances it is the greatest.
	MinScore float64
	// Method is how pairs are searched; "" means batch.Certain, which misses none. A method
	// with failure probability Delta misses each pair with at most that probability; there is
	// no joint guarantee for all of them.
	Method batch.Method
	Delta  float64 // as batch.Request.Delta
	// Rows, if not 0, bounds the rows that are compared with the collection together, which are at
	// most 1024. It changes no pair.
	Rows int
	// Stored says that the rows of another table are relative to the Origin of the collection, if it
	// has one, as its own rows are. Otherwise searches make them so. For a collection of float64 the rows
	// are always as they were given, also by dataset.GivenOf.
	Stored bool
	// Filter, if not nil, lists the row numbers of the only atoms of the collection that are in pairs, ascending and at least one.
	Filter []int64
}

const (
	// maxBlock bounds the rows that are compared with the collection together.
	maxBlock = 1024
	// blockPairs is the number of pairs after which a block ends: a block has fewer, and then
	// the pairs of one row more.
	blockPairs = 1 << 19
	// queryBytes bounds the rows of a search, answerBytes their answers.
	queryBytes, answerBytes = 64 << 20, 256 << 20
	// pairBytes is the memory that a search takes for an atom of an answer: where it is listed,
	// scored, and returned.
	pairBytes = 104
	// A row is first asked for at least minLimit and at most maxLimit atoms. If it has more it
	// is searched again with a limit that is greater by the factor limitStep, and so on.
	minLimit, maxLimit, limitStep = 1024, 4096, 16
	// sampleRows is the number of rows from which the number of pairs is estimated.
	sampleRows = 256
)

// PairSource finds all pairs of a join, block by block. It is a jobs.Source of PairBlocks,
// whose items are rows: those of the collection in internal order, or those of another table.
// Of a collection each row is compared with the later ones only.
//
// A block holds fewer than blockPairs pairs beside those of its last row. The answers of a search
// in progress take at most 256 MiB, or those of one row; a row that is in very many pairs is
// searched again, each time with a limit 16 times greater.
type PairSource struct {
	engine *batch.Engine
	c      *collection.Collection
	req    batch.Request // without queries
	other  dataset.Reader
	limit  int // of a row's first search
	rows   int // most of a search
	pairs  int // after which a block ends

	// order are the atoms that are compared with each other, in internal order.
	order []uint32

	next    int64 // row of the next search
	first   int64 // row of answers[0]
	queries []float32
	given   []float64 // queries as given, of a collection of float64
	answers []batch.Answer
	limits  []int    // by answer: of its search
	at      int      // next answer to hand on
	work    PairWork // since the last block
	ended   bool
}

// SelfPairs returns the source of the pairs of e's collection with itself.
func SelfPairs(e *batch.Engine, o PairOptions, d *Density) (*PairSource, error) {
	return newPairSource(e, o, d)
}

// TablePairs returns the source of the pairs (A, B) of a row A of e's collection and a row B of
// another table, which the source reads and the caller closes.
func TablePairs(e *batch.Engine, other dataset.Reader, o PairOptions, d *Density) (*PairSource, error) {
	s, err := newPairSource(e, o, d)
	if err != nil {
		return nil, err
	}
	if other.Dim() != s.c.Dim {
		return nil, fmt.Errorf("rows of dimension %d for vectors of dimension %d", other.Dim(), s.c.Dim)
	}
	s.other, s.req.Stored = other, o.Stored
	if s.c.Float64() {
		s.other, s.req.Stored = dataset.KeepGiven(other), false
	}
	return s, nil
}

func newPairSource(e *batch.Engine, o PairOptions, d *Density) (*PairSource, error) {
	c := e.Collection()
	req, err := o.request(c.Metric)
	if err == nil && o.Filter != nil {
		err = checkFilter(o.Filter, c.N, 1)
	}
	if err != nil {
		return nil, err
	}
	req.Reaching = d.reaching()
	return &PairSource{engine: e, c: c, req: req, order: o.allowed(c), limit: d.limit(), pairs: blockPairs, rows: min(cmp.Or(o.Rows, maxBlock), maxBlock)}, nil
}

// allowed returns the atoms that the filter allows, in internal order.
func (o *PairOptions) allowed(c *collection.Collection) []uint32 {
	if o.Filter == nil {
		return c.Order
	}
	in := make([]bool, c.N)
	for _, row := range o.Filter {
		in[row] = true
	}
	order := make([]uint32, 0, len(o.Filter))
	for _, row := range c.Order {
		if in[row] {
			order = append(order, row)
		}
	}
	return order
}

// most is the number of rows that may be searched together with a limit.
func (s *PairSource) most(limit int) int {
	return max(1, min(s.rows, queryBytes/(4*s.c.Dim), answerBytes/(pairBytes*min(limit, s.c.N))))
}

// Check returns an error, a *batch.RequestError, if no pair can have the least score by a metric:
// it is not finite, a cosine above 1, or a squared distance below 0.
func (o *PairOptions) Check(m collection.Metric) error {
	var why string
	switch {
	case math.IsNaN(o.MinScore) || math.IsInf(o.MinScore, 0):
		why = "%g is not finite"
	case m.Differences() && o.MinScore < 0:
		why = "%g: squared distances are at least 0"
	case m.Normalises() && o.MinScore > 1:
		why = "%g: cosines are at most 1"
	default:
		return nil
	}
	return &batch.RequestError{Field: "min_score", Query: -1, Err: fmt.Errorf(why, o.MinScore)}
}

// request returns the request for pairs, without queries and limit.
func (o *PairOptions) request(m collection.Metric) (batch.Request, error) {
	if err := o.Check(m); err != nil {
		return batch.Request{}, err
	}
	return batch.Request{Method: cmp.Or(o.Method, batch.Certain), Delta: o.Delta, MinScore: &o.MinScore, Filter: o.Filter, Part: true, Stored: true, SearchScores: true}, nil
}

// Skip skips the first rows.
func (s *PairSource) Skip(ctx context.Context, rows int64) error {
	s.next = rows
	if s.other == nil {
		if rows > int64(len(s.order)) {
			return fmt.Errorf("%d rows of %d", rows, len(s.order))
		}
		return nil
	}
	for left := rows; left > 0; {
		n, err := s.read(ctx, int(min(left, int64(s.most(s.limit)))))
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("only %d rows, but %d are answered already", rows-left, rows)
		}
		left -= int64(n)
	}
	return nil
}

// Next returns the pairs of the next rows, and how many rows these are; io.EOF after the last.
func (s *PairSource) Next(ctx context.Context) (PairBlock, int, error) {
	if s.at == len(s.answers) {
		if err := s.search(ctx); err != nil {
			return PairBlock{}, 0, err
		}
	}
	var pairs []dataset.Pair
	rows := 0
	for s.at < len(s.answers) && len(pairs) < s.pairs {
		n, err := s.searchAgain(ctx)
		if err != nil {
			return PairBlock{}, 0, err
		}
		a := &s.answers[s.at]
		s.work.Again += int64(n)
		s.work.addRow(&a.Certificate)
		s.work.DensePulls += s.densePulls(s.first + int64(s.at))
		pairs = s.appendPairs(pairs, s.first+int64(s.at), a)
		*a = batch.Answer{} // its memory is free
		s.at++
		rows++
	}
	slices.SortFunc(pairs, byRows)
	b := PairBlock{Pairs: pairs, Work: s.work}
	s.work = PairWork{}
	return b, rows, nil
}

// densePulls is how many coordinates comparing a row with the atoms that it could make a pair with
// reads, each pair being compared once.
func (s *PairSource) densePulls(row int64) int64 {
	atoms := int64(len(s.order))
	if s.other == nil {
		atoms -= row + 1
	}
	return atoms * int64(s.c.Dim)
}

// byRows orders pairs by A, then B.
func byRows(x, y dataset.Pair) int {
	return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
}

// search answers the next rows; io.EOF after the last.
func (s *PairSource) search(ctx context.Context) error {
	n, err := s.load(ctx)
	if err != nil {
		return err
	}
	if n == 0 {
		return io.EOF
	}
	s.first = s.next
	s.answers, err = s.ask(ctx, s.queries[:n*s.c.Dim], s.given, s.limit, func(j int) int64 { return s.first + int64(j) })
	if err != nil {
		s.answers = nil
		return err
	}
	s.at, s.limits = 0, slices.Repeat([]int{s.limit}, n)
	s.next += int64(n)
	return nil
}

// load sets queries to the next rows and returns how many they are.
func (s *PairSource) load(ctx context.Context) (int, error) {
	if s.other != nil {
		return s.read(ctx, s.most(s.limit))
	}
	n := int(min(int64(s.most(s.limit)), int64(len(s.order))-s.next))
	own := batch.Request{Queries: s.queries[:0], Queries64: s.given[:0]}
	for _, row := range s.order[s.next:][:n] {
		addQuery(&own, s.c, int(row))
	}
	s.queries, s.given = own.Queries, own.Queries64
	return n, nil
}

// read reads up to n rows of the other table; 0 after the last.
func (s *PairSource) read(ctx context.Context, n int) (int, error) {
	s.queries = slices.Grow(s.queries[:0], n*s.c.Dim)[:n*s.c.Dim]
	s.given = s.given[:0]
	rows := 0
	for rows < n && !s.ended {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		got, err := s.other.Read(s.queries[rows*s.c.Dim:])
		if s.c.Float64() {
			s.given = dataset.AppendGiven(s.given, s.other, s.queries[rows*s.c.Dim:(rows+got)*s.c.Dim])
		} else {
			for _, change := range dataset.RowChanges(s.other) {
				s.work.OthersChange = max(s.work.OthersChange, change)
			}
		}
		rows += got
		if err == io.EOF {
			s.ended = true
		} else if err != nil {
			return 0, err
		}
	}
	return rows, nil
}

// ask returns the answers to queries, and refuses partial ones; given has them as they were given, of a collection of
// float64. number returns the number of a query's row, for errors.
func (s *PairSource) ask(ctx context.Context, queries []float32, given []float64, limit int, number func(j int) int64) ([]batch.Answer, error) {
	req := s.req
	if s.c.Float64() {
		req.Queries64 = given
	}
	if req.Queries64 == nil || s.other == nil { // else they are made relative to the origin
		req.Queries = queries
	}
	if s.other == nil {
		req.ExcludeSelf, req.LaterOnly, req.Selves = true, true, make([]int64, len(queries)/s.c.Dim)
		for j := range req.Selves {
			req.Selves[j] = int64(s.order[number(j)])
		}
	}
	if limit < s.c.N {
		req.Limit = limit
	}
	resp, err := s.engine.Search(ctx, req)
	var invalid *batch.RequestError
	if errors.As(err, &invalid) && invalid.Query >= 0 {
		row := number(invalid.Query)
		if s.other == nil {
			row = int64(s.order[row])
		}
		return nil, &RowError{Row: row, Err: invalid.Err}
	}
	if err != nil {
		return nil, err
	}
	s.work.Pulls += resp.Stats.Pulls
	s.work.Bytes += resp.Stats.Bytes
	s.work.RowsScored += resp.Stats.RowsScored
	return resp.Answers, nil
}

// RowError names the row that cannot be searched.
type RowError struct {
	Row int64 // 0-based
	Err error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %d (0-based): %v", e.Row, e.Err) }

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// searchAgain searches for the next row until its answer is not limited, each time together with
// later rows that were searched with the same limit, and returns how many searches these are.
func (s *PairSource) searchAgain(ctx context.Context) (searched int, err error) {
	dim := s.c.Dim
	for s.answers[s.at].Limited {
		former := s.limits[s.at]
		limit := former * limitStep
		var js []int
		var queries []float32
		var given []float64
		for j := s.at; j < len(s.answers) && len(js) < s.most(limit); j++ {
			if s.answers[j].Limited && s.limits[j] == former {
				js = append(js, j)
				queries = append(queries, s.queries[j*dim:(j+1)*dim]...)
				if s.c.Float64() {
					given = append(given, s.given[j*dim:(j+1)*dim]...)
				}
				s.answers[j].IDs, s.answers[j].Scores, s.answers[j].SearchScores = nil, nil, nil // their memory is free
			}
		}
		answers, err := s.ask(ctx, queries, given, limit, func(j int) int64 { return s.first + int64(js[j]) })
		if err != nil {
			return 0, err
		}
		for i, j := range js {
			s.answers[j], s.limits[j] = answers[i], limit
		}
		searched += len(js)
	}
	return searched, nil
}

// appendPairs appends the pairs that an answer makes with its row.
func (s *PairSource) appendPairs(pairs []dataset.Pair, row int64, a *batch.Answer) []dataset.Pair {
	self := row
	if s.other == nil {
		self = int64(s.order[row])
	}
	for i, id := range a.IDs {
		p := dataset.Pair{A: id, B: self, Score: a.Scores[i], Score64: s.c.Metric.Shown(a.SearchScores[i])}
		if s.other == nil {
			p.A, p.B = min(self, id), max(self, id)
		}
		pairs = append(pairs, p)
	}
	return pairs
}
