package join_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/vectors"
	"thresher/join"
)

// openRight returns the right table of rows, which it sorts, with the engine over it.
func openRight(t testing.TB, rows dataset.Vectors, metric collection.Metric, o join.RightOptions) *join.Right {
	t.Helper()
	order, starts := join.SortRows(rows, o.Groups)
	if o.Groups == nil {
		order, starts = nil, nil
	}
	c, err := collection.BuildVectors(t.Context(), rows, &collection.Options{Metric: metric, NoCodes: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	processor := cpu.New(cpu.Options{Threads: 2})
	e, err := batch.Open(t.Context(), c, processor, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Build.Seed, o.Threads = 1, 2
	r, err := join.NewRight(e, order, starts, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), e.Close(), processor.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// given returns float32 rows as vectors of a type that holds them, in memory of their own.
func given(t testing.TB, rows []float32, dim int, elem dataset.Elem) dataset.Vectors {
	t.Helper()
	memory := make([]float64, (len(rows)*elem.Size()+7)/8) // aligned
	wide, err := dataset.VectorsOf(memory, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := wide.Bytes()[:len(rows)*elem.Size()]
	if i := elem.Encode(b, rows); i >= 0 {
		t.Fatalf("value %d is not held", i)
	}
	v, err := dataset.NewVectors(elem, dim, b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// integers are rows of small integers, many of whose scores are equal.
func integers(seed uint64, n, dim int) []float32 {
	r := vectors.Rand(seed)
	rows := make([]float32, n*dim)
	for i := range rows {
		rows[i] = float32(r.IntN(5) - 2)
	}
	return rows
}

// groupsOf draws groups, a few of them large, and some rows without one.
func groupsOf(seed uint64, rows, groups int) []int32 {
	r := vectors.Rand(seed)
	drawn := make([]int32, rows)
	for i := range drawn {
		switch x := r.Float64(); {
		case x < .05:
			drawn[i] = join.NoGroup
		case x < .4:
			drawn[i] = 0
		default:
			drawn[i] = int32(r.IntN(groups))
		}
	}
	return drawn
}

// wanted are the matches of row j of the left table, by scores of each pair.
func wanted(c *collection.Collection, q []float32, group int32, groups []int32, req *batch.Request) (rows []int64, scores []float64) {
	type match struct {
		row   int64
		score float64
	}
	var all []match
	for i, g := range groups {
		s := c.Metric.Shown(c.Score(q, i))
		if g != group || g < 0 || req.MinScore != nil && c.Metric.Searched(s) < c.Metric.Floor(*req.MinScore) || req.MaxScore != nil && c.Metric.Searched(s) > c.Metric.Ceiling(*req.MaxScore) {
			continue
		}
		all = append(all, match{int64(i), s})
	}
	slices.SortStableFunc(all, func(x, y match) int {
		if c.Metric.Searched(x.score) > c.Metric.Searched(y.score) {
			return -1
		} else if x.score == y.score {
			return 0
		}
		return 1
	})
	for i, m := range all {
		if req.K == 0 || i < req.K {
			rows, scores = append(rows, m.row), append(scores, m.score)
		}
	}
	return rows, scores
}

// TestMatch compares joins by keys with the scores of all pairs: by all metrics and types, with ties, keys that one side
// lacks, rows without one, limits of scores, and groups that are scanned and searched.
func TestMatch(t *testing.T) {
	const n, m, dim, groups = 1500, 400, 24, 40
	half := .25
	for _, c := range []struct {
		name   string
		metric collection.Metric
		elem   dataset.Elem
		req    batch.Request
		none   bool  // no groups
		only   int32 // unless 0, 1 more than the group that all rows of the right table are in
	}{
		{name: "ip", metric: collection.InnerProduct, req: batch.Request{K: 5}},
		{name: "cosine", metric: collection.Cosine, req: batch.Request{K: 5, Method: batch.Certain}},
		{name: "l2", metric: collection.Euclidean, req: batch.Request{K: 5, Method: batch.Exact}},
		{name: "int8", metric: collection.Cosine, elem: dataset.ElemInt8, req: batch.Request{K: 3}},
		{name: "float16", metric: collection.Euclidean, elem: dataset.ElemFloat16, req: batch.Request{K: 3}},
		{name: "adaptive", metric: collection.InnerProduct, req: batch.Request{K: 5, Method: batch.Adaptive, Delta: 1e-9}},
		{name: "min score", metric: collection.Cosine, req: batch.Request{MinScore: &half}},
		{name: "k and limits", metric: collection.Cosine, req: batch.Request{K: 4, MinScore: new(float64), MaxScore: &half}},
		{name: "large k", metric: collection.InnerProduct, req: batch.Request{K: 70}},
		{name: "one group", metric: collection.Cosine, req: batch.Request{K: 7}, none: true},
		{name: "one key", metric: collection.InnerProduct, req: batch.Request{K: 5, Method: batch.Adaptive, Delta: 1e-9}, only: 1},
		{name: "one key, after others", metric: collection.Euclidean, req: batch.Request{K: 5, Method: batch.Adaptive, Delta: 1e-9}, only: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, queries := integers(1, n, dim), integers(2, m, dim)
			as := given(t, rows, dim, c.elem)
			plain, err := collection.Build(t.Context(), slices.Clone(rows), dim, &collection.Options{Metric: c.metric, NoCodes: true})
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			right, left := groupsOf(3, n, groups), groupsOf(4, m, groups+5)
			left[0] = 3 // alone: it is scanned
			if c.only > 0 {
				for i := range right {
					right[i] = c.only - 1
				}
			}
			o := join.RightOptions{Groups: right, Request: c.req}
			given := left
			if c.req.Method == batch.Adaptive {
				o.Builds = func(int, int64) bool { return true }
			}
			if c.none {
				o.Groups, given, right, left = nil, nil, make([]int32, n), make([]int32, m)
			}
			r := openRight(t, as, c.metric, o)
			got, err := r.Match(t.Context(), join.LeftRows{Queries: queries, Groups: given})
			if err != nil {
				t.Fatal(err)
			}
			if got.Work.Rows != m || got.Work.Exact > m {
				t.Errorf("work counts %d rows, %d of them exact; there are %d", got.Work.Rows, got.Work.Exact, m)
			}
			searched, scanned := got.Work.RowsScored > 0, got.Work.Methods[batch.Exact] > 0
			if !searched || !scanned && !c.none && c.only == 0 {
				t.Errorf("work %+v", got.Work)
			}
			for j := range m {
				wantRows, wantScores := wanted(plain, queries[j*dim:][:dim], left[j], right, &c.req)
				lo, hi := got.Lims[j], got.Lims[j+1]
				if !slices.Equal(got.Rows[lo:hi], wantRows) || !slices.Equal(got.Scores[lo:hi], wantScores) {
					t.Fatalf("row %d of group %d found\n%v\n%v\nand not\n%v\n%v", j, left[j], got.Rows[lo:hi], got.Scores[lo:hi], wantRows, wantScores)
				}
			}
		})
	}
}

// TestMatchParts: the matches of a row do not depend on the rows that are joined together with it, though groups of a few rows
// are scanned and of many searched.
func TestMatchParts(t *testing.T) {
	const n, m, dim = 3000, 300, 64
	rows, queries := vectors.Gaussian(vectors.Rand(1), n, dim), vectors.Gaussian(vectors.Rand(2), m, dim)
	right, left := groupsOf(3, n, 3), groupsOf(4, m, 3)
	r := openRight(t, given(t, rows, dim, dataset.ElemFloat32), collection.Euclidean, join.RightOptions{Groups: right, Request: batch.Request{K: 9}})
	whole, err := r.Match(t.Context(), join.LeftRows{Queries: queries, Groups: left})
	if err != nil {
		t.Fatal(err)
	}
	for j := range m {
		one, err := r.Match(t.Context(), join.LeftRows{Queries: queries[j*dim:][:dim], Groups: left[j:][:1]})
		if err != nil {
			t.Fatal(err)
		}
		lo, hi := whole.Lims[j], whole.Lims[j+1]
		if !slices.Equal(one.Rows, whole.Rows[lo:hi]) || !slices.Equal(one.Scores, whole.Scores[lo:hi]) {
			t.Fatalf("row %d alone found %v, %v, and among others %v, %v", j, one.Rows, one.Scores, whole.Rows[lo:hi], whole.Scores[lo:hi])
		}
	}
}

// TestSortRows compares sorting by groups, in place and into a copy, with what it says.
func TestSortRows(t *testing.T) {
	for _, groups := range [][]int32{{}, {0}, {-1, -1}, {2, 0, -1, 2, 0, 1}, {3, 3, 3}, groupsOf(1, 500, 30), groupsOf(2, 5000, 1000)} {
		values := make([]float32, 2*len(groups))
		for i := range values {
			values[i] = float32(i)
		}
		v, err := dataset.VectorsOf(values, 2)
		if err != nil {
			t.Fatal(err)
		}
		copied, copiedRows, copiedStarts, err := join.SortedRows(v, groups)
		if err != nil {
			t.Fatal(err)
		}
		if sorted := slices.IsSorted(groups); len(groups) > 0 && sorted != (&copied.Bytes()[0] == &v.Bytes()[0]) {
			t.Errorf("groups %v: sorted %t, and copied or not", groups, sorted)
		}
		rows, starts := join.SortRows(v, groups)
		if !slices.Equal(rows, copiedRows) || !slices.Equal(starts, copiedStarts) || !bytes.Equal(v.Bytes(), copied.Bytes()) {
			t.Errorf("groups %v: a copy is sorted otherwise", groups)
		}
		var wantRows []int64
		wantStarts := []int{}
		for g := int32(-1); g <= slices.Max(append([]int32{-1}, groups...)); g++ {
			if g >= 0 {
				wantStarts = append(wantStarts, len(wantRows))
			}
			for i, of := range groups {
				if of == g {
					wantRows = append(wantRows, int64(i))
				}
			}
		}
		wantStarts = append(wantStarts, len(groups))
		if !slices.Equal(rows, wantRows) || !slices.Equal(starts, wantStarts) {
			t.Errorf("groups %v: rows %v from %v, want %v from %v", groups, rows, starts, wantRows, wantStarts)
		}
		for i, row := range rows {
			if values[2*i] != float32(2*row) || values[2*i+1] != float32(2*row+1) {
				t.Errorf("groups %v: row %d at %d has the values %v", groups, row, i, values[2*i:2*i+2])
			}
		}
	}
}

// TestMatchRefuses: what a join cannot do is an error that names it, also where all groups are scanned.
func TestMatchRefuses(t *testing.T) {
	rows := integers(1, 50, 8)
	c, err := collection.Build(t.Context(), rows, 8, &collection.Options{Metric: collection.InnerProduct, NoCodes: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	processor := cpu.New(cpu.Options{Threads: 1})
	defer processor.Close()
	e, err := batch.Open(t.Context(), c, processor, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	nan, one := math.NaN(), 1.
	for field, req := range map[string]batch.Request{
		"method":    {K: 1, Method: batch.BoundedME},
		"k":         {},
		"delta":     {K: 1, Delta: 2},
		"min_score": {K: 1, MinScore: &nan},
		"max_score": {K: 1, MinScore: &one, MaxScore: new(float64)},
	} {
		_, err := join.NewRight(e, nil, nil, join.RightOptions{Request: req})
		var invalid *batch.RequestError
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: error %v", field, err)
		}
	}

	r, err := join.NewRight(e, nil, []int{0, 20, 50}, join.RightOptions{Request: batch.Request{K: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	_, err = r.Match(ctx, join.LeftRows{Queries: rows, Groups: make([]int32, 50)})
	if !errors.Is(err, stopped) && !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled join: %v", err)
	}
	rows[8] = float32(nan)
	_, err = r.Match(t.Context(), join.LeftRows{Queries: rows[:16], Groups: []int32{0, 1}, First: 100})
	var wrong *join.RowError
	if !errors.As(err, &wrong) || wrong.Row != 101 || wrong.Err.Error() != "column 0: value NaN" {
		t.Errorf("a row with NaN: %v", err)
	}
	_, err = r.Match(t.Context(), join.LeftRows{Queries: rows[:16], Groups: []int32{0, join.NoGroup}, First: 100})
	if !errors.As(err, &wrong) || wrong.Row != 101 {
		t.Errorf("a row with NaN that has no key: %v", err)
	}
	many := slices.Repeat([]float32{1}, 5000*8)
	for _, row := range []int{4990, 4000, 1030} { // rows are squared by several goroutines
		many[row*8+3] = float32(math.Inf(1))
		_, err = r.Match(t.Context(), join.LeftRows{Queries: many, Groups: make([]int32, 5000), First: 100})
		if !errors.As(err, &wrong) || wrong.Row != int64(100+row) || wrong.Err.Error() != "column 3: value +Inf" {
			t.Errorf("row %d is not finite: %v", row, err)
		}
	}
	huge := slices.Repeat([]float32{3e38}, 8*40)
	_, err = r.Match(t.Context(), join.LeftRows{Queries: huge, Groups: slices.Repeat([]int32{1}, 40), First: 100})
	var row *join.RowError
	if err != nil && (!errors.As(err, &row) || row.Row != 100) { // scanned or refused: 3e38 is within float64 and beyond float32
		t.Errorf("scores beyond float32: %v", err)
	}
}

// BenchmarkMatch measures joins of groups of several sizes, as many rows of each on both sides, and how long a search takes for
// each of them by itself.
func BenchmarkMatch(b *testing.B) {
	const dim, k = 128, 10
	for _, size := range []int{3, 10, 30, 100, 300, 1000, 3000} {
		n := max(30000, 2*size) / size * size
		rows, queries := vectors.Gaussian(vectors.Rand(1), n, dim), vectors.Gaussian(vectors.Rand(2), n, dim)
		groups := make([]int32, n)
		for i := range groups {
			groups[i] = int32(i % (n / size))
		}
		for _, how := range []string{"join", "search", "scan"} {
			if how == "scan" && size > 1000 {
				continue
			}
			b.Run(fmt.Sprintf("%s/size=%d", how, size), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					r := openRight(b, given(b, rows, dim, dataset.ElemFloat32), collection.Cosine, join.RightOptions{Groups: groups, Request: batch.Request{K: k}})
					if how != "join" {
						r.ScanAll(how == "scan")
					}
					b.StartTimer()
					if _, err := r.Match(b.Context(), join.LeftRows{Queries: queries, Groups: groups}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n/size), "ns/group")
			})
		}
	}
}
