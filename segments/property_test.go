package segments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	_ "thresher/internal/draws"
	"thresher/internal/vectors"
)

const (
	universe = 300 // ids that a drawn history writes
	drawnDim = 24
)

// history draws writes, seals and merges of a set, and the vectors that it should then hold.
type history struct {
	*rapid.T
	set  *Set
	held *model
	pool values // of rows, many of which score alike; of float64 many differ in what float32 does not hold
}

// drawIDs draws some ids, each once.
func (h *history) drawIDs(name string, most int) []int64 {
	return rapid.SliceOfNDistinct(rapid.Int64Range(0, universe-1), 0, most, rapid.ID[int64]).Draw(h.T, name)
}

// drawRows draws rows of the pool.
func (h *history) drawRows(n int) (rows values) {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(h.T, "rows"), 0))
	for range n {
		at := r.IntN(h.pool.len()/drawnDim) * drawnDim
		rows = rows.with(h.pool.slice(at, at+drawnDim))
	}
	return rows
}

// wide returns a pool of float64 of the rows of one of float32: at an offset, and each with copies that differ from it by less than a step of
// float32.
func wide(pool []float32, offset float64) (all values) {
	r := vectors.Rand(9)
	for range 3 {
		for _, x := range pool {
			all.wide = append(all.wide, offset+float64(x)+1e-9*float64(r.IntN(3)))
		}
	}
	return all
}

// step does one thing.
func (h *history) step() {
	switch rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9}).Draw(h.T, "step") {
	case 0, 1, 2, 3:
		ids := h.drawIDs("upsert", 40)
		h.held.write(h.T, h.set, ids, h.drawRows(len(ids)))
	case 4:
		h.held.delete(h.T, h.set, h.drawIDs("delete", 30))
	case 5: // a merge with writes meanwhile
		u := h.set.Begin()
		if u == nil && rapid.Bool().Draw(h.T, "of all") {
			var err error
			if u, err = h.set.BeginAll(); err != nil {
				h.Fatal(err)
			}
		}
		if u == nil {
			return
		}
		ids := h.drawIDs("meanwhile", 30)
		h.held.write(h.T, h.set, ids, h.drawRows(len(ids)))
		h.held.delete(h.T, h.set, h.drawIDs("deleted meanwhile", 20))
		if rapid.Bool().Draw(h.T, "abandon") {
			u.Abandon()
			return
		}
		if err := u.finish(context.Background()); err != nil {
			h.Fatal(err)
		}
	case 6:
		u, err := h.set.BeginAll()
		if err != nil {
			h.Fatal(err)
		}
		if u != nil {
			if err := u.finish(context.Background()); err != nil {
				h.Fatal(err)
			}
		}
	case 7, 8:
		if err := h.set.Maintain(context.Background()); err != nil {
			h.Fatal(err)
		}
	case 9: // many at once
		ids := h.drawIDs("upsert many", universe)
		h.held.write(h.T, h.set, ids, h.drawRows(len(ids)))
	}
}

// request draws a request.
func (h *history) request(metric collection.Metric) batch.Request {
	m := rapid.IntRange(1, 6).Draw(h.T, "queries")
	queries := h.drawRows(m)
	req := batch.Request{Queries: queries.narrow, Queries64: queries.wide, Method: batch.Certain}
	if queries.wide != nil && rapid.Bool().Draw(h.T, "float32 queries") {
		req.Queries, req.Queries64 = make([]float32, queries.len()), nil
		for i, x := range queries.wide {
			req.Queries[i] = float32(x)
		}
	}
	if rapid.Bool().Draw(h.T, "exact") {
		req.Method = batch.Exact
	}
	limits := func() (least, most *float64) {
		score := func(name string) *float64 {
			if rapid.IntRange(0, 3).Draw(h.T, name) > 0 {
				return nil
			}
			x := metric.Shown(float64(rapid.IntRange(-64, 64).Draw(h.T, name+" score")) / 16)
			return &x
		}
		least, most = score("least"), score("most")
		if least != nil && most != nil && metric.Searched(*most) < metric.Searched(*least) {
			least, most = most, least
		}
		return least, most
	}
	req.K = rapid.SampledFrom([]int{1, 2, 5, 10, 40, universe + 5}).Draw(h.T, "k")
	req.MinScore, req.MaxScore = limits()
	if req.MinScore != nil && rapid.Bool().Draw(h.T, "all") {
		req.K = 0
		if rapid.Bool().Draw(h.T, "limited") {
			req.Limit = rapid.IntRange(1, 20).Draw(h.T, "limit")
		}
	}
	if rapid.IntRange(0, 2).Draw(h.T, "filter") == 0 {
		req.Filter = h.drawIDs("allowed", universe)
	}
	if rapid.IntRange(0, 2).Draw(h.T, "exclude") == 0 {
		req.Exclude = h.drawIDs("excluded", 40)
	}
	if rapid.IntRange(0, 2).Draw(h.T, "goals") == 0 {
		req.Goals = make([]batch.QueryGoal, m)
		for j := range req.Goals {
			g := &req.Goals[j]
			g.Exclude, g.Candidates = h.drawIDs("own exclude", 10), h.drawIDs("candidates", 10)
			if req.K > 0 {
				g.K = rapid.SampledFrom([]int{0, 1, 3, 60}).Draw(h.T, "own k")
			}
			switch rapid.IntRange(0, 4).Draw(h.T, "own filter") {
			case 0:
				g.Filter = h.drawIDs("own allowed", universe)
			case 1: // the same as before
				g.Filter = req.Goals[max(0, j-1)].Filter
			}
		}
	}
	if ids := h.held.ids(); rapid.IntRange(0, 3).Draw(h.T, "selves") == 0 {
		req.ExcludeSelf = true
		for range m {
			req.Selves = append(req.Selves, rapid.SampledFrom(ids).Draw(h.T, "self"))
		}
	}
	return req
}

// selected compares answers among the vectors that an expression selects.
func (h *history) selected(now *Snapshot, whole *block, req batch.Request) {
	limit := rapid.IntRange(-1, 5).Draw(h.T, "year")
	expr, err := columns.Parse(fmt.Sprint("year < ", limit))
	if err != nil {
		h.Fatal(err)
	}
	found, err := now.Select(expr, nil)
	if err != nil {
		h.Fatal(err)
	}
	want := slices.DeleteFunc(h.held.ids(), func(id int64) bool { return h.held.years[id] >= limit })
	if got := found.IDs(); !slices.Equal(got, want) {
		h.Fatalf("year < %d selects %v, want %v", limit, got, want)
	}
	both := req
	among := func(ids []int64) []int64 {
		return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return !slices.Contains(want, id) })
	}
	if both.Filter == nil {
		both.Filter = want
	} else {
		both.Filter = among(req.Filter)
	}
	both.Goals = slices.Clone(req.Goals)
	for j := range both.Goals {
		if g := &both.Goals[j]; g.Filter != nil { // in the place of the request's
			g.Filter = among(g.Filter)
		}
	}
	req.SearchScores = true
	got, err := found.Search(context.Background(), req)
	if err != nil {
		h.Fatal(err)
	}
	same(h, got, whole.search(h, both))
}

// TestEqualsOneBlock: whatever was written, deleted, sealed and merged, in whatever order, answers of exact and
// certain are those of one collection of the vectors that are left, bit for bit.
func TestEqualsOneBlock(t *testing.T) {
	b := newBackend(t)
	ties := vectors.Ties(vectors.Rand(5), 90, drawnDim)
	rapid.Check(t, func(r *rapid.T) {
		metric := rapid.SampledFrom(metrics).Draw(r, "metric")
		o := collection.Options{Metric: metric, Seed: 1, Threads: 1}
		pool := values{narrow: ties}
		held := &model{dim: drawnDim, rows: map[int64][]float32{}, years: map[int64]int{}}
		if rapid.Bool().Draw(r, "float64") {
			offset := rapid.SampledFrom([]float64{0, 1e6, -1e9}).Draw(r, "offset")
			pool, o.Elem, held.wide = wide(ties, offset), dataset.ElemFloat64, map[int64][]float64{}
			if metric == collection.Euclidean && rapid.Bool().Draw(r, "origin") {
				o.Origin = slices.Repeat([]float64{offset}, drawnDim)
			}
		}
		s, err := Open(drawnDim, Options{Collection: o, Backend: b, Columns: []columns.Field{{Name: "year", Type: columns.Integer}}})
		if err != nil {
			r.Fatal(err)
		}
		defer s.Close()
		s.piece, s.seal, s.short = 10, 40, rapid.SampledFrom([]int{0, 12 * drawnDim, shortValues}).Draw(r, "short")
		h := &history{r, s, held, pool}
		for range rapid.IntRange(4, 20).Draw(r, "steps") {
			h.step()
		}
		now := s.Snapshot()
		defer now.Release()
		if now.Len() != len(h.held.rows) {
			r.Fatalf("%d vectors, want %d", now.Len(), len(h.held.rows))
		}
		for _, id := range h.drawIDs("vector", 20) {
			if got, want := now.Vector(id), h.held.rows[id]; !slices.Equal(got, want) {
				r.Fatalf("vector %d is %v, want %v", id, got, want)
			}
			if got, want := now.Given(id), h.held.wide[id]; held.wide != nil && !slices.Equal(got, want) {
				r.Fatalf("vector %d is %v, want %v", id, got, want)
			}
		}
		whole := h.held.block(r, b, o)
		if whole == nil {
			return
		}
		defer whole.engine.Close()
		for range 3 {
			req := h.request(metric)
			same(r, search(r, s, req), whole.search(r, req))
			h.selected(now, whole, req)
		}
	})
}
