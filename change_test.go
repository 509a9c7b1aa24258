package thresher_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"thresher"
	"thresher/internal/vectors"
	"thresher/tasks"
	"thresher/verify"
)

// living is an index that changes, with what it should hold.
type living struct {
	*thresher.Index
	t      *testing.T
	random *rand.Rand
	dim    int
	texts  bool
	far    float64              // how far from zero vectors of float64 are
	rows   map[string][]float64 // as given, by id
	order  []string             // ids in the order of their row numbers
}

// ids returns ids as the index takes them.
func (l *living) idsOf(ids []string) *thresher.IDs {
	if l.texts {
		return thresher.IDsOf(ids)
	}
	numbers := make([]uint64, len(ids))
	for i, id := range ids {
		numbers[i], _ = strconv.ParseUint(id, 10, 64)
	}
	return thresher.IDsOf(numbers)
}

// some returns n ids, of those that there are or might be.
func (l *living) some(n int) []string {
	ids := map[string]bool{}
	for range n {
		id := strconv.Itoa(l.random.IntN(90))
		if l.texts {
			id = "v" + id
		}
		ids[id] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// upsert writes to both, in float32 if wide is false.
func (l *living) upsert(ids []string, wide bool) {
	l.t.Helper()
	ctx := context.Background()
	given := make([]float64, 0, len(ids)*l.dim)
	for _, x := range vectors.Gaussian(l.random, len(ids), l.dim) {
		x := float64(x)
		if wide {
			x = x/3 + l.far
		}
		given = append(given, x)
	}
	want := 0
	for i, id := range ids {
		if l.rows[id] != nil {
			want++
		} else if !slices.Contains(l.order, id) {
			l.order = append(l.order, id)
		}
		l.rows[id] = given[i*l.dim : (i+1)*l.dim]
	}
	var replaced int
	var err error
	if wide {
		replaced, err = l.UpsertFloat64(ctx, l.idsOf(ids), given)
	} else {
		narrow := make([]float32, len(given))
		for i, x := range given {
			narrow[i] = float32(x)
		}
		replaced, err = l.Upsert(ctx, l.idsOf(ids), narrow)
	}
	if err != nil || replaced != want {
		l.t.Fatalf("%d replaced, want %d: %v", replaced, want, err)
	}
}

// remove removes from both those of ids that are there.
func (l *living) remove(ids []string) {
	l.t.Helper()
	ids = slices.DeleteFunc(ids, func(id string) bool { return l.rows[id] == nil })
	if len(ids) == len(l.rows) {
		return
	}
	if err := l.Remove(context.Background(), l.idsOf(ids)); err != nil {
		l.t.Fatal(err)
	}
	for _, id := range ids {
		delete(l.rows, id)
	}
}

// left are the ids that are there, in the order of their row numbers.
func (l *living) left() []string {
	return slices.DeleteFunc(slices.Clone(l.order), func(id string) bool { return l.rows[id] == nil })
}

// fresh returns a new index of what should be there.
func (l *living) fresh(o thresher.Options) *thresher.Index {
	l.t.Helper()
	var rows []float64
	left := l.left()
	for _, id := range left {
		rows = append(rows, l.rows[id]...)
	}
	o.IDs = l.idsOf(left)
	x, err := thresher.New(context.Background(), rows, l.dim, o)
	if err != nil {
		l.t.Fatal(err)
	}
	return x
}

// idsIn are the ids of an answer.
func idsIn(a *thresher.Answer) []string {
	ids := slices.Clone(a.TextIDs)
	for _, id := range a.IDs {
		ids = append(ids, strconv.FormatUint(id, 10))
	}
	return ids
}

// same fails unless two responses name the same vectors with the same scores, which are equal bit for bit if exact.
func (l *living) same(what string, got, want *thresher.Response, exact bool) {
	l.t.Helper()
	for j := range want.Answers {
		g, w := &got.Answers[j], &want.Answers[j]
		near := slices.EqualFunc(g.Scores64, w.Scores64, func(a, b float64) bool {
			return a == b || !exact && math.Abs(a-b) <= 1e-4*max(1, math.Abs(b))
		})
		if !slices.Equal(idsIn(g), idsIn(w)) || !near {
			l.t.Fatalf("%s, query %d:\n got %v %v\nwant %v %v", what, j, idsIn(g), g.Scores64, idsIn(w), w.Scores64)
		}
		rows, err := l.Rows(l.idsOf(idsIn(g)))
		if err != nil || !slices.Equal(rows, g.Rows) {
			l.t.Fatalf("%s, query %d: rows %v, want %v: %v", what, j, g.Rows, rows, err)
		}
	}
}

// newLiving returns an index of n vectors with ids, of which the model knows.
func newLiving(t *testing.T, n int, o thresher.Options, texts, wide bool) *living {
	l := &living{t: t, random: vectors.Rand(7), dim: 12, texts: texts, rows: map[string][]float64{}}
	if o.Metric == thresher.Euclidean {
		l.far = 1e6
	}
	rows := make([]float64, 0, n*l.dim)
	for _, x := range vectors.Gaussian(l.random, n, l.dim) {
		x := float64(x)
		if wide {
			x = x/3 + l.far
		}
		rows = append(rows, x)
	}
	for i := range n {
		id := strconv.Itoa((i * 7) % 90)
		if texts {
			id = "v" + id
		}
		l.order = append(l.order, id)
		l.rows[id] = rows[i*l.dim : (i+1)*l.dim]
	}
	o.IDs = l.idsOf(l.order)
	var err error
	if l.Index, err = thresher.New(context.Background(), rows, l.dim, o); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestChange: after any changes, all methods of an Index answer as those of a new one of the vectors that are there, by id;
// vectors keep their row numbers.
func TestChange(t *testing.T) {
	ctx := context.Background()
	for _, metric := range []thresher.Metric{thresher.InnerProduct, thresher.Cosine, thresher.Euclidean} {
		for k := range 4 {
			texts, dtype := k%2 > 0, []thresher.Dtype{thresher.Float32, thresher.Float64}[k/2]
			o := thresher.Options{Metric: metric, Dtype: dtype, Threads: 2}
			wide := isWide(&o)
			l := newLiving(t, 60, o, texts, wide)
			for round := range 6 {
				l.upsert(l.some(1+round*3), wide)
				l.remove(l.some(1 + round*2))
				checkLiving(t, ctx, l, o, fmt.Sprintf("%s, texts %v, %v, round %d", metric, texts, dtype, round))
			}
			path := filepath.Join(t.TempDir(), "now.thresher")
			if err := l.Save(ctx, path, false); err != nil {
				t.Fatal(err)
			}
			saved, err := thresher.Open(ctx, path, thresher.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if l.Dtype() != dtype || saved.Dtype() != dtype {
				t.Errorf("dtype %v, saved %v, want %v", l.Dtype(), saved.Dtype(), dtype)
			}
			if saved.Len() != len(l.rows) || saved.IDs().Text(0) != l.left()[0] {
				t.Errorf("%d saved, want %d; the first is %s, want %s", saved.Len(), len(l.rows), saved.IDs().Text(0), l.left()[0])
			}
			if err := errors.Join(saved.Close(), l.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// isWide reports whether vectors for an index are drawn in float64.
func isWide(o *thresher.Options) bool {
	return o.Metric == thresher.Euclidean || o.Dtype == thresher.Float64
}

// checkLiving compares an index that has changed with a new one.
func checkLiving(t *testing.T, ctx context.Context, l *living, o thresher.Options, what string) {
	t.Helper()
	wide, exact := isWide(&o), o.Metric != thresher.Euclidean || o.Dtype == thresher.Float64
	x := l.fresh(o)
	defer x.Close()
	if l.Len() != x.Len() || !slices.Equal(texts(l.IDs()), texts(x.IDs())) {
		t.Fatalf("%s: %d vectors with ids %v, want %d with %v", what, l.Len(), texts(l.IDs()), x.Len(), texts(x.IDs()))
	}
	queries := make([]float64, 0, 5*l.dim)
	for _, v := range vectors.Gaussian(l.random, 5, l.dim) {
		v := float64(v)
		if wide {
			v = v/3 + l.far
		}
		queries = append(queries, v)
	}
	some, err := l.Rows(l.idsOf(l.left()[:4]))
	if err != nil {
		t.Fatal(err)
	}
	place := func(x *thresher.Index, rows []int64) []int64 { // rows of l as those of x
		mine, err := x.Rows(l.idsOf(l.left()[:4]))
		if err != nil {
			t.Fatal(err)
		}
		var out []int64
		for _, row := range rows {
			out = append(out, mine[slices.Index(some, row)])
		}
		return out
	}
	req := thresher.Request{Queries64: queries, K: 7, Method: thresher.Exact, Exclude: some[:2]}
	other := req
	other.Exclude = place(x, some[:2])
	want, err := x.Search(ctx, other)
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Search(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	l.same(what+", search", got, want, exact)
	if got, err = l.Truth(ctx, thresher.Request{Queries64: queries, K: 7, Exclude: some[:2]}); err != nil {
		t.Fatal(err)
	}
	l.same(what+", truth", got, want, exact)
	verified, err := l.Verify(ctx, req, got.Answers, func(j int64, f *verify.Finding) {
		if f.Malformed != "" || f.Wrong() {
			t.Errorf("%s, query %d: %+v", what, j, f)
		}
	})
	if err != nil || verified.Wrong > 0 {
		t.Fatalf("%s: %+v, %v", what, verified, err)
	}
	stated := make([]thresher.Stated, len(got.Answers))
	for j, a := range got.Answers {
		stated[j].Rows = slices.Clone(a.Rows[1:])
	}
	lacking := 0
	recall, err := l.Recall(ctx, req, stated, func(c *thresher.Compared) error {
		if !slices.Equal(c.Missed, got.Answers[c.Query].Rows[:1]) {
			t.Errorf("%s: query %d misses %v, want %v", what, c.Query, c.Missed, got.Answers[c.Query].Rows[:1])
		}
		lacking++
		return nil
	})
	if err != nil || lacking != 5 || math.Abs(recall.Recall-6./7) > 1e-9 {
		t.Fatalf("%s: %+v, %v", what, recall, err)
	}
	proven, _, err := l.Certify(ctx, req, stated, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.same(what+", certify", proven, want, exact)
	rowsBefore := int64(-1)
	if _, err := l.Graph(ctx, thresher.GraphOptions{K: 2}, func(row int64, near []int64, _ []float32) error {
		if row <= rowsBefore || slices.Contains(near, row) {
			t.Errorf("%s: row %d after %d has the neighbours %v", what, row, rowsBefore, near)
		}
		rowsBefore = row
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if last, err := l.Rows(l.idsOf(l.left()[len(l.rows)-1:])); err != nil || last[0] != rowsBefore {
		t.Errorf("%s: the graph ends with row %d, want %d: %v", what, rowsBefore, last, err)
	}
	pairs := func(x *thresher.Index) map[string]bool {
		found, limit := map[string]bool{}, 0.3
		if o.Metric == thresher.Euclidean {
			limit = 2
		}
		ids := map[int64]string{}
		for _, id := range l.left() {
			row, err := x.Rows(l.idsOf([]string{id}))
			if err != nil {
				t.Fatal(err)
			}
			ids[row[0]] = id
		}
		if _, err := x.Pairs(ctx, thresher.PairOptions{MinScore: limit}, func(p thresher.Pair) error {
			found[ids[p.A]+" "+ids[p.B]] = true
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if a, b := pairs(l.Index), pairs(x); len(b) == 0 || !maps.Equal(a, b) {
		t.Errorf("%s: %d pairs, want %d", what, len(a), len(b))
	}
	if o.Metric == thresher.Cosine {
		terms := func(x *thresher.Index) (ids []string) {
			signal := make([]float32, l.dim)
			for i := range signal {
				signal[i] = float32(queries[i])
			}
			if _, err := x.Pursuit(ctx, signal, thresher.PursuitOptions{Terms: 3}, func(m thresher.Term) error {
				for _, id := range l.left() {
					if row, err := x.Rows(l.idsOf([]string{id})); err == nil && row[0] == m.Row {
						ids = append(ids, id)
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return ids
		}
		if a, b := terms(l.Index), terms(x); len(b) != 3 || !slices.Equal(a, b) {
			t.Errorf("%s: terms %v, want %v", what, a, b)
		}
	}
	if a, err := l.Covers(req); err != nil {
		t.Fatal(err)
	} else if b, err := x.Covers(other); err != nil || a.Shards[0] != b.Shards[0] && exact || a.Queries != b.Queries {
		t.Errorf("%s: covers %+v, want %+v: %v", what, a, b, err)
	}
}

func texts(ids *thresher.IDs) (out []string) {
	for i := range int64(ids.Len()) {
		out = append(out, ids.Text(i))
	}
	return out
}

// TestChangeOfRows: vectors without ids go by their row numbers, which they keep; others can be written, too.
func TestChangeOfRows(t *testing.T) {
	ctx := context.Background()
	x, err := thresher.New(ctx, []float32{1, 0, 2, 0, 3, 0}, 2, thresher.Options{Metric: thresher.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	rows := func(want ...int64) {
		t.Helper()
		resp, err := x.Search(ctx, thresher.Request{Queries: []float32{1, 1}, K: 9})
		if err != nil || !slices.Equal(resp.Answers[0].Rows, want) || len(resp.Warnings) == 0 {
			t.Fatalf("%+v, %v; want %v", resp, err, want)
		}
		for i, id := range resp.Answers[0].IDs {
			if int64(id) != want[i] {
				t.Errorf("id %d, want %d", id, want[i])
			}
		}
	}
	if replaced, err := x.Upsert(ctx, thresher.IDsOf([]uint64{1, 3}), []float32{5, 0, 0, 4}); err != nil || replaced != 1 {
		t.Fatal(replaced, err)
	}
	rows(1, 3, 2, 0)
	if x.IDs() != nil || x.Engine() != nil {
		t.Error("there are ids, or an engine")
	}
	if err := x.Remove(ctx, thresher.IDsOf([]uint64{1})); err != nil {
		t.Fatal(err)
	}
	rows(3, 2, 0)
	if got := texts(x.IDs()); !slices.Equal(got, []string{"0", "2", "3"}) {
		t.Errorf("ids %v", got)
	}
	// the queries are the vectors that they stand for
	own := thresher.Request{Queries: []float32{3, 0, 0, 4}, K: 1, ExcludeSelf: true, SelfFirst: 2}
	resp, err := x.Search(ctx, own)
	if err != nil || resp.Answers[0].Rows[0] != 0 || resp.Answers[1].Rows[0] != 0 {
		t.Errorf("%+v, %v", resp, err)
	}
	own.Queries[0] = 2
	var self *tasks.SelfError
	if _, err = x.Search(ctx, own); !errors.As(err, &self) || self.Error() != "query 0 is not vector 2" {
		t.Error(err)
	}
	if _, err = x.Recall(ctx, own, []thresher.Stated{{Rows: []int64{0}}, {Rows: []int64{0}}}, nil); !errors.As(err, &self) || self.Error() != "query 0 is not vector 2" {
		t.Error(err)
	}
	own.SelfFirst = 1
	if _, err = x.Search(ctx, own); err == nil || !strings.Contains(err.Error(), "there is no vector 1") {
		t.Error(err)
	}
	_, err = x.Recall(ctx, thresher.Request{Queries: []float32{1, 1}}, []thresher.Stated{{Rows: []int64{3, 1}}}, nil)
	if err == nil || err.Error() != "answer 0, rank 2: there is no vector 1" {
		t.Error(err)
	}
	if err := x.Remove(ctx, x.IDs()); err != nil {
		t.Fatal(err)
	}
	if x.Len() != 0 {
		t.Errorf("%d vectors", x.Len())
	}
	if resp, err := x.Search(ctx, thresher.Request{Queries: []float32{1, 1}, K: 1}); err != nil || len(resp.Answers[0].Rows) != 0 {
		t.Errorf("%+v, %v", resp, err)
	}
	if _, err := x.Graph(ctx, thresher.GraphOptions{K: 1}, nil); err == nil || !strings.Contains(err.Error(), "all were removed") {
		t.Error(err)
	}
}

// TestChangeRefused: an error names row and id, and nothing is changed.
func TestChangeRefused(t *testing.T) {
	ctx := context.Background()
	x, err := thresher.New(ctx, []float32{1, 0, 2, 0}, 2, thresher.Options{Metric: thresher.Cosine, IDs: thresher.IDsOf([]uint64{7, 9})})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	nan := float32(math.NaN())
	for _, c := range []struct {
		ids  *thresher.IDs
		rows []float32
		want string
	}{
		{thresher.IDsOf([]uint64{7, 8}), []float32{1, 2, 3}, "rows: 3 values for 2 ids of 2 dimensions"},
		{thresher.IDsOf([]uint64{7, 8}), []float32{1, 2, nan, 3}, `id "8": row 1, column 0: value NaN`},
		{thresher.IDsOf([]uint64{8, 8}), []float32{1, 2, 1, 1}, `ids: row 1 (0-based): has the id "8", which row 0 has already`},
		{thresher.IDsOf([]string{"x"}), []float32{1, 2}, `ids: row 0 (0-based): id "x" is a text, and the other vectors' ids are numbers`},
		{nil, []float32{1, 2}, "rows: 2 values for 0 ids of 2 dimensions"},
	} {
		if _, err := x.Upsert(ctx, c.ids, c.rows); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.rows, err, c.want)
		}
	}
	if _, err := x.UpsertFloat64(ctx, thresher.IDsOf([]uint64{8}), []float64{1e300, 1}); err == nil || !strings.HasPrefix(err.Error(), `id "8": row 0, column 0: `) {
		t.Error(err)
	}
	if err := x.Remove(ctx, thresher.IDsOf([]uint64{7, 8})); err == nil || err.Error() != `no vector has the id "8"` {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := x.Upsert(ended, thresher.IDsOf([]uint64{7}), []float32{1, 2}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := texts(x.IDs()); x.Len() != 2 || !slices.Equal(got, []string{"7", "9"}) {
		t.Errorf("%d vectors, ids %v", x.Len(), got)
	}
}

// TestChangeBeside: searches see all of a write or nothing of it, while several write and the vectors are sealed and
// merged.
func TestChangeBeside(t *testing.T) {
	const dim, together, writes = 8, 64, 120
	ctx := context.Background()
	block := make([]float32, together*dim)
	ids := make([]uint64, together)
	for i := range ids {
		ids[i], block[i*dim] = uint64(i), 1
	}
	x, err := thresher.New(ctx, block, dim, thresher.Options{Metric: thresher.InnerProduct, Threads: 4, IDs: thresher.IDsOf(ids)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var writers, readers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range writes {
				// all vectors get the same value; others come and go
				rows := make([]float32, together*dim)
				for j := range together {
					rows[j*dim] = float32(2 + i)
				}
				if _, err := x.Upsert(ctx, thresher.IDsOf(ids), rows); err != nil {
					t.Error(err)
				}
				own := make([]uint64, together)
				for j := range own {
					own[j] = uint64(1000 + w*1000 + j)
				}
				if _, err := x.Upsert(ctx, thresher.IDsOf(own), make([]float32, together*dim)); err != nil {
					t.Error(err)
				}
				if err := x.Remove(ctx, thresher.IDsOf(own)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			query := make([]float32, dim)
			query[0] = 1
			for searches := 0; ; searches++ {
				resp, err := x.Search(ctx, thresher.Request{Queries: query, K: together, Method: thresher.Certain})
				if err != nil {
					t.Error(err)
					return
				}
				if a := &resp.Answers[0]; len(a.Scores) != together || a.Scores[0] != a.Scores[together-1] {
					t.Errorf("%d answers, scores from %g to %g", len(a.Scores), a.Scores[0], a.Scores[len(a.Scores)-1])
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if x.Len() != together {
		t.Errorf("%d vectors, want %d", x.Len(), together)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// TestTextsThatAreLeft: texts in whose company others look like numbers may go; those that are left are texts, also in a file.
func TestTextsThatAreLeft(t *testing.T) {
	ctx, o := context.Background(), thresher.Options{Metric: thresher.InnerProduct, Threads: 1}
	o.IDs = thresher.IDsOf([]string{"word", "-1", "1.5"})
	x, err := thresher.New(ctx, []float32{1, 0, 0, 1, 1, 1}, 2, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Remove(ctx, thresher.IDsOf([]string{"word"})); err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/left.thresher"
	if err := errors.Join(x.Save(ctx, path, false), x.Close()); err != nil {
		t.Fatal(err)
	}
	if x, err = thresher.Open(ctx, path, thresher.Options{Threads: 1}); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if x.Len() != 2 || x.IDs().Text(0) != "-1" || x.IDs().Text(1) != "1.5" {
		t.Errorf("%d vectors: %q, %q", x.Len(), x.IDs().Text(0), x.IDs().Text(1))
	}
	o.IDs = thresher.IDsOf([]string{"3", "-1", "1.5"})
	for name, open := range map[string]func() (*thresher.Index, error){
		"new":  func() (*thresher.Index, error) { return thresher.New(ctx, []float32{1, 0, 0, 1, 1, 1}, 2, o) },
		"open": func() (*thresher.Index, error) { return thresher.Open(ctx, path, o) },
	} {
		if _, err := open(); err == nil || !strings.Contains(err.Error(), "row 2 (0-based): id 1.5 is a float") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
