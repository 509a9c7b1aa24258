package segments

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/draws"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

// opened4 returns an empty set of 4 dimensions with small pieces and seals.
func opened4(t *testing.T) (*Set, *model) {
	t.Helper()
	s, err := Open(4, Options{Collection: collection.Options{Metric: collection.Euclidean}, Backend: newBackend(t)})
	if err != nil {
		t.Fatal(err)
	}
	s.piece, s.seal = 8, 16
	return s, &model{dim: 4, rows: map[int64][]float32{}}
}

// TestSnapshotsStay: a snapshot answers as before whatever is written, sealed and merged after it, and a segment is ended once when the
// last one that has it is released.
func TestSnapshotsStay(t *testing.T) {
	s, held := opened4(t)
	rows := vectors.Gaussian(draws.Rand(7), 100, 4)
	c, err := collection.Build(context.Background(), rows[:40*4], 4, &s.o.Collection)
	if err != nil {
		t.Fatal(err)
	}
	ended := 0
	first, err := New(context.Background(), c, nil, s.o.Backend, nil, -1, func() error { ended++; return errors.New("ended") })
	if err != nil {
		t.Fatal(err)
	}
	s, err = Open(4, s.o, Holding{Segment: first})
	if err != nil {
		t.Fatal(err)
	}
	s.piece, s.seal = 8, 16
	for id := range int64(40) {
		held.rows[id] = rows[id*4 : id*4+4]
	}
	before := s.Snapshot()
	req := batch.Request{Queries: rows[:3*4], K: 5, SearchScores: true}
	want, err := before.Search(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	held.delete(t, s, []int64{0, 1, 2, 100})
	for id := int64(3); id < 63; id += 3 {
		held.upsert(t, s, []int64{id}, rows[4*(id+20):4*(id+21)])
	}
	u, err := s.BeginAll()
	if err != nil {
		t.Fatal(err)
	}
	if err := u.finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(s.current.views); n != 1 || s.current.views[0].deleted != 0 || s.current.Len() != len(held.rows) {
		t.Fatalf("%d segments after a merge of all, %d vectors, want %d", n, s.current.Len(), len(held.rows))
	}
	got, err := before.Search(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, want)
	if !before.Has(1) || s.current.Has(1) || before.Len() != 40 {
		t.Error("a snapshot sees later writes")
	}
	if ended != 0 {
		t.Error("a segment ended that a snapshot has")
	}
	if err := before.Release(); err == nil || ended != 1 {
		t.Errorf("%d ends, %v", ended, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Upsert([]int64{1}, rows[:4]); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestRefused: what cannot be written changes nothing, and the error names it.
func TestRefused(t *testing.T) {
	s, held := opened4(t)
	defer s.Close()
	held.upsert(t, s, []int64{5}, []float32{1, 2, 3, 4})
	nan := float32(0)
	nan /= nan
	for _, c := range []struct {
		ids  []int64
		rows []float32
		want string
	}{
		{[]int64{1, 2}, make([]float32, 4), "4 values for 2 ids of 4 dimensions"},
		{[]int64{1, -2}, make([]float32, 8), "row 1: id -2: ids are 0 or greater"},
		{[]int64{3, 1, 3}, make([]float32, 12), "row 2: id 3: row 0 has it, too"},
		{[]int64{1, 5}, []float32{0, 0, 0, 0, 0, nan, 0, 0}, "row 1, column 1: value NaN"},
		{[]int64{5}, []float32{3e38, 3e38, 0, 0}, "scores could overflow"},
	} {
		if _, err := s.Upsert(c.ids, c.rows); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.ids, err, c.want)
		}
	}
	now := s.Snapshot()
	defer now.Release()
	if now.Len() != 1 || !slices.Equal(now.Vector(5), []float32{1, 2, 3, 4}) {
		t.Errorf("%d vectors, %v", now.Len(), now.Vector(5))
	}
	for _, c := range []struct {
		req  batch.Request
		want string
	}{
		{batch.Request{K: 1}, "queries: none given"},
		{batch.Request{Queries: make([]float32, 4)}, "k: 0, at least 1"},
		{batch.Request{Queries: make([]float32, 3), K: 1}, "3 values are no rows"},
		{batch.Request{Queries: make([]float32, 4), K: 1, Filter: []int64{5, -1}}, "filter: entry 1: id -1"},
		{batch.Request{Queries: make([]float32, 4), K: 1, ExcludeSelf: true, SelfFirst: 4}, "exclude_self: query 0: there is no vector 4"},
		{batch.Request{Queries: make([]float32, 8), Goals: []batch.QueryGoal{{K: 1}, {K: 2}}, K: 1, Selves: []int64{5}, ExcludeSelf: true}, "selves: 1 for 2 queries"},
		{batch.Request{Queries: append(make([]float32, 4), nan, 0, 0, 0), Goals: []batch.QueryGoal{{K: 1}, {K: 3}}, K: 1}, "queries: query 1: column 0: value NaN"},
		{batch.Request{Queries: make([]float32, 4), K: 1, ExcludeSelf: true, LaterOnly: true}, "later_only"},
	} {
		_, err := now.Search(context.Background(), c.req)
		var e *batch.RequestError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.req, err, c.want)
		}
	}
	for _, parts := range [][]Holding{{{Deleted: []uint32{3, 3}}}, {{Deleted: []uint32{9}}}, {{}, {}}} {
		for i := range parts {
			c, err := collection.Build(context.Background(), make([]float32, 20), 4, &s.o.Collection)
			if err != nil {
				t.Fatal(err)
			}
			if parts[i].Segment, err = New(context.Background(), c, nil, s.o.Backend, nil, -1, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(4, s.o, parts...); err == nil {
			t.Errorf("%+v were opened", parts)
		}
		for i := range parts {
			parts[i].Segment.Close()
		}
	}
}

// TestEmpty: a set without vectors answers requests, and refuses wrong ones as others do.
func TestEmpty(t *testing.T) {
	s, _ := opened4(t)
	defer s.Close()
	resp := search(t, s, batch.Request{Queries: make([]float32, 8), K: 3})
	if len(resp.Answers) != 2 || len(resp.Answers[0].IDs) != 0 || !resp.Answers[1].Certificate.Exact || !slices.Equal(resp.Warnings, []string{"k 3 cut to the 0 vectors there are"}) {
		t.Errorf("%+v", resp)
	}
	if n, err := s.Delete([]int64{1, 2}); n != 0 || err != nil {
		t.Errorf("%d deleted of nothing, %v", n, err)
	}
}

// TestSearchBesideWrites: searches, writes and upkeep at once, each search over one state: of two rows that are always written
// together, it finds both or none, of one version.
func TestSearchBesideWrites(t *testing.T) {
	s, _ := opened4(t)
	defer s.Close()
	s.short = 0 // small segments are searched side by side
	ctx := context.Background()
	stop := make(chan struct{})
	var writer, others sync.WaitGroup
	writer.Add(1)
	go func() {
		defer writer.Done()
		defer close(stop)
		for version := range 300 {
			x := float32(version)
			if _, err := s.Upsert([]int64{int64(version % 7), 1000 + int64(version%7)}, []float32{x, 0, 0, 1, x, 0, 0, 1}); err != nil {
				t.Error(err)
			}
			if version%11 == 5 {
				if _, err := s.Delete([]int64{int64(version % 7), 1000 + int64(version%7)}); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	until := func(do func() error) {
		others.Add(1)
		go func() {
			defer others.Done()
			for {
				if err := do(); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	until(func() error { return s.Maintain(ctx) })
	for range 2 {
		until(func() error {
			now := s.Snapshot()
			defer now.Release()
			resp, err := now.Search(ctx, batch.Request{Queries: []float32{0, 0, 0, 0, 9, 9, 9, 9}, K: 50, SearchScores: true})
			if err != nil {
				return err
			}
			a := &resp.Answers[0]
			if len(a.IDs) != now.Len() || len(a.IDs)%2 != 0 {
				t.Errorf("%d found of %d", len(a.IDs), now.Len())
			}
			for i := 0; i+1 < len(a.IDs); i += 2 {
				if a.IDs[i]+1000 != a.IDs[i+1] || a.SearchScores[i] != a.SearchScores[i+1] {
					t.Errorf("%v %v", a.IDs, a.SearchScores)
				}
			}
			return nil
		})
	}
	writer.Wait()
	others.Wait()
}

// TestPieces: rows that wait to be sealed are in few pieces, however many writes they came by, none larger than a writer may
// copy; those that are about to be sealed are left alone.
func TestPieces(t *testing.T) {
	s, held := opened4(t)
	defer s.Close()
	s.seal = 1 << 20
	rows := vectors.Gaussian(draws.Rand(8), 2*maxPieceRows, 4)
	for id := range int64(500) {
		held.upsert(t, s, []int64{id * 7 % 400}, rows[4*id:4*id+4])
		if most := bits.Len(uint(id+1) / 8); len(s.current.views) > most || len(s.current.tail.ids) >= s.piece {
			t.Fatalf("after %d writes %d pieces, at most %d; %d writes in no piece, fewer than %d", id+1, len(s.current.views), most, len(s.current.tail.ids), s.piece)
		}
	}
	s.seal = 16
	u := s.Begin()
	sealed := len(s.current.views)
	for id := range int64(100) {
		held.upsert(t, s, []int64{id * 3}, rows[4*id:4*id+4])
	}
	for _, segment := range u.Segments() {
		if !s.current.has(segment) {
			t.Error("a piece that is being sealed is in another one")
		}
	}
	if n := len(s.current.views) - sealed; n < 1 || n > 4 {
		t.Errorf("%d pieces came after those that are being sealed", n)
	}
	if err := u.finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.seal = 1 << 20
	for id := int64(0); id < 2*maxPieceRows; id += 1024 {
		ids := make([]int64, 1024)
		for i := range ids {
			ids[i] = 1000 + id + int64(i)
		}
		held.upsert(t, s, ids, rows[4*id:4*(id+1024)])
	}
	for i := range s.current.views {
		if n := s.current.views[i].c.N; n > maxPieceRows {
			t.Errorf("a piece of %d rows", n)
		}
	}
	whole := held.block(t, s.o.Backend, s.o.Collection)
	defer whole.engine.Close()
	req := batch.Request{Queries: rows[:40*4], K: 20, Method: batch.Certain}
	same(t, search(t, s, req), whole.search(t, req))
}

// TestFirstSearchAfterWrite: what a write makes the next search prepare does not depend on how many vectors there are.
func TestFirstSearchAfterWrite(t *testing.T) {
	race.Skip(t, "the race detector's sync.Pool drops what searches keep for each other")
	const n, dim = 60_000, 64
	b := newBackend(t)
	rows := vectors.Gaussian(draws.Rand(9), n, dim)
	c, err := collection.Build(context.Background(), rows, dim, &collection.Options{Metric: collection.Euclidean})
	if err != nil {
		t.Fatal(err)
	}
	segment, err := New(context.Background(), c, nil, b, nil, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dim, Options{Collection: collection.Options{Metric: collection.Euclidean}, Backend: b}, Holding{Segment: segment})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fewest := uint64(math.MaxUint64) // a collection of garbage takes away what searches keep for each other
	for i := range 20 {
		if _, err := s.Upsert([]int64{int64(i)}, rows[:dim]); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		search(t, s, batch.Request{Queries: rows[5*dim : 6*dim], K: 10, Method: batch.Certain, Plan: "whole,rescore"})
		runtime.ReadMemStats(&after)
		fewest = min(fewest, after.TotalAlloc-before.TotalAlloc)
	}
	if fewest > n {
		t.Errorf("the first search after a write allocates %d bytes for %d vectors", fewest, n)
	}
}

// TestClosed: a set that was closed is empty, and snapshots of it leave those in use alone.
func TestClosed(t *testing.T) {
	s, err := Open(2, Options{Collection: collection.Options{Metric: collection.InnerProduct}, Backend: newBackend(t), SealRows: 4})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Upsert([]int64{1, 2, 3, 4, 5}, []float32{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}); err != nil {
		t.Fatal(err)
	}
	used := s.Snapshot()
	if len(used.Holdings()) == 0 {
		t.Fatal("there are no segments")
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		late := s.Snapshot()
		if late.Len() != 0 || len(late.IDs()) != 0 || late.Has(1) {
			t.Errorf("%d vectors", late.Len())
		}
		if err := late.Release(); err != nil {
			t.Error(err)
		}
	}
	if v := used.Vector(3); len(v) != 2 || v[0] != 3 {
		t.Errorf("vector 3 is %v", v)
	}
	if err := used.Release(); err != nil {
		t.Error(err)
	}
}
