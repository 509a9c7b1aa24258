package join

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	_ "thresher/internal/draws"
	"thresher/internal/vectors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engine is a collection on the CPU.
func engine(t interface {
	Fatal(...any)
	Cleanup(func())
}, rows []float32, dim int, metric collection.Metric) *batch.Engine {
	c, err := collection.Build(context.Background(), rows, dim, &collection.Options{Metric: metric, Seed: 1, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	b := cpu.New(cpu.Options{Threads: 2})
	e, err := batch.Open(context.Background(), c, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(); b.Close(); c.Close() })
	return e
}

// matrix reads rows in memory.
func matrix(t interface{ Fatal(...any) }, rows []float32, dim int) dataset.Reader {
	var b bytes.Buffer
	if err := dataset.WriteNPY(&b, len(rows)/dim, dim, rows); err != nil {
		t.Fatal(err)
	}
	r, err := dataset.NewReader(&b, dataset.NPY, "other", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// all returns the pairs of a source in order, and how many blocks it gave.
func all(t interface{ Fatal(...any) }, s *PairSource) (pairs []dataset.Pair, work PairWork, blocks int) {
	var log []byte
	for {
		b, n, err := s.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n < 1 || !slices.IsSortedFunc(b.Pairs, byRows) {
			t.Fatal("a block of", n, "rows, or not in order")
		}
		log = AppendRun(log, b.Pairs)
		work.Add(&b.Work)
		blocks++
	}
	l, err := OpenPairLog(bytes.NewReader(log), int64(len(log)))
	if err != nil {
		t.Fatal(err)
	}
	err = l.Each(func(p *dataset.Pair) error {
		pairs = append(pairs, *p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pairs, work, blocks
}

// scoreOf computes a shown score in float64, independently.
func scoreOf(m collection.Metric, x, y []float32) float64 {
	var dot, xx, yy, far float64
	for i := range x {
		a, b := float64(x[i]), float64(y[i])
		dot, xx, yy, far = dot+a*b, xx+a*a, yy+b*b, far+(a-b)*(a-b)
	}
	switch m {
	case collection.Cosine:
		if xx == 0 || yy == 0 {
			return 0
		}
		return dot / math.Sqrt(xx*yy)
	case collection.Euclidean:
		return far
	}
	return dot
}

// oracle compares all pairs. Those within rounding of the limit are doubtful: they may be missing.
func oracle(m collection.Metric, a, b []float32, dim int, least float64) (want map[[2]int64]float64, doubtful map[[2]int64]bool) {
	self := b == nil
	if self {
		b = a
	}
	want, doubtful = map[[2]int64]float64{}, map[[2]int64]bool{}
	for i := range len(a) / dim {
		for j := range len(b) / dim {
			if self && j <= i {
				continue
			}
			s := scoreOf(m, a[i*dim:(i+1)*dim], b[j*dim:(j+1)*dim])
			gap := s - least
			if m == collection.Euclidean {
				gap = least - s
			}
			near := 1e-12 * (1 + math.Abs(s) + math.Abs(least))
			if gap < -near {
				continue
			}
			key := [2]int64{int64(i), int64(j)}
			want[key] = s
			if gap < near && s != least {
				doubtful[key] = true
			}
		}
	}
	return want, doubtful
}

// compare reports the first difference between pairs and the oracle's.
func compare(pairs []dataset.Pair, want map[[2]int64]float64, doubtful map[[2]int64]bool) error {
	seen := map[[2]int64]bool{}
	for i, p := range pairs {
		key := [2]int64{p.A, p.B}
		s, ok := want[key]
		switch {
		case i > 0 && byRows(pairs[i-1], p) >= 0:
			return fmt.Errorf("pair %v after %v", p, pairs[i-1])
		case !ok:
			return fmt.Errorf("pair %v does not reach the limit", p)
		case math.Abs(float64(p.Score)-s) > 1e-6*(1+math.Abs(s)):
			return fmt.Errorf("pair %v scores %g", p, s)
		}
		seen[key] = true
	}
	for key, s := range want {
		if !seen[key] && !doubtful[key] {
			return fmt.Errorf("pair %v of score %g is missing", key, s)
		}
	}
	return nil
}

// TestPairsAreComplete compares small joins of all kinds with all pairs.
func TestPairsAreComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.SampledFrom([]int{2, 16, 40}).Draw(t, "dim")
		whole := rapid.Bool().Draw(t, "whole numbers") // ties at the limit
		draw := func(name string) []float32 {
			n := rapid.IntRange(1, 120).Draw(t, name)
			r := vectors.Rand(rapid.Uint64().Draw(t, name+" seed"))
			rows := vectors.Gaussian(r, n, dim)
			if whole {
				for i := range rows {
					rows[i] = float32(math.Round(float64(rows[i])))
				}
			}
			for i := range n { // duplicates and zeros
				switch r.IntN(4) {
				case 0:
					copy(rows[i*dim:(i+1)*dim], rows[r.IntN(n)*dim:])
				case 1:
					if r.IntN(4) == 0 {
						clear(rows[i*dim : (i+1)*dim])
					}
				}
			}
			return rows
		}
		metric := rapid.SampledFrom([]collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean}).Draw(t, "metric")
		a := draw("a")
		var b []float32
		if rapid.Bool().Draw(t, "two tables") {
			b = draw("b")
		}
		o := PairOptions{Method: rapid.SampledFrom([]batch.Method{"", batch.Exact, batch.Auto}).Draw(t, "method"), Delta: 1e-9}
		switch metric {
		case collection.Cosine:
			o.MinScore = rapid.SampledFrom([]float64{-1, -.2, 0, .3, .9, 1}).Draw(t, "least")
		case collection.Euclidean:
			o.MinScore = float64(rapid.IntRange(0, 3*dim).Draw(t, "most"))
		default:
			o.MinScore = float64(rapid.IntRange(-dim, 2*dim).Draw(t, "least"))
		}
		var cleanup []func()
		defer func() {
			for _, f := range cleanup {
				f()
			}
		}()
		e := engine(cleaner{t, &cleanup}, a, dim, metric)
		d, err := Sample(context.Background(), e, o)
		if err != nil {
			t.Fatal(err)
		}
		var s *PairSource
		if b == nil {
			s, err = SelfPairs(e, o, d)
		} else {
			s, err = TablePairs(e, matrix(t, b, dim), o, d)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.limit, s.pairs = rapid.IntRange(1, 9).Draw(t, "limit"), rapid.IntRange(1, 200).Draw(t, "pairs of a block")
		pairs, work, _ := all(t, s)
		want, doubtful := oracle(metric, a, b, dim, o.MinScore)
		if err := compare(pairs, want, doubtful); err != nil {
			t.Fatal(err)
		}
		rows := len(a) / dim
		if b != nil {
			rows = len(b) / dim
		}
		if work.Rows != int64(rows) || work.Exact != work.Rows {
			t.Fatalf("%d of %d rows exact, there are %d", work.Exact, work.Rows, rows)
		}
	})
}

// cleaner gives a rapid.T a Cleanup.
type cleaner struct {
	*rapid.T
	all *[]func()
}

func (c cleaner) Cleanup(f func()) { *c.all = append(*c.all, f) }

// TestPairsResume: a source that skips rows gives the pairs of the others.
func TestPairsResume(t *testing.T) {
	const dim = 16
	rows := vectors.Gaussian(vectors.Rand(4), 3000, dim)
	e := engine(t, rows, dim, collection.Cosine)
	o := PairOptions{MinScore: .6}
	d, err := Sample(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"self", "table"} {
		t.Run(name, func(t *testing.T) {
			open := func() *PairSource {
				s, err := SelfPairs(e, o, d)
				if name == "table" {
					s, err = TablePairs(e, matrix(t, rows[:2500*dim], dim), o, d)
				}
				if err != nil {
					t.Fatal(err)
				}
				s.pairs = 1000
				return s
			}
			want, _, blocks := all(t, open())
			if len(want) < 1000 || blocks < 3 {
				t.Fatalf("%d pairs in %d blocks", len(want), blocks)
			}
			first := open()
			begin, n, err := first.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rest := open()
			if err := rest.Skip(t.Context(), int64(n)); err != nil {
				t.Fatal(err)
			}
			got, _, _ := all(t, rest)
			got = append(got, begin.Pairs...)
			slices.SortFunc(got, byRows)
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if err := open().Skip(t.Context(), 3001); err == nil {
				t.Error("skipped more rows than there are")
			}
		})
	}
}

// TestPairsOfManyDuplicates: a row in more pairs than any limit, and blocks that end inside a
// search, hold few pairs at a time.
func TestPairsOfManyDuplicates(t *testing.T) {
	const n, copies, dim = 1500, 1200, 8
	rows := vectors.Gaussian(vectors.Rand(5), n, dim)
	for i := range copies {
		copy(rows[i*dim:(i+1)*dim], rows[:dim])
	}
	e := engine(t, rows, dim, collection.Cosine)
	o := PairOptions{MinScore: 1}
	d, err := Sample(t.Context(), e, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := SelfPairs(e, o, d)
	if err != nil {
		t.Fatal(err)
	}
	s.limit, s.pairs = 64, 10_000
	count, again := 0, int64(0)
	for {
		b, _, err := s.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Pairs) >= 10_000+n {
			t.Fatalf("a block of %d pairs", len(b.Pairs))
		}
		count += len(b.Pairs)
		again += b.Work.Again
	}
	if want := copies * (copies - 1) / 2; count != want {
		t.Errorf("%d pairs, want %d", count, want)
	}
	if again < copies {
		t.Errorf("%d searches again for %d rows", again, copies)
	}
	estimate, deviation := d.Pairs()
	if math.Abs(estimate-copies*copies/2) > 2*deviation || d.Limited() {
		t.Errorf("estimate %g +- %g of %d", estimate, deviation, copies*copies/2)
	}
}

func TestPairsRefuse(t *testing.T) {
	e := engine(t, []float32{1, 2, 3, 4, 5, 6}, 2, collection.InnerProduct)
	if _, err := Sample(t.Context(), e, PairOptions{MinScore: math.NaN()}); err == nil || err.Error() != "min_score: NaN is not finite" {
		t.Error(err)
	}
	for _, x := range []struct {
		metric      collection.Metric
		least, most float64 // that pairs can have
		says        string  // of what is beyond
	}{
		{collection.InnerProduct, -9, 9, ""},
		{collection.Cosine, -9, 1, "1.5: cosines are at most 1"},
		{collection.Euclidean, 0, 9, "-1.5: squared distances are at least 0"},
	} {
		e := engine(t, []float32{1, 2, 3, 4, 5, 6}, 2, x.metric)
		for _, score := range []float64{x.least, x.most} {
			if _, err := Sample(t.Context(), e, PairOptions{MinScore: score}); err != nil {
				t.Errorf("%v: %v", x.metric, err)
			}
		}
		for _, score := range []float64{-1.5, 1.5} {
			o := PairOptions{MinScore: score}
			refused := score < x.least || score > x.most
			_, of := Sample(t.Context(), e, o)
			_, self := SelfPairs(e, o, &Density{N: 3, Counts: []int{0}})
			_, table := TablePairs(e, matrix(t, []float32{1, 2}, 2), o, &Density{N: 3, Counts: []int{0}})
			for _, err := range []error{of, self, table} {
				if refused != (err != nil) || refused && err.Error() != "min_score: "+x.says {
					t.Errorf("%v, %g: %v", x.metric, score, err)
				}
			}
		}
	}
	d, err := Sample(t.Context(), e, PairOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TablePairs(e, matrix(t, []float32{1, 2, 3}, 3), PairOptions{}, d); err == nil {
		t.Error("rows of another dimension are accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := SelfPairs(e, PairOptions{}, d)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Next(ctx); err != context.Canceled {
		t.Error(err)
	}
	s, err = TablePairs(e, matrix(t, []float32{1, 2, 3e38, 3e38}, 2), PairOptions{}, d)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Next(t.Context()); err == nil || err.Error() != "row 1 (0-based): norm 4.2426406948942856e+38: scores could overflow float32" {
		t.Error(err)
	}
}

// TestScore64FindsItsPair: the score in float64 of a pair, given back as the limit of pairs, and that of an edge of a
// graph, searched row by row or pair by pair, given back as the limit of a search for its row, find what they are of.
func TestScore64FindsItsPair(t *testing.T) {
	const n, dim, k = 1300, 64, 3
	rows := vectors.Gaussian(vectors.Rand(11), n, dim)
	for metric, limit := range map[collection.Metric]float64{collection.InnerProduct: 30, collection.Cosine: .4, collection.Euclidean: 70} {
		e := engine(t, rows, dim, metric)
		reaching := func(limit float64) []dataset.Pair {
			o := PairOptions{MinScore: limit}
			d, err := Sample(t.Context(), e, o)
			if err != nil {
				t.Fatal(err)
			}
			s, err := SelfPairs(e, o, d)
			if err != nil {
				t.Fatal(err)
			}
			found, _, _ := all(t, s)
			return found
		}
		found, rounded := reaching(limit), 0
		if len(found) < 20 {
			t.Fatalf("%s: %d pairs", metric, len(found))
		}
		for _, p := range found {
			if float32(p.Score64) != p.Score {
				t.Fatalf("%s: %v has two scores", metric, p)
			}
			if float64(p.Score) != p.Score64 {
				rounded++
			}
		}
		if rounded == 0 {
			t.Errorf("%s: scores in float64 are those in float32", metric)
		}
		for i := 0; i < len(found); i += len(found) / 5 {
			if again := reaching(found[i].Score64); !slices.Contains(again, found[i]) || len(again) > len(found) {
				t.Errorf("%s: %v is not among the %d pairs of its score", metric, found[i], len(again))
			}
		}
		for _, way := range []Way{ByRow, ByPair} {
			g, err := NewGraph(e, GraphOptions{K: k, Way: way, Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			_, err = g.Each(t.Context(), nil, func(r *dataset.Result) error {
				if r.Query%300 != 7 {
					return nil
				}
				if len(r.Scores64) != k || float32(r.Scores64[k-1]) != r.Scores[k-1] {
					t.Fatalf("%s, %s: row %d has the scores %v and %v", metric, way, r.Query, r.Scores, r.Scores64)
				}
				resp, err := e.Search(t.Context(), batch.Request{Queries: rows[r.Query*dim:][:dim], ExcludeSelf: true, SelfFirst: r.Query, MinScore: &r.Scores64[k-1], Method: batch.Exact, Stored: true})
				if err == nil && !slices.Equal(resp.Answers[0].IDs, r.Rows) {
					t.Errorf("%s, %s: row %d has the neighbours %v, those of the last one's score are %v", metric, way, r.Query, r.Rows, resp.Answers[0].IDs)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			g.Close()
		}
	}
}
