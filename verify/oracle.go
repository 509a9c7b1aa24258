package verify

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"thresher/collection"
)

// Oracle scores atoms for queries in float64. Products of float32 are exact in float64; a sum
// of d of them has an error of at most d 2^-53 |q||v|, a sum of d squared differences one of
// at most (d+2) 2^-53 of itself. It is safe for concurrent use.
type Oracle struct {
	rows    []float32
	kept    *collection.Collection // has the rows, if they are nil
	over    Rows                   // has them, if both are nil
	rests   []float32              // what the rows lack of those given; nil: nothing
	n, dim  int
	metric  collection.Metric
	threads int
	norm    []float64 // |v| by row number; nil: computed when it is needed
	longest float64   // greatest of norm
}

// Rows are vectors by row number that lie anywhere, as those of several segments do. They are finite, do not change, and
// are read by several goroutines at once.
type Rows interface {
	Len() int
	Dim() int
	// RowIn returns row i in float32, in place or in memory, which holds Dim floats.
	RowIn(memory []float32, i int) []float32
	// Float64 reports whether they are kept as float64: then Given stands in place of RowIn.
	Float64() bool
	// Given returns row i as it was given, in place.
	Given(i int) []float64
}

// tile is the number of queries that one pass over the atoms serves: enough independent sums
// to hide the latency of additions.
const tile = 4

// NewOracle returns an oracle over n = len(rows)/dim atoms as given, row-major; for a
// collection c these are c.Rows of c.Dim, by c.Metric. It retains rows, which must not
// change. threads is the number of scoring goroutines; 0 is GOMAXPROCS. It fails for a wrong
// shape, for no metric, and for rows that are not finite.
func NewOracle(rows []float32, dim int, metric collection.Metric, threads int) (*Oracle, error) {
	if dim < 1 || len(rows)%dim != 0 {
		return nil, fmt.Errorf("%d values are no rows of %d columns", len(rows), dim)
	}
	if err := metric.Check(); err != nil {
		return nil, err
	}
	if threads < 1 {
		threads = runtime.GOMAXPROCS(0)
	}
	o := &Oracle{rows: rows, n: len(rows) / dim, dim: dim, metric: metric, threads: threads}
	if err := o.measure(); err != nil {
		return nil, err
	}
	return o, nil
}

// NewOracleOf is NewOracle of the rows of c, in the type in which it keeps them. Rows of float64 are relative to no
// origin, and their queries are float64, too: Response and Recall.Compare64 take such.
func NewOracleOf(c *collection.Collection, threads int) (*Oracle, error) {
	if c.Rows != nil {
		return NewOracle(c.Rows, c.Dim, c.Metric, threads)
	}
	o, err := NewLazyOracleOf(c)
	if err != nil {
		return nil, err
	}
	if o.threads = threads; threads < 1 {
		o.threads = runtime.GOMAXPROCS(0)
	}
	if err := o.measure(); err != nil {
		return nil, err
	}
	return o, nil
}

// NewOracleOver is NewOracle of rows that lie anywhere; of those of float64 as NewOracleOf.
func NewOracleOver(rows Rows, metric collection.Metric, threads int) (*Oracle, error) {
	o, err := NewLazyOracleOver(rows, metric)
	if err != nil {
		return nil, err
	}
	if o.threads = threads; threads < 1 {
		o.threads = runtime.GOMAXPROCS(0)
	}
	if err := o.measure(); err != nil {
		return nil, err
	}
	return o, nil
}

// NewLazyOracleOver is NewLazyOracle of rows that lie anywhere.
func NewLazyOracleOver(rows Rows, metric collection.Metric) (*Oracle, error) {
	if err := metric.Check(); err != nil {
		return nil, err
	}
	return &Oracle{over: rows, n: rows.Len(), dim: rows.Dim(), metric: metric, threads: 1}, nil
}

// NewLazyOracleOf is NewLazyOracle of the rows of c, in the type in which it keeps them.
func NewLazyOracleOf(c *collection.Collection) (*Oracle, error) {
	if c.Rows != nil {
		return NewLazyOracle(c.Rows, c.Dim, c.Metric)
	}
	if err := c.Metric.Check(); err != nil {
		return nil, err
	}
	return &Oracle{kept: c, n: c.N, dim: c.Dim, metric: c.Metric, threads: 1}, nil
}

// measure computes the norms.
func (o *Oracle) measure() error {
	o.norm = make([]float64, o.n)
	memory := o.memory()
	for i := range o.norm {
		if o.over != nil && !o.float64s() {
			o.norm[i] = norm(o.over.RowIn(memory, i))
		} else {
			o.norm[i] = o.measured(i)
		}
		if math.IsNaN(o.norm[i]) || math.IsInf(o.norm[i], 0) {
			return fmt.Errorf("row %d is not finite", i)
		}
		o.longest = max(o.longest, o.norm[i])
	}
	return nil
}

// AddRests adds to every coordinate of the rows what float32 lacks of the value given, so that o scores the
// values given: rests has the shape of rows, or is nil for none. Answers may then differ from o's by what
// their certificates say was changed by rounding. No other method may be called before or meanwhile.
func (o *Oracle) AddRests(rests []float32) error {
	if rests == nil {
		return nil
	}
	if len(rests) != o.n*o.dim {
		return fmt.Errorf("%d rests of %d values", len(rests), o.n*o.dim)
	}
	o.rests, o.longest = rests, 0
	row := make([]float64, o.dim)
	for i := range o.norm {
		o.norm[i] = norm(o.given(i, row))
		o.longest = max(o.longest, o.norm[i])
	}
	return nil
}

// given writes row i as it was given to row, and returns it.
func (o *Oracle) given(i int, row []float64) []float64 {
	rests := o.rests[i*o.dim : (i+1)*o.dim]
	for c, x := range o.row(i) {
		row[c] = float64(x) + float64(rests[c])
	}
	return row
}

// NewLazyOracle returns an oracle for NewRecall that reads no row before its score is wanted,
// for few queries among many atoms. rows are finite; otherwise it is as NewOracle.
func NewLazyOracle(rows []float32, dim int, metric collection.Metric) (*Oracle, error) {
	if dim < 1 || len(rows)%dim != 0 {
		return nil, fmt.Errorf("%d values are no rows of %d columns", len(rows), dim)
	}
	if err := metric.Check(); err != nil {
		return nil, err
	}
	return &Oracle{rows: rows, n: len(rows) / dim, dim: dim, metric: metric, threads: 1}, nil
}

// length returns |v| of a row.
func (o *Oracle) length(i int) float64 {
	if o.norm == nil {
		return o.measured(i)
	}
	return o.norm[i]
}

// float64s reports whether the rows are kept as float64.
func (o *Oracle) float64s() bool {
	return o.kept != nil && o.kept.Float64() || o.over != nil && o.over.Float64()
}

// memory returns memory for a row of o.over, nil if there is none.
func (o *Oracle) memory() []float32 {
	if o.over == nil {
		return nil
	}
	return make([]float32, o.dim)
}

// measured computes |v| of a row.
func (o *Oracle) measured(i int) float64 {
	if o.over != nil && o.over.Float64() {
		return norm(o.over.Given(i))
	}
	if o.float64s() {
		return norm(o.row64(i, make([]float64, o.dim)))
	}
	return norm(o.row(i))
}

// row returns row i in float32: in place, or made of what the collection keeps, by other code than its own.
func (o *Oracle) row(i int) []float32 {
	if o.rows != nil {
		return o.rows[i*o.dim : (i+1)*o.dim]
	}
	row := make([]float32, o.dim)
	switch {
	case o.over != nil && o.over.Float64():
		for c, x := range o.over.Given(i) {
			row[c] = float32(x)
		}
		return row
	case o.over != nil:
		return o.over.RowIn(row, i)
	}
	o.kept.Vectors.Read32(row, i*o.dim)
	return row
}

// row64 writes row i in float64, as it is kept, to row, and returns it.
func (o *Oracle) row64(i int, row []float64) []float64 {
	if o.over != nil && o.over.Float64() {
		copy(row, o.over.Given(i))
		return row
	}
	if o.kept != nil {
		o.kept.Vectors.Read64(row, i*o.dim)
		return row
	}
	for c, x := range o.row(i) {
		row[c] = float64(x)
	}
	return row
}

// norm needs no scaling: squares of float32 are within 1e-90..1e77.
func norm[T float32 | float64](v []T) float64 {
	var s float64
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	return math.Sqrt(s)
}

// Scores are an Oracle's scores for one query.
type Scores struct {
	// Search holds the score that the search maximises, by row number: q.v, q.v/(|q||v|) or
	// -|q-v|^2/2. Read only.
	Search []float64

	oracle *Oracle
	norm   float64 // |q|
	// vectors and query are the largest changes of coordinates that the answer's certificate states, if the
	// scores are those of the values given.
	vectors, query float64
	wide           bool  // the query is in float64
	buf            []int // scratch of rankings
}

// Each calls visit with every query's number j and scores, concurrently from several
// goroutines; the scores are valid during the call. queries holds rows of finite values of
// the atoms' dimension, row-major. A goroutine takes 32 bytes an atom. If ctx ends some
// queries are skipped, and the error is ctx's.
func (o *Oracle) Each(ctx context.Context, queries []float32, visit func(j int, s *Scores)) error {
	return each(ctx, o, queries, visit)
}

// each is Oracle.Each for queries of either precision.
func each[T float32 | float64](ctx context.Context, o *Oracle, queries []T, visit func(j int, s *Scores)) error {
	if len(queries)%o.dim != 0 {
		return fmt.Errorf("%d values are no queries of the vectors' %d dimensions", len(queries), o.dim)
	}
	m := len(queries) / o.dim
	tiles := make(chan int)
	var skipped atomic.Bool
	var wg sync.WaitGroup
	for range max(1, min(o.threads, (m+tile-1)/tile)) {
		wg.Go(func() { work(ctx, o, queries, tiles, &skipped, visit) })
	}
	var err error
	for first := 0; first < m && err == nil; first += tile {
		select {
		case tiles <- first:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	close(tiles)
	wg.Wait()
	if err == nil && skipped.Load() {
		err = ctx.Err()
	}
	return err
}

// uncheckedRows is how many rows are scored, for a tile of queries, between two checks of the context.
const uncheckedRows = 4096 * 64 / tile

// work scores tiles of queries. Once ctx has ended it skips those that are left, and says so.
func work[T float32 | float64](ctx context.Context, o *Oracle, queries []T, tiles <-chan int, skipped *atomic.Bool, visit func(int, *Scores)) {
	var q [tile][]float64
	var s [tile]Scores
	for t := range q {
		q[t] = make([]float64, o.dim)
		s[t] = Scores{Search: make([]float64, o.n), oracle: o}
		_, s[t].wide = any(queries).([]float64)
	}
	m, wide, memory := len(queries)/o.dim, make([]float64, o.dim), o.memory()
	for first := range tiles {
		count := min(tile, m-first)
		for t := range q {
			// A short last tile repeats its first query.
			j := first
			if t < count {
				j += t
			}
			row := queries[j*o.dim : (j+1)*o.dim]
			for c, x := range row {
				q[t][c] = float64(x)
			}
			s[t].norm = norm(row)
		}
		if !o.score(ctx, &q, &s, wide, memory) {
			skipped.Store(true)
			continue
		}
		for t := range count {
			visit(first+t, &s[t])
		}
	}
}

// score scores all atoms for a tile of queries, and reports whether ctx has not ended meanwhile. wide and memory are
// memory for a row.
func (o *Oracle) score(ctx context.Context, q *[tile][]float64, s *[tile]Scores, wide []float64, memory []float32) bool {
	for i := range o.n {
		if i%uncheckedRows == 0 && ctx.Err() != nil {
			return false
		}
		var all [tile]float64
		switch {
		case o.rests != nil:
			all = sums(o, q, o.given(i, wide))
		case o.over != nil && o.over.Float64():
			all = sums(o, q, o.over.Given(i))
		case o.over != nil:
			all = sums(o, q, o.over.RowIn(memory, i))
		case o.rows == nil:
			o.kept.Vectors.Read64(wide, i*o.dim)
			all = sums(o, q, wide)
		default:
			all = sums(o, q, o.row(i))
		}
		for t, sum := range all {
			s[t].Search[i] = o.toSearch(sum, s[t].norm, o.norm[i])
		}
	}
	return true
}

func dot4[T float32 | float64](q *[tile][]float64, v []T) [tile]float64 {
	q0, q1, q2, q3 := q[0][:len(v)], q[1][:len(v)], q[2][:len(v)], q[3][:len(v)]
	var s0, s1, s2, s3 float64
	for c, x := range v {
		y := float64(x)
		s0 += q0[c] * y
		s1 += q1[c] * y
		s2 += q2[c] * y
		s3 += q3[c] * y
	}
	return [tile]float64{s0, s1, s2, s3}
}

// far4 sums squared differences.
func far4[T float32 | float64](q *[tile][]float64, v []T) [tile]float64 {
	q0, q1, q2, q3 := q[0][:len(v)], q[1][:len(v)], q[2][:len(v)], q[3][:len(v)]
	var s0, s1, s2, s3 float64
	for c, x := range v {
		y := float64(x)
		a, b, e, f := q0[c]-y, q1[c]-y, q2[c]-y, q3[c]-y
		s0 += a * a
		s1 += b * b
		s2 += e * e
		s3 += f * f
	}
	return [tile]float64{s0, s1, s2, s3}
}

// ranking returns the rows of the k best scores, descending, ties by ascending row. It skips
// rows that allowed, unless nil, excludes, and row skip (-1 for none). The result uses buf's
// memory if that is large enough.
func ranking(scores []float64, k int, allowed []bool, skip int64, buf []int) []int {
	heap := buf[:0] // the worst of the best on top
	worse := func(a, b int) bool {
		return scores[a] < scores[b] || scores[a] == scores[b] && a > b
	}
	down := func(at, size int) {
		for {
			child := 2*at + 1
			if child >= size {
				return
			}
			if child+1 < size && worse(heap[child+1], heap[child]) {
				child++
			}
			if !worse(heap[child], heap[at]) {
				return
			}
			heap[at], heap[child] = heap[child], heap[at]
			at = child
		}
	}
	for i := range scores {
		if int64(i) == skip || allowed != nil && !allowed[i] {
			continue
		}
		if len(heap) < k {
			heap = append(heap, i)
			for at := len(heap) - 1; at > 0 && worse(heap[at], heap[(at-1)/2]); at = (at - 1) / 2 {
				heap[at], heap[(at-1)/2] = heap[(at-1)/2], heap[at]
			}
			continue
		}
		if worse(heap[0], i) {
			heap[0] = i
			down(0, k)
		}
	}
	for size := len(heap) - 1; size > 0; size-- {
		heap[0], heap[size] = heap[size], heap[0]
		down(0, size)
	}
	return heap
}
