package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"thresher/batch"
	"thresher/collection"
	"thresher/simd"
)

// LeftRows are consecutive rows of the left table of a join by keys.
type LeftRows struct {
	Queries []float32 // [m, dim], relative to the origin of the right table
	Changes []float64 // of each by rounding to float32, as batch.Request.Changes; nil: none
	Groups  []int32   // of each; nil: all are in group 0
	First   int64     // number of the first, for errors
}

// Matches are what rows of the left table found.
type Matches struct {
	// Row j found those from Lims[j] to Lims[j+1]-1, best first, equal scores by ascending row.
	Lims   []int
	Rows   []int64   // of the right table
	Scores []float64 // inner products, cosines, or squared distances
	Work   PairWork
}

// Costs by which a group is scanned here, by products in float32 first or row by row in float64, or searched by an engine of
// its own, in ns of a core, by BenchmarkMatch. Either way the answers are the same.
const (
	scanRow, scanCoordinate       = 4, .13    // of each pair
	siftCoordinate                = .2        // of each row of the group
	siftQuery, siftFound          = 1500, 30  // of each query, and of each row that it asks for
	siftRow, siftProduct          = 2.5, .025 // of each pair
	searchGroup                   = 50000     // of a group whose engine is there
	openGroup                     = 50000     // of one whose engine is not
	searchQuery, searchCoordinate = 8000, .03 // of each query, and of each pair
)

// scanCost is what a scan of queries of a group takes.
func (r *Right) scanCost(rows, queries int) float64 {
	dim, pairs := float64(r.c.Dim), float64(rows)*float64(queries)
	if !r.sifts(rows, queries) {
		return pairs * (scanRow + dim*scanCoordinate)
	}
	return float64(rows)*dim*siftCoordinate + float64(queries)*(siftQuery+siftFound*float64(r.o.Request.K)) + pairs*(siftRow+dim*siftProduct)
}

// alone is from how many coordinates of pairs on a group is searched by all threads, and not beside others.
const alone = 1 << 28

// scanPays reports whether queries of a group are answered sooner by a scan.
func (r *Right) scanPays(g int32, queries int) bool {
	dim := float64(r.c.Dim)
	pairs := float64(r.size(g)) * float64(queries)
	search := searchGroup + float64(queries)*searchQuery + pairs*dim*searchCoordinate
	if r.engines[g] == nil && r.size(g) < r.c.N {
		search += openGroup
	}
	return r.scanCost(r.size(g), queries) < search
}

// extent is where the matches of a row are: in the memory of a goroutine.
type extent struct {
	of     *found
	lo, hi int
}

// found is memory of matches.
type found struct {
	rows   []int64
	scores []float64 // search scores
}

// share is the rows of the left table of one group: order[lo:hi].
type share struct {
	group  int32
	lo, hi int
}

// matching is one call of Match.
type matching struct {
	*Right
	left    LeftRows
	order   []int32   // rows of the left table by group
	spans   []extent  // by row of the left table
	squares []float64 // squared norms of the rows of the left table
	mu      sync.Mutex
	out     *Matches // whose Work belongs to mu
}

// Match finds what rows of the left table join with. Errors that a row causes are *RowError.
func (r *Right) Match(ctx context.Context, left LeftRows) (*Matches, error) {
	m := len(left.Queries) / r.c.Dim
	w := &matching{Right: r, left: left, spans: make([]extent, m), squares: make([]float64, m), out: &Matches{Lims: make([]int, m+1)}}
	for j, kern := 0, simd.Best(); j < m; j++ { // whether or not a row of the right table has its key
		q := left.Queries[j*r.c.Dim:][:r.c.Dim]
		if w.squares[j] = kern.SumSquares(q); w.squares[j]-w.squares[j] != 0 {
			return nil, &RowError{Row: left.First + int64(j), Err: notFinite(q)}
		}
	}
	w.out.Work.Add(&PairWork{}) // makes the maps
	var scanned, searched []share
	for _, s := range w.shares(m) {
		switch {
		case r.size(s.group) == 0: // nothing is left out
			w.count(s, nil)
		case r.scans(s.group, s.hi-s.lo):
			scanned = append(scanned, s)
		case int64(r.size(s.group))*int64(s.hi-s.lo)*int64(r.c.Dim) < alone:
			searched = append(searched, s)
		default:
			if err := w.search(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	if err := w.searchAll(ctx, searched); err != nil {
		return nil, err
	}
	if err := w.scan(ctx, scanned); err != nil {
		return nil, err
	}
	w.gather()
	return w.out, nil
}

// shares sorts the rows of the left table by group.
func (w *matching) shares(m int) (all []share) {
	w.order = make([]int32, m)
	if w.left.Groups == nil {
		for j := range w.order {
			w.order[j] = int32(j)
		}
		return []share{{0, 0, m}}
	}
	last := len(w.starts) - 1 // stands for all groups that are not there
	place := func(g int32) int {
		if g < 0 || int(g) > last {
			return last
		}
		return int(g)
	}
	ends := make([]int, last+1)
	for _, g := range w.left.Groups {
		ends[place(g)]++
	}
	at := 0
	for g, n := range ends {
		if n > 0 {
			all = append(all, share{int32(g), at, at + n})
		}
		ends[g], at = at, at+n
	}
	for j, g := range w.left.Groups {
		w.order[ends[place(g)]] = int32(j)
		ends[place(g)]++
	}
	return all
}

// count adds rows whose answers are exact, nil for those of a scan, to the work.
func (w *matching) count(s share, answers []batch.Answer) {
	t := &w.out.Work
	rows := int64(s.hi - s.lo)
	t.DensePulls += rows * int64(w.size(s.group)) * int64(w.c.Dim)
	if answers != nil {
		for j := range answers {
			t.addRow(&answers[j].Certificate)
		}
		return
	}
	pairs := rows * int64(w.size(s.group))
	t.Rows, t.Exact = t.Rows+rows, t.Exact+rows
	t.Pulls, t.RowsScored = t.Pulls+pairs*int64(w.c.Dim), t.RowsScored+pairs
	t.Bytes += int64(w.size(s.group)) * int64(w.c.Dim) * int64(w.c.Elem().Size()) // once for all rows
	t.Methods[batch.Exact] += rows
	t.Guarantees[batch.GuaranteeExact] += rows
	t.VectorsChange = max(t.VectorsChange, w.c.Change.Largest)
	if w.left.Changes != nil {
		for _, j := range w.order[s.lo:s.hi] {
			t.OthersChange = max(t.OthersChange, w.left.Changes[j])
		}
	}
}

// searchAll searches several groups at a time.
func (w *matching) searchAll(ctx context.Context, shares []share) error {
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(max(1, w.o.Threads))
	for _, s := range shares {
		workers.Go(func() error { return w.search(ctx, s) })
	}
	return workers.Wait()
}

// search answers the rows of a share by the engine of their group, as many at a time as answers of any length take 256 MiB.
func (w *matching) search(ctx context.Context, s share) error {
	e, err := w.engineOf(ctx, s.group)
	if err != nil {
		return err
	}
	size, dim := w.size(s.group), w.c.Dim
	req := w.o.Request
	longest := size
	if req.K > 0 {
		req.K = min(req.K, size)
		longest = req.K
	}
	step := max(1, min(queryBytes/(4*dim), answerBytes/(pairBytes*longest)))
	to := &found{}
	for lo := s.lo; lo < s.hi; lo += step {
		part := share{s.group, lo, min(lo+step, s.hi)}
		w.ask(&req, part)
		resp, err := e.Search(ctx, req)
		if err != nil {
			return w.located(err, part)
		}
		w.add(part, resp)
		for i := range resp.Answers {
			a, at := &resp.Answers[i], len(to.rows)
			for _, id := range a.IDs {
				to.rows = append(to.rows, w.number(w.starts[max(s.group, 0)]+int(id)))
			}
			to.scores = append(to.scores, a.SearchScores...)
			w.spans[w.order[lo+i]] = extent{to, at, len(to.rows)}
		}
	}
	return nil
}

// add counts the answers to a part of a share.
func (w *matching) add(part share, resp *batch.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.Work.Pulls += resp.Stats.Pulls
	w.out.Work.Bytes += resp.Stats.Bytes
	w.out.Work.RowsScored += resp.Stats.RowsScored
	w.count(part, resp.Answers)
}

// ask sets the queries of a request.
func (w *matching) ask(req *batch.Request, s share) {
	dim := w.c.Dim
	order := w.order[s.lo:s.hi]
	first, last := int(order[0]), int(order[len(order)-1])
	if last-first+1 == len(order) { // they lie together, since a group has them in order
		req.Queries = w.left.Queries[first*dim : (last+1)*dim]
		if w.left.Changes != nil {
			req.Changes = w.left.Changes[first : last+1]
		}
		return
	}
	req.Queries, req.Changes = make([]float32, 0, len(order)*dim), nil
	for _, j := range order {
		req.Queries = append(req.Queries, w.left.Queries[int(j)*dim:][:dim]...)
		if w.left.Changes != nil {
			req.Changes = append(req.Changes, w.left.Changes[j])
		}
	}
}

// located names the row of the left table that an error is about.
func (w *matching) located(err error, s share) error {
	var invalid *batch.RequestError
	if errors.As(err, &invalid) && invalid.Query >= 0 {
		return &RowError{Row: w.left.First + int64(w.order[s.lo+invalid.Query]), Err: invalid.Err}
	}
	return err
}

// sharesTogether is about how many pairs a goroutine scores before it takes others.
const sharesTogether = 1 << 13

// scan scores all pairs of shares in float64.
func (w *matching) scan(ctx context.Context, shares []share) error {
	longest := 0
	for _, s := range shares {
		longest = max(longest, w.size(s.group))
		w.count(s, nil)
	}
	if len(shares) == 0 {
		return nil
	}
	var next atomic.Int64
	shares = divided(shares)
	ends := together(w.Right, shares)
	workers, ctx := errgroup.WithContext(ctx)
	for range min(max(1, w.o.Threads), len(ends), runtime.GOMAXPROCS(0)) {
		workers.Go(func() error {
			t := newScanner(w, longest)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(ends) {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return context.Cause(ctx)
				}
				lo := 0
				if i > 0 {
					lo = ends[i-1]
				}
				for _, s := range shares[lo:ends[i]] {
					if err := t.scan(s); err != nil {
						return err
					}
				}
			}
		})
	}
	return workers.Wait()
}

// divided cuts shares of many rows of the left table, so that several goroutines can scan them.
func divided(shares []share) (all []share) {
	for _, s := range shares {
		for ; s.hi-s.lo >= 2*siftedTogether; s.lo += siftedTogether {
			all = append(all, share{s.group, s.lo, s.lo + siftedTogether})
		}
		all = append(all, s)
	}
	return all
}

// siftedTogether is how many queries a goroutine compares with the rows of a group, whose products it prepares for them.
const siftedTogether = 256

// together returns where consecutive shares that a goroutine takes at once end.
func together(r *Right, shares []share) (ends []int) {
	pairs := 0
	for i, s := range shares {
		if pairs += r.size(s.group) * (s.hi - s.lo); pairs >= sharesTogether || i+1 == len(shares) {
			ends, pairs = append(ends, i+1), 0
		}
	}
	return ends
}

// scanner scores pairs, in memory of its own.
type scanner struct {
	*matching
	kern   simd.Kernels
	wide   []float64 // a query
	sums   []float64 // of a group's rows
	rows   []uint32
	best   []uint32 // of a query, ascending by rank
	scores []float64
	to     *found
	narrow products
}

func newScanner(w *matching, longest int) *scanner {
	k := longest
	if w.o.Request.K > 0 {
		k = min(k, w.o.Request.K)
	}
	return &scanner{
		matching: w, kern: simd.Best(), wide: make([]float64, w.c.Dim), sums: make([]float64, longest), rows: make([]uint32, longest),
		best: make([]uint32, 0, k+1), scores: make([]float64, 0, k+1),
	}
}

// scan scores the pairs of a share: all, or of most rows no more than products in float32.
func (t *scanner) scan(s share) error {
	start, n, dim := t.starts[s.group], t.size(s.group), t.c.Dim
	if t.sifts(n, s.hi-s.lo) && t.narrow.begin(t, start, n) {
		t.sift(s)
		return nil
	}
	rows, sums := t.rows[:n], t.sums[:n]
	for i := range rows {
		rows[i] = uint32(start + i)
	}
	for i, j := range t.order[s.lo:s.hi] {
		q := t.left.Queries[int(j)*dim:][:dim]
		for d, x := range q {
			t.wide[d] = float64(x)
		}
		t.c.Sums(t.kern, sums, rows, t.wide, i > 0)
		t.c.ScoresOf(sums, rows, t.squares[j], 1)
		t.keep(sums)
		t.found(j, rows)
	}
	return nil
}

// found notes that best, which are places in rows, are the matches of row j of the left table.
func (t *scanner) found(j int32, rows []uint32) {
	if t.to == nil || len(t.to.rows)+len(t.best) > cap(t.to.rows) { // what is there stays where it is
		n := max(foundTogether, len(t.best))
		t.to = &found{make([]int64, 0, n), make([]float64, 0, n)}
	}
	at := len(t.to.rows)
	for _, b := range t.best {
		t.to.rows = append(t.to.rows, t.number(int(rows[b])))
	}
	t.to.scores = append(t.to.scores, t.scores...)
	t.spans[j] = extent{t.to, at, len(t.to.rows)}
}

// foundTogether is how many matches memory is taken for at a time.
const foundTogether = 1 << 14

// sift is scan by products first, for several queries at a time.
func (t *scanner) sift(s share) {
	p, start, n, dim := &t.narrow, t.starts[s.group], t.size(s.group), t.c.Dim
	for lo := s.lo; lo < s.hi; lo += multiplied {
		block := t.order[lo:min(lo+multiplied, s.hi)]
		p.queries = p.queries[:0]
		for _, j := range block {
			p.queries = append(p.queries, t.left.Queries[int(j)*dim:][:dim]...)
		}
		p.multiply(t.kern, len(block))
		for e, j := range block {
			q := p.queries[e*dim:][:dim]
			qq := t.squares[j]
			rows := t.rows[:n]
			if p.pass(t.kern, e, qq, t.floor) {
				rows = rows[:len(p.passed)]
				for i, r := range p.passed {
					rows[i] = uint32(start) + r
				}
			} else {
				for i := range rows {
					rows[i] = uint32(start + i)
				}
			}
			for d, x := range q {
				t.wide[d] = float64(x)
			}
			sums := t.sums[:len(rows)]
			t.c.Sums(t.kern, sums, rows, t.wide, true)
			t.c.ScoresOf(sums, rows, qq, 1)
			t.keep(sums)
			t.found(j, rows)
		}
	}
}

// notFinite names the value of a row that is not.
func notFinite(row []float32) error {
	i := slices.IndexFunc(row, func(x float32) bool { return x-x != 0 })
	return fmt.Errorf("column %d: value %g", i, row[i])
}

// keep sets best to the k best of scores within the limits, or to all of them, best first, equal ones in their order.
func (t *scanner) keep(scores []float64) {
	t.best, t.scores = t.best[:0], t.scores[:0]
	k := t.o.Request.K
	if k == 0 || k > len(scores) {
		k = len(scores)
	}
	if k > maxInserted {
		t.sort(scores, k)
		return
	}
	for i, s := range scores {
		if !(s >= t.floor && s <= t.ceiling) || len(t.best) == k && s <= t.scores[k-1] {
			continue
		}
		at := len(t.best)
		if at == k {
			at--
		} else {
			t.best, t.scores = append(t.best, 0), append(t.scores, 0)
		}
		for ; at > 0 && t.scores[at-1] < s; at-- {
			t.best[at], t.scores[at] = t.best[at-1], t.scores[at-1]
		}
		t.best[at], t.scores[at] = uint32(i), s
	}
}

// maxInserted is the greatest k for which scores are inserted one by one.
const maxInserted = 64

// sort is keep for many scores.
func (t *scanner) sort(scores []float64, k int) {
	for i, s := range scores {
		if s >= t.floor && s <= t.ceiling {
			t.best = append(t.best, uint32(i))
		}
	}
	slices.SortFunc(t.best, func(a, b uint32) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	t.best = t.best[:min(k, len(t.best))]
	for _, i := range t.best {
		t.scores = append(t.scores, scores[i])
	}
}

// gather moves what was found into the order of the left table.
func (w *matching) gather() {
	n := 0
	for j, s := range w.spans {
		w.out.Lims[j] = n
		n += s.hi - s.lo
	}
	w.out.Lims[len(w.spans)] = n
	w.out.Rows, w.out.Scores = make([]int64, n), make([]float64, n)
	for j, s := range w.spans {
		if s.of == nil {
			continue
		}
		at := w.out.Lims[j]
		copy(w.out.Rows[at:], s.of.rows[s.lo:s.hi])
		collection.ShowAll(w.c.Metric, w.out.Scores[at:][:s.hi-s.lo], s.of.scores[s.lo:s.hi])
	}
}

// setLimits sets which search scores the request lets through.
func (r *Right) setLimits() {
	r.floor, r.ceiling = math.Inf(-1), math.Inf(1)
	if s := r.o.Request.MinScore; s != nil {
		r.floor = r.c.Metric.Floor(*s)
	}
	if s := r.o.Request.MaxScore; s != nil {
		r.ceiling = r.c.Metric.Ceiling(*s)
	}
}
