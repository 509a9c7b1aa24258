package join

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/simd"
)

// A triangle finds the graph by searching each unordered pair of atoms once. Each atom has a
// floor, the k-th best score of some atoms with it, which its k-th neighbour reaches. A pair
// matters if its score reaches one of its floors, so it is found by a search from the atom of the
// lower floor for the scores that reach that floor. Atoms are ordered by ascending floor and
// search those that come later.
const (
	// guessesPerNeighbour times k atoms, by their heads the nearest, are scored for a floor.
	guessesPerNeighbour = 2
	// certainHead is the number of head directions with which method certain searches pairs, if in
	// the sample the first look keeps a greater share of the atoms than manySurvivors: each direction
	// leaves less to bound than a coordinate of the rotated rest does.
	certainHead, manySurvivors = 96, .02
	// A triangle needs floors that are reached by few atoms: by at most maxReaching k of them on
	// average in a sample of floorSample atoms, and by none of them maxReachingOne k.
	floorSample, maxReaching, maxReachingOne = 256, 16, 256
	// resultBytes is the memory of an atom that reaches a floor, where it is listed, scored and
	// returned; resultsBytes bounds that of a search.
	resultBytes, resultsBytes = 64, 256 << 20
)

type triangle struct {
	c       *collection.Collection // the caller's
	k       int
	order   []uint32  // row numbers by ascending floor
	floors  []float64 // search scores, in that order
	near    *table
	threads int
	// survivors is the share of the atoms that a first look keeps by a certain bound; 1 if unknown.
	survivors float64
	reach     float64 // how many atoms reach a floor, on average; 0 if unknown
	engine    *batch.Engine
	ordered   *collection.Collection // in that order; nil before it is needed
}

// triangleBytes is the memory of a triangle over c, beside the engine's for a search.
func triangleBytes(c *collection.Collection, k int) float64 {
	again := float64(c.Bytes()) - float64(len(c.Vectors.Bytes())) + 2*certainHead*float64(c.N) // the ordered collection shares the rows
	return tableBytes(c.N, k) + 12*float64(c.N) + again + 4*float64(c.N)*float64(c.R+1)
}

// newTriangle returns a triangle of floors, and whether few atoms reach them.
func newTriangle(ctx context.Context, e *batch.Engine, k, threads int) (t *triangle, few bool, err error) {
	c := e.Collection()
	b, err := newNeighbourhoods(ctx, c, threads)
	if err != nil {
		return nil, false, err
	}
	floors := make([]float64, c.N) // by row
	err = b.guess(ctx, guessesPerNeighbour*k, func(i uint32, rows []uint32) {
		row := c.Order[i]
		for next := row; len(rows) < k; { // hardly ever: any others will do
			if next = (next + 1) % uint32(c.N); next != row && !slices.Contains(rows, next) {
				rows = append(rows, next)
			}
		}
		scores := make([]float64, len(rows))
		c.ScoresOfRow(scores, int(row), rows)
		slices.Sort(scores)
		floors[row] = scores[len(scores)-k]
	})
	if err != nil {
		return nil, false, err
	}
	t = &triangle{c: c, k: k, threads: threads, survivors: 1, near: newTable(c.N, k), order: make([]uint32, c.N), floors: make([]float64, c.N)}
	for i := range t.order {
		t.order[i] = uint32(i)
	}
	slices.SortFunc(t.order, func(a, b uint32) int {
		switch {
		case floors[a] < floors[b]:
			return -1
		case floors[a] > floors[b]:
			return 1
		}
		return int(a) - int(b)
	})
	for i, row := range t.order {
		t.floors[i] = floors[row]
	}
	few, err = t.sample(ctx, e)
	return t, few, err
}

// sample counts the atoms that reach the floors of a random sample and reports whether they are
// few.
func (t *triangle) sample(ctx context.Context, e *batch.Engine) (bool, error) {
	n := min(floorSample, t.c.N)
	together := max(1, min(n, resultsBytes/resultBytes/t.c.N)) // all may reach a floor
	r := rand.New(rand.NewPCG(t.c.Seed, 0x666c6f6f7273))       // "floors"
	sum, seen, kept := 0, 0, 0
	for left := n; left > 0; left -= together {
		places := make([]int, min(together, left))
		for i := range places {
			places[i] = r.IntN(t.c.N)
		}
		resp, err := e.Search(ctx, t.request(places))
		if err != nil {
			return false, err
		}
		for i := range resp.Answers {
			reach := len(resp.Answers[i].IDs)
			if reach > maxReachingOne*t.k {
				return false, nil
			}
			sum += reach
			if looks := resp.Answers[i].Certificate.Looks; len(looks) > 0 {
				seen, kept = seen+looks[0].Seen, kept+looks[0].Survivors
				if looks[0].Width > t.c.R+t.c.PanelWidth { // too many would survive a look at panels
					kept += looks[0].Seen
				}
			}
		}
	}
	t.survivors = float64(kept) / float64(max(1, seen))
	t.reach = float64(sum) / float64(n)
	return t.reach <= float64(maxReaching*t.k), nil
}

// request asks for the atoms that reach the floors of those at these places of the order.
func (t *triangle) request(places []int) batch.Request {
	req := batch.Request{Method: batch.Certain, ExcludeSelf: true, Reaching: t.reach, Stored: true}
	for _, at := range places {
		row, least := t.order[at], t.c.Metric.Shown(lessRounding(t.floors[at]))
		addQuery(&req, t.c, int(row))
		req.Selves = append(req.Selves, int64(row))
		req.Goals = append(req.Goals, batch.QueryGoal{MinScore: &least})
	}
	return req
}

// lessRounding lowers a score by more than the scores of a pair, each atom being the query once, can
// differ: cosines by their rounding, other scores not at all.
func lessRounding(score float64) float64 { return score - math.Abs(score)*0x1p-50 }

// open makes the collection in the order of floors, and an engine over it, if they are not there.
func (t *triangle) open(ctx context.Context, e *batch.Engine) error {
	if t.engine != nil {
		return nil
	}
	c := t.c
	head := c.R
	if t.survivors > manySurvivors {
		head = certainHead
	}
	options := &collection.Options{Metric: c.Metric, Basis: c.Basis, Seed: c.Seed, Threads: t.threads, Order: t.order, Head: head, Change: c.Change}
	if c.Float64() && c.Metric.Differences() { // whose rows are made relative to it: requests have c's
		if options.Origin = c.Origin; c.Origin == nil {
			options.Origin = make([]float64, c.Dim)
		}
	}
	o, err := collection.BuildVectors(ctx, c.Vectors, options)
	if err != nil {
		return err
	}
	t.ordered = o
	t.engine, err = e.Over(ctx, o)
	return err
}

func (t *triangle) close() error {
	if t.engine == nil {
		return nil
	}
	err := t.engine.Close()
	t.engine = nil
	return err
}

// rowsAtOnce bounds the rows of a search.
func (t *triangle) rowsAtOnce() int {
	// A few may find maxReachingOne k and more.
	return max(1, min(blockRows, int(resultsBytes/resultBytes/max(1, 8*t.reach)), resultsBytes/(8*t.c.Dim)))
}

// search searches from the atoms at places first to first+rows-1 of the order. It returns their
// answers, and what they add to the graph as the results of a log.
func (t *triangle) search(ctx context.Context, first int64, rows int) (*batch.Response, []dataset.Result, error) {
	all := &batch.Response{}
	var log []dataset.Result
	for lo := int(first); lo < int(first)+rows; {
		n := min(t.rowsAtOnce(), int(first)+rows-lo)
		places := make([]int, n)
		for i := range places {
			places[i] = lo + i
		}
		req := t.request(places)
		req.LaterOnly, req.SearchScores = true, true
		resp, err := t.engine.Search(ctx, req)
		if err != nil {
			return nil, nil, locate(err, int64(lo)) // no atom of a collection is refused as a query
		}
		reverse := t.reverseAll(resp.Answers, lo)
		for j := range resp.Answers {
			a := &resp.Answers[j]
			ids := t.add(t.order[lo+j], a.IDs, a.SearchScores, reverse[j])
			log = append(log, dataset.Result{Query: int64(t.order[lo+j]), Rows: ids, Pulls: a.Certificate.Pulls, Exact: a.Certificate.Exact})
			a.IDs, a.Scores, a.SearchScores = nil, nil, nil // only a part of a row; its memory is free
		}
		all.Answers = append(all.Answers, resp.Answers...)
		all.Took += resp.Took
		addStats(&all.Stats, &resp.Stats)
		for _, w := range resp.Warnings {
			if !slices.Contains(all.Warnings, w) {
				all.Warnings = append(all.Warnings, w)
			}
		}
		lo += n
	}
	return all, log, nil
}

// addStats adds the figures of some searches to those of others.
func addStats(to, s *batch.Stats) {
	to.Pulls, to.DensePulls, to.Bytes, to.RowsScored = to.Pulls+s.Pulls, to.DensePulls+s.DensePulls, to.Bytes+s.Bytes, to.RowsScored+s.RowsScored
	to.Exact, to.Dense, to.Unfinished = to.Exact+s.Exact, to.Dense+s.Dense, to.Unfinished+s.Unfinished
}

// add adds pairs of a row with others, with its scores, to the rows of both. reverse has the scores
// with the others as the query. It returns the others of those pairs that a row wanted, in the
// memory of ids.
func (t *triangle) add(row uint32, ids []int64, scores, reverse []float64) []int64 {
	kept := ids[:0]
	for i, id := range ids {
		other := uint32(id)
		mine, theirs := t.near.wants(row, other, scores[i]), t.near.wants(other, row, reverse[i])
		if mine {
			t.near.push(row, other, scores[i])
		}
		if theirs {
			t.near.push(other, row, reverse[i])
		}
		if mine || theirs {
			kept = append(kept, id)
		}
	}
	return kept
}

// reverseAll is reverse for the answers of the atoms from place lo of the order on, on all threads.
func (t *triangle) reverseAll(answers []batch.Answer, lo int) [][]float64 {
	out := make([][]float64, len(answers))
	var g errgroup.Group
	g.SetLimit(t.threads)
	const chunk = 64
	for from := 0; from < len(answers); from += chunk {
		g.Go(func() error {
			for j := from; j < min(from+chunk, len(answers)); j++ {
				out[j] = t.reverse(t.order[lo+j], answers[j].IDs, answers[j].SearchScores)
			}
			return nil
		})
	}
	g.Wait() // always nil
	return out
}

// reverse returns the scores of a row with others as the queries, given those of the others with
// the row as the query. They are the same sums of the same terms, but a cosine divides them in another order.
// Those that no row would take may be as they are given.
func (t *triangle) reverse(row uint32, ids []int64, scores []float64) []float64 {
	c := t.c
	if !c.Metric.Normalises() {
		return scores
	}
	out := slices.Clone(scores)
	var others []uint32
	var places []int
	for i, id := range ids {
		if t.near.wants(uint32(id), row, scores[i]+math.Abs(scores[i])*0x1p-49) {
			others, places = append(others, uint32(id)), append(places, i)
		}
	}
	if len(others) == 0 {
		return out
	}
	wide := make([]float64, c.Dim)
	c.Vectors.Read64(wide, int(row)*c.Dim)
	dots := make([]float64, len(others))
	c.Sums(simd.Best(), dots, others, wide, false)
	for i, at := range places {
		out[at] = c.ScoreOf(int(row), dots[i], c.RowSquares[others[i]])
	}
	return out
}

// The log of a triangle begins with its order and its floors, as results to these queries.
const (
	orderRecord = -1 - iota
	floorsRecord
)

// head returns the results with which the log begins.
func (t *triangle) head() []dataset.Result {
	order, floors := make([]int64, len(t.order)), make([]int64, len(t.floors))
	for i, row := range t.order {
		order[i], floors[i] = int64(row), int64(math.Float64bits(t.floors[i]))
	}
	return []dataset.Result{{Query: orderRecord, Rows: order}, {Query: floorsRecord, Rows: floors}}
}

// restore returns the triangle whose log begins with head, which is followed by pairs.
func restoreTriangle(c *collection.Collection, k, threads int, log dataset.EachResult) (*triangle, error) {
	t := &triangle{c: c, k: k, threads: threads, survivors: 1, near: newTable(c.N, k)}
	var scores []float64
	var rows []uint32
	err := log(func(_ int64, r *dataset.Result) error {
		switch {
		case r.Query == orderRecord && t.order == nil:
			for _, row := range r.Rows {
				t.order = append(t.order, uint32(row))
			}
			return nil
		case r.Query == floorsRecord && t.floors == nil:
			for _, bits := range r.Rows {
				t.floors = append(t.floors, math.Float64frombits(uint64(bits)))
			}
			return nil
		case r.Query < 0 || r.Query >= int64(c.N) || len(t.order) != c.N || len(t.floors) != c.N:
			return fmt.Errorf("%w: row %d, order of %d, floors of %d for %d vectors", errLog, r.Query, len(t.order), len(t.floors), c.N)
		}
		rows = rows[:0]
		for _, id := range r.Rows {
			if id < 0 || id >= int64(c.N) {
				return fmt.Errorf("%w: vector %d of %d", errLog, id, c.N)
			}
			rows = append(rows, uint32(id))
		}
		scores = slices.Grow(scores[:0], len(rows))[:len(rows)]
		c.ScoresOfRow(scores, int(r.Query), rows)
		t.add(uint32(r.Query), slices.Clone(r.Rows), scores, t.reverse(uint32(r.Query), r.Rows, scores))
		return nil
	})
	return t, err
}

// errLog means that a log is not one of this graph.
var errLog = errors.New("log of another graph")
