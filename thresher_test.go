package thresher_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"thresher"
	"thresher/batch"
	"thresher/cpu"
	"thresher/internal/vectors"
	"thresher/tasks"
)

// TestIndex: Search, also of several goroutines, Truth, KNN and an index that was saved give the answers of an
// engine, of float32 and of float64, for each metric; Verify finds them right, and Recall complete.
func TestIndex(t *testing.T) {
	ctx := context.Background()
	const n, m, dim = 3000, 40, 24
	random := vectors.Rand(1)
	rows, queries := vectors.Gaussian(random, n, dim), vectors.Gaussian(random, m, dim)
	for _, metric := range []thresher.Metric{thresher.InnerProduct, thresher.Cosine, thresher.Euclidean} {
		far := make([]float64, len(rows)) // from zero: float32 holds no difference there
		for i, x := range rows {
			far[i] = float64(x)/3 + 1e6
		}
		farQueries := make([]float64, len(queries))
		for i, x := range queries {
			farQueries[i] = float64(x)/3 + 1e6
		}
		near := make([]float64, len(rows))
		for i, x := range rows {
			near[i] = float64(x)
		}
		index, err := thresher.New(ctx, rows, dim, thresher.Options{Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		req := thresher.Request{Queries: queries, K: 7, Method: thresher.Exact}
		want, err := index.Engine().Search(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		same := func(what string, resp *thresher.Response, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s, %s: %v", metric, what, err)
			}
			for j := range want.Answers {
				if !slices.Equal(resp.Answers[j].Rows, want.Answers[j].IDs) {
					t.Fatalf("%s, %s, query %d: %v, want %v", metric, what, j, resp.Answers[j].Rows, want.Answers[j].IDs)
				}
			}
		}
		resp, err := index.Truth(ctx, thresher.Request{Queries: queries, K: 7})
		same("truth", resp, err)
		resp, err = thresher.KNN(ctx, queries, rows, dim, 7, metric)
		same("knn", resp, err)
		var several sync.WaitGroup
		for range 4 {
			several.Go(func() {
				resp, err := index.Search(ctx, req)
				if err != nil || !slices.Equal(resp.Answers[m-1].Rows, want.Answers[m-1].IDs) {
					t.Errorf("%s, several: %v", metric, err)
				}
			})
		}
		several.Wait()

		resp, err = index.Search(ctx, req)
		same("search", resp, err)
		for j, a := range resp.Answers {
			for i, score := range a.Scores64 {
				if float32(score) != a.Scores[i] || a.IDs[i] != uint64(a.Rows[i]) {
					t.Fatalf("%s, query %d: vector %d of row %d scores %g, rounded %g", metric, j, a.IDs[i], a.Rows[i], score, a.Scores[i])
				}
			}
			if len(a.Scores64) != len(a.Scores) || !a.Complete || a.Guarantee != want.Answers[j].Certificate.Guarantee {
				t.Fatalf("%s, query %d: %+v", metric, j, a)
			}
		}
		if summary, err := index.Verify(ctx, req, resp.Answers, nil); err != nil || summary.Checked != m || summary.Wrong+summary.Malformed > 0 {
			t.Errorf("%s, verify: %+v, %v", metric, summary, err)
		}
		theirs := make([]thresher.Stated, m)
		for j, a := range want.Answers {
			theirs[j] = thresher.Stated{Rows: a.IDs, Scores: a.Scores}
		}
		theirs[3].Rows = append([]int64(nil), theirs[3].Rows[1:]...)
		theirs[3].Scores = theirs[3].Scores[1:]
		recall, err := index.Recall(ctx, thresher.Request{Queries: queries}, theirs, nil)
		if err != nil || recall.Queries != m || math.Abs(recall.Recall-(1-1./7/m)) > 1e-12 {
			t.Errorf("%s, recall: %+v, %v", metric, recall, err)
		}
		resp, certified, err := index.Certify(ctx, thresher.Request{Queries: queries, K: 7}, theirs, nil)
		same("certify", resp, err)
		if certified.Right != m-1 || certified.Missed != 1 || resp.Stats.Pulls == 0 {
			t.Errorf("%s, certify: %+v, %+v", metric, certified, resp.Stats)
		}

		path := filepath.Join(t.TempDir(), "saved.thresher")
		if err := index.Save(ctx, path, false); err != nil {
			t.Fatal(err)
		}
		if err := index.Save(ctx, path, false); err == nil {
			t.Errorf("%s: a file that is there was replaced", metric)
		}
		if err := index.Close(); err != nil {
			t.Fatal(err)
		}
		saved, err := thresher.Open(ctx, path, thresher.Options{})
		if err != nil || saved.Len() != n || saved.Dim() != dim || saved.Metric() != metric {
			t.Fatal(saved, err)
		}
		resp, err = saved.Search(ctx, req)
		same("saved", resp, err)
		if err := saved.Close(); err != nil {
			t.Fatal(err)
		}
		other := thresher.Cosine
		if metric == other {
			other = thresher.InnerProduct
		}
		if _, err := thresher.Open(ctx, path, thresher.Options{Metric: other}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a file of metric %s was opened for %s: %v", metric, other, err)
		}

		own := cpu.New(cpu.Options{})
		wide, err := thresher.New(ctx, near, dim, thresher.Options{Metric: metric, Backend: own})
		if err != nil {
			t.Fatal(err)
		}
		resp, err = wide.Search(ctx, thresher.Request{Queries: queries, K: 7, Method: thresher.Exact})
		same("float64", resp, err)
		if err := errors.Join(wide.Close(), own.Close()); err != nil {
			t.Fatal(err)
		}
		if metric != thresher.Euclidean {
			continue
		}
		away, err := thresher.New(ctx, far, dim, thresher.Options{Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		req = thresher.Request{Queries64: farQueries, K: 7}
		resp, err = away.Search(ctx, req)
		same("far away", resp, err)
		if c := resp.Answers[0].Certificate; c.VectorsChange == 0 || c.QueryChange == 0 {
			t.Error("certificates do not say that float32 holds other vectors")
		}
		if summary, err := away.Verify(ctx, req, resp.Answers, nil); err != nil || summary.Wrong+summary.Malformed > 0 || summary.Rounded == 0 {
			t.Errorf("far away, verify: %+v, %v", summary, err)
		}
		path = filepath.Join(t.TempDir(), "far.thresher")
		if err := errors.Join(away.Save(ctx, path, false), away.Close()); err != nil {
			t.Fatal(err)
		}
		if away, err = thresher.Open(ctx, path, thresher.Options{}); err != nil {
			t.Fatal(err)
		}
		resp, err = away.Search(ctx, req)
		same("far away, saved", resp, err)
		if err := away.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJoins: a graph and pairs agree with searches of each vector.
func TestJoins(t *testing.T) {
	ctx := context.Background()
	const n, dim, k = 600, 12, 5
	rows := vectors.Gaussian(vectors.Rand(3), n, dim)
	index, err := thresher.New(ctx, rows, dim, thresher.Options{Metric: thresher.Cosine})
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	want, err := index.Truth(ctx, thresher.Request{Queries: rows, K: k, ExcludeSelf: true})
	if err != nil {
		t.Fatal(err)
	}
	seen, done := int64(0), int64(0)
	summary, err := index.Graph(ctx, thresher.GraphOptions{K: k, Progress: func(d, total int64) { done = d }}, func(row int64, neighbours []int64, scores []float32) error {
		if row != seen || !slices.Equal(neighbours, want.Answers[row].Rows) || !slices.Equal(scores, want.Answers[row].Scores) {
			t.Errorf("row %d: %v, want %v", row, neighbours, want.Answers[row].Rows)
		}
		seen++
		return nil
	})
	if err != nil || seen != n || done != n || summary.Certificate.Rows != n || summary.Edges != n*k || summary.Certificate.WrongAllowed != 0 {
		t.Error(summary, seen, done, err)
	}
	either, both := 0, 0
	for _, o := range []struct {
		o     thresher.GraphOptions
		edges *int
	}{{thresher.GraphOptions{K: k, Symmetric: true}, &either}, {thresher.GraphOptions{K: k, Mutual: true}, &both}} {
		summary, err = index.Graph(ctx, o.o, func(row int64, neighbours []int64, _ []float32) error {
			*o.edges += len(neighbours)
			return nil
		})
		if err != nil || summary.Rows != n || summary.Edges != int64(*o.edges) {
			t.Error(summary, err)
		}
	}
	if either+both != 2*n*k || both >= n*k {
		t.Errorf("%d edges of either direction, %d of both, and %d of one", either, both, n*k)
	}
	stop := errors.New("enough")
	if _, err := index.Graph(ctx, thresher.GraphOptions{K: k}, func(int64, []int64, []float32) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if _, err := index.Graph(ctx, thresher.GraphOptions{K: k, Symmetric: true, Mutual: true}, nil); err == nil {
		t.Error("a graph of both kinds")
	}

	const least = .6
	reach, err := index.Truth(ctx, thresher.Request{Queries: rows, MinScore: new(least)})
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[thresher.Pair]bool{}
	for a, answer := range reach.Answers {
		for i, b := range answer.Rows {
			if int64(a) < b {
				wanted[thresher.Pair{A: int64(a), B: b, Score: answer.Scores[i]}] = true
			}
		}
	}
	pairs := 0
	found, err := index.Pairs(ctx, thresher.PairOptions{MinScore: least}, func(p thresher.Pair) error {
		if float32(p.Score64) != p.Score {
			t.Errorf("pair %v has two scores", p)
		}
		p.Score64 = 0 // a cosine may differ in its last bit, by which row is the query
		if pairs++; !wanted[p] {
			t.Errorf("pair %v", p)
		}
		return nil
	})
	if err != nil || pairs != len(wanted) || pairs == 0 || found.Rows != n || found.Pairs != int64(pairs) {
		t.Errorf("%d pairs, want %d: %+v, %v", pairs, len(wanted), found, err)
	}
	with := 0
	_, err = index.Pairs(ctx, thresher.PairOptions{MinScore: least, With: rows[:50*dim]}, func(p thresher.Pair) error {
		if p.B >= 50 {
			t.Errorf("pair %v", p)
		}
		with++
		return nil
	})
	of := 0
	for _, answer := range reach.Answers[:50] {
		of += len(answer.Rows)
	}
	if err != nil || with != of {
		t.Errorf("%d pairs with others, want %d: %v", with, of, err)
	}
	if _, err := index.Pairs(ctx, thresher.PairOptions{MinScore: least, With: rows[:dim+1]}, nil); err == nil || !strings.Contains(err.Error(), "13 values") {
		t.Error(err)
	}
	if _, err := index.Pairs(ctx, thresher.PairOptions{MinScore: least}, func(thresher.Pair) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// TestIDs: ids are kept from the first answer to an index that was saved, of either kind and of numbers that int64 does
// not hold, and Python's names for their arrays are those of the file.
func TestIDs(t *testing.T) {
	ctx := context.Background()
	const n, dim = 64, 8
	rows := vectors.Gaussian(vectors.Rand(5), n, dim)
	numbers, texts, digits := make([]uint64, n), make([]string, n), make([]string, n)
	for i := range n {
		numbers[i] = math.MaxUint64 - 1 - uint64(i)*7
		texts[i] = strings.Repeat("ä", i%3) + string(rune('a'+i%26)) + string(rune('0'+i/26))
		digits[i] = strconv.Itoa(3 * (n - i))
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x.thresher")
	for _, x := range []struct {
		name string
		ids  *thresher.IDs
	}{{"numbers", thresher.IDsOf(numbers)}, {"texts", thresher.IDsOf(texts)}, {"digits", thresher.IDsOf(digits)}, {"none", nil}} {
		index, err := thresher.New(ctx, rows, dim, thresher.Options{Metric: thresher.Euclidean, IDs: x.ids})
		if err != nil {
			t.Fatal(err)
		}
		check := func(index *thresher.Index) {
			t.Helper()
			resp, err := index.Search(ctx, thresher.Request{Queries: rows, K: 3})
			if err != nil {
				t.Fatal(err)
			}
			for j, a := range resp.Answers {
				for i, row := range a.Rows {
					switch x.name {
					case "texts":
						if a.IDs != nil || a.TextIDs[i] != texts[row] || index.IDs().Text(row) != texts[row] {
							t.Errorf("query %d: %v", j, a)
						}
					case "numbers":
						if a.IDs[i] != numbers[row] || a.TextIDs != nil {
							t.Errorf("query %d: %v", j, a)
						}
					case "digits":
						if strconv.FormatUint(a.IDs[i], 10) != digits[row] || index.IDs().Text(row) != digits[row] {
							t.Errorf("query %d: %v", j, a)
						}
					case "none":
						if a.IDs[i] != uint64(row) || index.IDs().Text(row) != strconv.FormatInt(row, 10) {
							t.Errorf("query %d: %v", j, a)
						}
					}
				}
			}
			for _, row := range []int64{0, 9, n - 1} {
				one := thresher.IDsOf([]string{index.IDs().Text(row)})
				if got, err := index.Rows(one); err != nil || !slices.Equal(got, []int64{row}) {
					t.Errorf("%s: row %d is found at %v, %v", x.name, row, got, err)
				}
			}
			for _, unknown := range []*thresher.IDs{thresher.IDsOf([]uint64{1 << 40}), thresher.IDsOf([]string{"nobody"})} {
				if _, err := index.Rows(unknown); err == nil {
					t.Errorf("%s: an id that no vector has", x.name)
				}
			}
		}
		check(index)
		if err := errors.Join(index.Save(ctx, path, true), index.Close()); err != nil {
			t.Fatal(err)
		}
		saved, err := thresher.Open(ctx, path, thresher.Options{})
		if err != nil {
			t.Fatal(err)
		}
		check(saved)
		if err := saved.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path + ".ids.npz"); (err == nil) != (x.ids != nil) {
			t.Errorf("%s: the file of ids: %v", x.name, err)
		}
	}
	beyond := thresher.IDsOf(append([]string{"18446744073709551615"}, digits[1:]...)) // texts
	if index, err := thresher.New(ctx, rows, dim, thresher.Options{Metric: thresher.Cosine, IDs: beyond}); err != nil || index.Close() != nil {
		t.Error(err)
	}
	for says, ids := range map[string]*thresher.IDs{
		"2 for 64":                     thresher.IDsOf([]uint64{1, 2}),
		"which row 5 has already":      thresher.IDsOf(slices.Concat(texts[:6], texts[5:n-1])),
		"row 0 (0-based): id is empty": thresher.IDsOf(append([]string{""}, texts[1:]...)),
		"2^64 - 1":                     thresher.IDsOf(append(slices.Clone(numbers[1:]), math.MaxUint64)),
		"negative":                     thresher.IDsOf(append([]string{"-1"}, digits[1:]...)),
	} {
		if _, err := thresher.New(ctx, rows, dim, thresher.Options{Metric: thresher.Cosine, IDs: ids}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// TestRefused: what is wrong is named.
func TestRefused(t *testing.T) {
	ctx := context.Background()
	for _, bad := range []struct {
		rows []float32
		dim  int
		o    thresher.Options
		want string
	}{
		{[]float32{1, 2, 3}, 2, thresher.Options{Metric: thresher.Cosine}, "3 values"},
		{[]float32{1, 2}, 2, thresher.Options{}, "no metric"},
		{[]float32{1, float32(math.NaN())}, 2, thresher.Options{Metric: thresher.Cosine}, "column 1"},
		{nil, 2, thresher.Options{Metric: thresher.Cosine}, "no rows"},
	} {
		if _, err := thresher.New(ctx, bad.rows, bad.dim, bad.o); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v: %v, want %q", bad.rows, err, bad.want)
		}
	}
	if _, err := thresher.New(ctx, []float64{1, 1e39}, 2, thresher.Options{Metric: thresher.Cosine}); err == nil || !strings.Contains(err.Error(), "column 1") {
		t.Error(err)
	}
	for _, dim := range []int{0, -1, 3} {
		if _, err := thresher.KNN(ctx, meaning[:4], meaning, dim, 1, thresher.Cosine); err == nil {
			t.Errorf("rows of %d values", dim)
		}
	}
	index := indexed(thresher.InnerProduct)
	defer index.Close()
	q := meaning[4:8] // queen, row 1
	var field *batch.RequestError
	var self *tasks.SelfError
	if _, err := index.Search(ctx, thresher.Request{Queries: q, K: 1, ExcludeSelf: true}); !errors.As(err, &self) || self.Query != 0 || self.Vector != 0 {
		t.Error(err)
	}
	if _, err := index.Search(ctx, thresher.Request{Queries: q, K: 1, ExcludeSelf: true, Selves: []int64{2}}); !errors.As(err, &self) || self.Vector != 2 {
		t.Error(err)
	}
	if resp, err := index.Search(ctx, thresher.Request{Queries: q, K: 1, ExcludeSelf: true, Selves: []int64{1}}); err != nil || resp.Answers[0].IDs[0] != 3 {
		t.Error(resp, err)
	}
	if _, err := index.Search(ctx, thresher.Request{Queries: q}); !errors.As(err, &field) || field.Field != "k" {
		t.Error(err)
	}
	for _, req := range []thresher.Request{{Method: thresher.Adaptive}, {Epsilon: .1}} {
		req.Queries, req.K = q, 1
		if _, err := index.Truth(ctx, req); !errors.As(err, &field) {
			t.Error(err)
		}
	}
	for _, bad := range []struct {
		answers []thresher.Stated
		want    string
	}{
		{nil, "0 answers to 1 queries"},
		{[]thresher.Stated{{Rows: []int64{8}}}, "row 8"},
		{[]thresher.Stated{{Rows: []int64{-1}}}, "row -1"},
		{[]thresher.Stated{{Rows: []int64{1}, Scores: []float32{1, 2}}}, "2 scores"},
		{[]thresher.Stated{{}}, "k"},
	} {
		if _, err := index.Recall(ctx, thresher.Request{Queries: q}, bad.answers, nil); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("recall of %v: %v, want %q", bad.answers, err, bad.want)
		}
		if _, _, err := index.Certify(ctx, thresher.Request{Queries: q}, bad.answers, nil); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("certify of %v: %v, want %q", bad.answers, err, bad.want)
		}
	}
	if _, err := index.Verify(ctx, thresher.Request{Queries: q, K: 1}, nil, nil); err == nil {
		t.Error("answers of no query were verified")
	}
}

// TestStopped: what a search that was stopped leaves open is said, and no ground truth is made of it.
func TestStopped(t *testing.T) {
	index := indexed(thresher.InnerProduct)
	defer index.Close()
	late, cancel := context.WithDeadline(context.Background(), time.Unix(1, 0))
	defer cancel()
	req := thresher.Request{Queries: meaning[:4], K: 1}
	resp, err := index.Search(late, req)
	if !errors.Is(err, context.DeadlineExceeded) || resp == nil || resp.Answers[0].Certificate.Guarantee != batch.GuaranteeBound {
		t.Error(resp, err)
	}
	if _, err := index.Truth(late, req); err == nil {
		t.Error("ground truth of a search that was stopped")
	}
	theirs := []thresher.Stated{{Rows: []int64{5}}}
	if _, err := index.Recall(late, req, theirs, nil); err == nil {
		t.Error("recall against a search that was stopped")
	}
	proven, summary, err := index.Certify(late, req, theirs, nil)
	if err != nil || summary.Kept != 1 || !slices.Equal(proven.Answers[0].Rows, []int64{5}) || proven.Answers[0].Certificate.OpenBound == nil {
		t.Error(proven, summary, err)
	}
}

// TestOpenVectors: vectors of one file, of a folder, a pattern and a list are those that New is given, and ids
// come with them.
func TestOpenVectors(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, other := write("p-2.csv", "id,x,y\na,1000000.25,2\nb,1000000.5,1\n"), write("p-10.csv", "id,x,y\nc,1000000,7\n")
	for path, want := range map[string][]string{one: {"b", "a"}, dir: {"b", "a", "c"}, filepath.Join(dir, "p-*.csv"): {"b", "a", "c"}, other + "," + one: {"b", "a", "c"}} {
		index, err := thresher.Open(ctx, path, thresher.Options{Metric: thresher.Euclidean})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		resp, err := index.Search(ctx, thresher.Request{Queries64: []float64{1000000.5, 1}, K: len(want), Method: thresher.Exact})
		if err != nil || !slices.Equal(resp.Answers[0].TextIDs, want) || resp.Answers[0].Scores64[0] != 0 {
			t.Errorf("%s: %+v, %v", path, resp, err)
		}
		if err := index.Close(); err != nil {
			t.Error(err)
		}
	}
	bytes := filepath.Join(t.TempDir(), "a.bvecs")
	if err := os.WriteFile(bytes, []byte{2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 250, 4}, 0o600); err != nil {
		t.Fatal(err)
	}
	index, err := thresher.Open(ctx, bytes, thresher.Options{Metric: thresher.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "a.thresher")
	if err := errors.Join(index.Save(ctx, saved, false), index.Close()); err != nil {
		t.Fatal(err)
	}
	if index, err = thresher.Open(ctx, saved, thresher.Options{}); err != nil || index.Dtype().String() != "uint8" {
		t.Fatalf("%v of bytes that were saved: %v", index, err)
	}
	defer index.Close()
	resp, err := index.Search(ctx, thresher.Request{Queries: []float32{1, 1}, K: 1, Method: thresher.Exact})
	if err != nil || resp.Answers[0].Rows[0] != 1 || resp.Answers[0].Scores64[0] != 254 {
		t.Errorf("%+v, %v", resp, err)
	}
	write("p-11.csv", "id,x,y\nd,1,2\na,3,4\n")
	for path, c := range map[string]struct {
		o    thresher.Options
		want string
	}{
		dir:                        {thresher.Options{Metric: thresher.Cosine}, "p-11.csv: row 1 (0-based): has the id \"a\", which row 0 of"},
		one:                        {thresher.Options{}, "no metric is given"},
		one + "," + one:            {thresher.Options{Metric: thresher.Cosine}, "named twice"},
		filepath.Join(dir, "x.*"):  {thresher.Options{Metric: thresher.Cosine}, "no file matches"},
		filepath.Join(dir, "none"): {thresher.Options{}, "none"},
		other:                      {thresher.Options{Metric: thresher.Cosine, IDsColumn: "key"}, "key"},
	} {
		if _, err := thresher.Open(ctx, path, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", path, err, c.want)
		}
	}
}
