package segments

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/cpu"
	"thresher/dataset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var metrics = []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean}

// fataler is a test or one case of a property.
type fataler interface {
	Fatal(...any)
	Fatalf(string, ...any)
	Helper()
}

// newBackend returns a CPU backend that is closed with the test.
func newBackend(t testing.TB) backend.Backend {
	b := cpu.New(cpu.Options{Threads: 2})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// model is what a set should hold, by id.
type model struct {
	dim  int
	rows map[int64][]float32
	wide map[int64][]float64 // of a set of float64, whose rows are rounded in rows; else nil
	// years are the values of a column, those of later writes other ones; nil: the set has none.
	years  map[int64]int
	writes int
}

// ids are the ids of the model, ascending.
func (m *model) ids() []int64 { return slices.Sorted(maps.Keys(m.rows)) }

// upsert writes to the set and to the model.
func (m *model) upsert(t fataler, s *Set, ids []int64, rows []float32) {
	t.Helper()
	m.write(t, s, ids, values{narrow: rows})
}

// write is upsert of rows of either type.
func (m *model) write(t fataler, s *Set, ids []int64, rows values) {
	t.Helper()
	replaced, want := 0, 0
	for i, id := range ids {
		if m.rows[id] != nil {
			want++
		}
		own := rows.slice(i*m.dim, (i+1)*m.dim)
		if m.wide != nil {
			m.wide[id] = own.float64s()
		}
		m.rows[id] = make([]float32, m.dim)
		v, err := own.vectors(m.dim)
		if err != nil {
			t.Fatal(err)
		}
		v.Read32(m.rows[id], 0)
	}
	var described *columns.Columns
	if m.writes++; m.years != nil {
		years := make([]int, len(ids))
		for i, id := range ids {
			years[i] = (int(id) + m.writes) % 5
			m.years[id] = years[i]
		}
		described, _ = columns.New(columns.Of("year", years))
	}
	var err error
	if rows.wide != nil {
		replaced, err = s.UpsertFloat64(ids, rows.wide, dataset.Change{}, described)
	} else {
		replaced, err = s.UpsertColumns(ids, rows.narrow, dataset.Change{}, described)
	}
	if err != nil {
		t.Fatal(err)
	}
	if replaced != want {
		t.Fatalf("%d replaced, want %d", replaced, want)
	}
}

// delete deletes from both.
func (m *model) delete(t fataler, s *Set, ids []int64) {
	t.Helper()
	want := 0
	for _, id := range ids {
		if m.rows[id] != nil {
			want++
			delete(m.rows, id)
			delete(m.wide, id)
		}
	}
	deleted, err := s.Delete(ids)
	if err != nil {
		t.Fatal(err)
	}
	if deleted != want {
		t.Fatalf("%d deleted, want %d", deleted, want)
	}
}

// block is one collection of all vectors of a model, in the order of their ids.
type block struct {
	ids    []int64
	engine *batch.Engine
	at     map[int64]int64 // row numbers by id
}

// block returns the model as one collection; nil if it is empty.
func (m *model) block(t fataler, b backend.Backend, o collection.Options) *block {
	t.Helper()
	one := &block{ids: m.ids(), at: map[int64]int64{}}
	var rows values
	for row, id := range one.ids {
		if m.wide != nil {
			rows.wide = append(rows.wide, m.wide[id]...)
		} else {
			rows.narrow = append(rows.narrow, m.rows[id]...)
		}
		one.at[id] = int64(row)
	}
	if len(one.ids) == 0 {
		return nil
	}
	v, err := rows.vectors(m.dim)
	if err != nil {
		t.Fatal(err)
	}
	c, err := collection.BuildVectors(context.Background(), v, &o)
	if err != nil {
		t.Fatal(err)
	}
	if one.engine, err = batch.Open(context.Background(), c, b, nil); err != nil {
		t.Fatal(err)
	}
	return one
}

// rows are the row numbers of those ids that the block has; nil of nil.
func (b *block) rows(ids []int64) []int64 {
	if ids == nil {
		return nil
	}
	rows := []int64{}
	for _, id := range ids {
		if row, ok := b.at[id]; ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// search answers a request by ids.
func (b *block) search(t fataler, req batch.Request) *batch.Response {
	t.Helper()
	req.Filter, req.Exclude, req.Selves = b.rows(req.Filter), b.rows(req.Exclude), b.rows(req.Selves)
	req.Goals = slices.Clone(req.Goals)
	for j := range req.Goals {
		g := &req.Goals[j]
		g.Exclude, g.Candidates, g.Filter = b.rows(g.Exclude), b.rows(g.Candidates), b.rows(g.Filter)
	}
	req.SearchScores = true
	resp, err := b.engine.Search(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	for j := range resp.Answers {
		for i, row := range resp.Answers[j].IDs {
			resp.Answers[j].IDs[i] = b.ids[row]
		}
	}
	return resp
}

// same fails unless two responses have the same ids and scores, bit for bit.
func same(t fataler, got, want *batch.Response) {
	t.Helper()
	if len(got.Answers) != len(want.Answers) {
		t.Fatalf("%d answers, want %d", len(got.Answers), len(want.Answers))
	}
	for j := range got.Answers {
		g, w := &got.Answers[j], &want.Answers[j]
		bitsEqual := slices.EqualFunc(g.SearchScores, w.SearchScores, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
		if !slices.Equal(g.IDs, w.IDs) || !bitsEqual || !slices.Equal(g.Scores, w.Scores) {
			t.Fatalf("query %d:\n got %v %v %v\nwant %v %v %v", j, g.IDs, g.SearchScores, g.Scores, w.IDs, w.SearchScores, w.Scores)
		}
		if g.Limited != w.Limited {
			t.Fatalf("query %d: limited %v, want %v", j, g.Limited, w.Limited)
		}
	}
}

// search searches what a set holds now.
func search(t fataler, s *Set, req batch.Request) *batch.Response {
	t.Helper()
	now := s.Snapshot()
	defer now.Release()
	req.SearchScores = true
	resp, err := now.Search(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}
