package verify_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/collection"
	"thresher/verify"
)

// line are the atoms 0 to n-1 of one dimension, whose inner product with the query 1 is their
// number.
func line(n int) []float32 {
	rows := make([]float32, n)
	for i := range rows {
		rows[i] = float32(i)
	}
	return rows
}

func recallOf(t *testing.T, rows []float32, dim int, m collection.Metric, k int) *verify.Recall {
	t.Helper()
	o, err := verify.NewOracle(rows, dim, m, 1)
	if err != nil {
		t.Fatal(err)
	}
	return verify.NewRecall(o, k)
}

func recallReport(t *testing.T, r *verify.Recall) *verify.RecallReport {
	t.Helper()
	p, err := r.Report()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRecallCountsWhatIsMissing(t *testing.T) {
	r := recallOf(t, line(20), 1, collection.InnerProduct, 6)
	best := []int64{19, 18, 17, 16, 15, 14}
	for query, c := range []struct {
		ids    []int64
		recall float64
		missed []int64
	}{
		{best, 1, nil},
		{[]int64{14, 19, 15, 18, 16, 17}, 1, nil}, // the order is not recall
		{[]int64{19, 18, 16, 15, 14, 7}, 5. / 6, []int64{17}},
		{[]int64{18, 18, 17, 16, 15, 14}, 5. / 6, []int64{19}}, // listed again
		{[]int64{19, 18, 17}, .5, []int64{16, 15, 14}},         // too short
		{[]int64{0, 1, 2, 3, 4, 5, 19, 18, 17, 16}, 0, best},   // beyond k
		{nil, 0, best},
	} {
		recall, err := r.Compare(int64(query), []float32{1}, best, c.ids, nil)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(recall-c.recall) > 1e-12 || !slices.Equal(r.Missed(), c.missed) {
			t.Errorf("%v: recall %g, missed %v; want %g, %v", c.ids, recall, r.Missed(), c.recall, c.missed)
		}
	}
	p := recallReport(t, r)
	want := []verify.RankBand{{From: 1, To: 1, Wanted: 7, Missed: 3}, {From: 2, To: 5, Wanted: 28, Missed: 11}, {From: 6, To: 6, Wanted: 7, Missed: 3}}
	if diff := cmp.Diff(want, p.Ranks); diff != "" {
		t.Errorf("bands (-want +got):\n%s", diff)
	}
	if found := 42. - 17; math.Abs(p.Recall-found/42) > 1e-12 || p.Queries != 7 || p.Complete != 2 || p.Short != 2 || p.Repeated != 1 {
		t.Errorf("%+v", p)
	}
	// 17 for 7; 19 for nothing less than 14; the six for 0.
	if g := p.Gaps; g == nil || g.Worst != 1 || g.Median <= 0 || g.Median > g.High {
		t.Errorf("gaps %+v", p.Gaps)
	}
}

// TestRecallOfTies: of atoms that score the same, any will do, but ByID counts the ones with
// the least ids.
func TestRecallOfTies(t *testing.T) {
	r := recallOf(t, []float32{5, 3, 3, 3, 3, 1}, 1, collection.InnerProduct, 3)
	best := []int64{0, 1, 2}
	for query, ids := range [][]int64{{0, 3, 4}, {0, 1, 4}, {4, 3, 2}, {0, 5, 4}} {
		if _, err := r.Compare(int64(query), []float32{1}, best, ids, nil); err != nil {
			t.Fatal(err)
		}
		if want := [][]int64{nil, nil, {0}, {1}}[query]; !slices.Equal(r.Missed(), want) {
			t.Errorf("%v: missed %v, want %v", ids, r.Missed(), want)
		}
	}
	if p := recallReport(t, r); p.Recall != 10./12 || p.ByID != 5./12 {
		t.Errorf("recall %g, by id %g; want 10/12 and 5/12", p.Recall, p.ByID)
	}
}

// TestRecallOfDistinctScores is the share that set operations give.
func TestRecallOfDistinctScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(1, 40).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "k")
		o, err := verify.NewOracle(line(n), 1, rapid.SampledFrom([]collection.Metric{collection.InnerProduct, collection.Euclidean}).Draw(t, "metric"), 1)
		if err != nil {
			t.Fatal(err)
		}
		r := verify.NewRecall(o, k)
		q := []float32{float32(n)} // nearest to, and largest product with, the last atoms
		var best []int64
		for i := n - 1; i >= max(0, n-k); i-- {
			best = append(best, int64(i))
		}
		var sum float64
		m := rapid.IntRange(1, 8).Draw(t, "m")
		for j := range m {
			ids := rapid.SliceOfN(rapid.Int64Range(0, int64(n-1)), 0, 15).Draw(t, "ids")
			hits := 0
			for _, id := range best {
				if slices.Contains(ids[:min(k, len(ids))], id) {
					hits++
				}
			}
			want := float64(hits) / float64(len(best))
			sum += want
			got, err := r.Compare(int64(j), q, best, ids, nil)
			if err != nil || got != want {
				t.Fatalf("%v: %g, %v; want %g", ids, got, err, want)
			}
		}
		p, err := r.Report()
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(p.Recall-sum/float64(m)) > 1e-12 || p.ByID != p.Recall || !(p.Low <= p.Recall && p.Recall <= p.High && p.Low >= 0 && p.High <= 1) {
			t.Fatalf("%+v, want recall %g", p, sum/float64(m))
		}
	})
}

func TestRecallRefuses(t *testing.T) {
	r := recallOf(t, line(5), 1, collection.InnerProduct, 2)
	for _, c := range []struct {
		q      []float32
		ids    []int64
		scores []float32
		want   string
	}{
		{[]float32{1}, []int64{4, 5}, nil, "query 3: vector 5 at rank 2 is outside [0, 5)"},
		{[]float32{1}, []int64{-1}, nil, "query 3: vector -1 at rank 1"},
		{[]float32{1}, []int64{4}, []float32{1, 2}, "query 3: 2 scores for 1 ids"},
		{[]float32{1, 2}, []int64{4}, nil, "query 3 has 2 values, the vectors have 1"},
	} {
		if _, err := r.Compare(3, c.q, []int64{4, 3}, c.ids, c.scores); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.ids, err, c.want)
		}
	}
	if _, err := r.Report(); err == nil {
		t.Error("a report about nothing")
	}
}

// TestStatedScores: every usual form of a score is recognised, a wrong score is named, and
// scores of another metric are refused.
func TestStatedScores(t *testing.T) {
	const n, d, m, k = 60, 7, 9, 4
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(random.NormFloat64() * 3)
		}
		return v
	}
	rows, queries := draw(n*d), draw(m*d)
	forms := []struct {
		metric collection.Metric
		name   string
		of     func(dot, squared, norms float64) float64
	}{
		{collection.InnerProduct, "inner products", func(s, _, _ float64) float64 { return s }},
		{collection.InnerProduct, "1 - inner product", func(s, _, _ float64) float64 { return 1 - s }},
		{collection.InnerProduct, "negative inner products", func(s, _, _ float64) float64 { return -s }},
		{collection.Cosine, "cosines", func(s, _, n float64) float64 { return s / n }},
		{collection.Cosine, "1 - cosine", func(s, _, n float64) float64 { return 1 - s/n }},
		{collection.Cosine, "negative cosines", func(s, _, n float64) float64 { return -s / n }},
		{collection.Cosine, "sqrt(2 - 2 cosine)", func(s, _, n float64) float64 { return math.Sqrt(2 - 2*s/n) }},
		{collection.Euclidean, "squared distances", func(_, s, _ float64) float64 { return s }},
		{collection.Euclidean, "distances", func(_, s, _ float64) float64 { return math.Sqrt(s) }},
		{collection.Euclidean, "negative squared distances", func(_, s, _ float64) float64 { return -s }},
		{collection.Euclidean, "negative distances", func(_, s, _ float64) float64 { return -math.Sqrt(s) }},
	}
	state := func(r *verify.Recall, of func(dot, squared, norms float64) float64, spoil bool) {
		for j := range m {
			q := queries[j*d : (j+1)*d]
			ids := []int64{3, int64(j + 20), 40, 41}
			var scores []float32
			for _, id := range ids {
				var dot, squared, nq, nv float64
				for c, x := range rows[id*d : (id+1)*d] {
					dot += float64(q[c]) * float64(x)
					squared += (float64(q[c]) - float64(x)) * (float64(q[c]) - float64(x))
					nq, nv = nq+float64(q[c])*float64(q[c]), nv+float64(x)*float64(x)
				}
				scores = append(scores, float32(of(dot, squared, math.Sqrt(nq*nv))))
			}
			if spoil && j == 5 {
				scores[2] *= 1.01
			}
			if _, err := r.Compare(int64(j), q, ids, ids, scores); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, f := range forms {
		r := recallOf(t, rows, d, f.metric, k)
		state(r, f.of, true)
		p := recallReport(t, r)
		if s := p.Scores; s == nil || s.Form != f.name || s.Stated != m*k || s.Wrong != 1 || s.Sample[0].Query != 5 || s.Sample[0].ID != 40 {
			t.Errorf("%v, %s: %+v", f.metric, f.name, p.Scores)
		}
		for _, other := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
			if other == f.metric {
				continue
			}
			r := recallOf(t, rows, d, other, k)
			state(r, f.of, false)
			if _, err := r.Report(); err == nil || !strings.Contains(err.Error(), f.name) {
				t.Errorf("%s of metric %v taken for scores of %v: %v", f.name, f.metric, other, err)
			}
		}
	}
}

// TestScalesOfRecall: scores as Lucene and others state them, also at float16 and four digits, and none of
// those on a scale that is not known, are wrong; what explains the latter is said.
func TestScalesOfRecall(t *testing.T) {
	const n, d, m, k = 60, 7, 9, 4
	random := rand.New(rand.NewPCG(3, 4))
	rows := make([]float32, n*d)
	for i := range rows {
		rows[i] = float32(random.NormFloat64())
	}
	score := func(metric collection.Metric, q []float32, id int64) float64 {
		var dot, squared, nq, nv float64
		for c, x := range rows[id*d : (id+1)*d] {
			a, b := float64(q[c]), float64(x)
			dot, squared, nq, nv = dot+a*b, squared+(a-b)*(a-b), nq+a*a, nv+b*b
		}
		switch metric {
		case collection.Cosine:
			return dot / math.Sqrt(nq*nv)
		case collection.Euclidean:
			return squared
		}
		return dot
	}
	lucene := map[collection.Metric]func(float64) float64{
		collection.InnerProduct: func(s float64) float64 {
			if s < 0 {
				return 1 / (1 - s)
			}
			return s + 1
		},
		collection.Cosine:    func(s float64) float64 { return (1 + s) / 2 },
		collection.Euclidean: func(s float64) float64 { return 1 / (1 + s) },
	}
	own := func(s float64) float64 { return s }
	strange := func(s float64) float64 { return math.Exp(s) + 7 }
	digits := func(x float64) float64 { return math.Round(x*1e4) / 1e4 }
	same := func(ids []int64) []int64 { return ids }
	before := func(ids []int64) []int64 {
		out := make([]int64, len(ids))
		for i, id := range ids {
			out[i] = id - 1
		}
		return out
	}
	turned := func(ids []int64) []int64 { return append(ids[1:len(ids):len(ids)], ids[0]) }
	for metric, form := range lucene {
		for _, x := range []struct {
			name    string
			of      func(float64) float64
			rounded func(float64) float64
			stated  func([]int64) []int64 // the atoms whose scores are stated
			known   bool
			hint    string
		}{
			{"Lucene's", form, own, same, true, ""}, {"Lucene's at four digits", form, digits, same, true, ""},
			{"their own", own, own, same, true, ""}, {"their own at four digits", own, digits, same, true, ""},
			{"a strange form", strange, own, same, false, ""},
			{"ids that count from 1", own, own, before, false, "count from 1"}, {"another order", form, own, turned, false, "another order"},
		} {
			r := recallOf(t, rows, d, metric, k)
			for j := range m {
				q, ids := rows[j*d:(j+1)*d], []int64{int64(j) + 3, int64(j) + 20, 40, 51}
				var scores []float32
				for _, id := range x.stated(ids) {
					scores = append(scores, float32(x.rounded(x.of(score(metric, q, id)))))
				}
				if _, err := r.Compare(int64(j), q, ids, ids, scores); err != nil {
					t.Fatal(err)
				}
			}
			s := recallReport(t, r).Scores
			if s.Wrong != 0 || s.Stated != m*k || (s.Form != verify.UnknownScale) != x.known || !strings.Contains(s.Hint, x.hint) || (s.Hint == "") != (x.hint == "") {
				t.Errorf("%v, %s: %+v", metric, x.name, s)
			}
		}
	}
}

// TestStatedScoresAreKept: a comparison that continues from the JSON of an earlier one finds what
// one comparison finds; an infinite score is wrong.
func TestStatedScoresAreKept(t *testing.T) {
	compare := func(r *verify.Recall, queries ...int) {
		for _, j := range queries {
			scores := []float32{19, float32(17 + j%3), float32(math.Inf(-j))} // -Inf and +Inf for j = 1 and -1
			if _, err := r.Compare(int64(j+1), []float32{1}, []int64{19, 18}, []int64{19, 18, 17}, scores); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole := recallOf(t, line(20), 1, collection.InnerProduct, 3)
	compare(whole, -1, 1, 2, -4)
	first, second := recallOf(t, line(20), 1, collection.InnerProduct, 3), recallOf(t, line(20), 1, collection.InnerProduct, 3)
	compare(first, -1, 1)
	text, err := json.Marshal(first.Scores())
	if err != nil {
		t.Fatal(err)
	}
	var kept verify.StatedScores
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	second.ResumeScores(kept)
	compare(second, 2, -4)
	want, got := whole.Scores(), second.Scores()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-at once +continued):\n%s", diff)
	}
	if f, err := got.Form(collection.InnerProduct); err != nil || f.Stated != 10 || f.Wrong != 5 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestRecallInterval: the interval contains the recall of the population that the queries
// are drawn from, in all but 5% of draws. 20 alarms in 200 draws have a probability below
// .003 at that rate, and less at the rate of this conservative interval.
func TestRecallInterval(t *testing.T) {
	const n, k, m, draws = 30, 5, 60, 200
	random := rand.New(rand.NewPCG(7, 9))
	best := []int64{29, 28, 27, 26, 25}
	outside := 0
	for range draws {
		r := recallOf(t, line(n), 1, collection.InnerProduct, k)
		for j := range m {
			// An easy query lacks an atom with probability .02, a hard one with .3.
			lack := []float64{.02, .02, .3}[random.IntN(3)]
			var ids []int64
			for i, id := range best {
				if random.Float64() < lack {
					id = int64(i)
				}
				ids = append(ids, id)
			}
			if _, err := r.Compare(int64(j), []float32{1}, best, ids, nil); err != nil {
				t.Fatal(err)
			}
		}
		p := recallReport(t, r)
		if mean := 1 - (.02+.02+.3)/3; mean < p.Low || mean > p.High {
			outside++
		}
		if p.High-p.Low > .2 {
			t.Errorf("interval %g to %g", p.Low, p.High)
		}
	}
	if outside >= 20 {
		t.Errorf("%d of %d intervals do not contain the mean", outside, draws)
	}
}

// TestRecallOfVaryingLengths: the mean is over queries, of which those that want nothing lack
// nothing and do not count.
func TestRecallOfVaryingLengths(t *testing.T) {
	r := recallOf(t, line(20), 1, collection.InnerProduct, 4)
	for query, c := range []struct {
		best, ids []int64
		recall    float64
		missed    []int64
	}{
		{[]int64{19, 18, 17, 16}, []int64{19, 18, 17, 2}, .75, []int64{16}},
		{nil, []int64{19}, 1, nil},
		{[]int64{12}, []int64{11}, 0, []int64{12}},
		{[]int64{12, 11}, []int64{12, 11}, 1, nil},
		{nil, nil, 1, nil},
	} {
		recall, err := r.Compare(int64(query), []float32{1}, c.best, c.ids, nil)
		if err != nil || recall != c.recall || !slices.Equal(r.Missed(), c.missed) {
			t.Errorf("query %d: recall %g, missed %v, %v; want %g, %v", query, recall, r.Missed(), err, c.recall, c.missed)
		}
	}
	p := recallReport(t, r)
	mean := (.75 + 0 + 1) / 3
	if p.Queries != 5 || p.Complete != 3 || math.Abs(p.Recall-mean) > 1e-15 || math.Abs(p.ByID-mean) > 1e-15 || p.Low >= mean || p.High <= mean {
		t.Errorf("%+v, want the recall %g", p, mean)
	}
}

// TestLazyOracle: an oracle that computes norms when they are needed compares as one that has them.
func TestLazyOracle(t *testing.T) {
	const n, dim, k = 50, 6, 4
	r := rand.New(rand.NewPCG(9, 9))
	rows := make([]float32, n*dim)
	for i := range rows {
		rows[i] = float32(r.NormFloat64())
	}
	for _, m := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		lazy, err := verify.NewLazyOracle(rows, dim, m)
		if err != nil {
			t.Fatal(err)
		}
		both := []*verify.Recall{recallOf(t, rows, dim, m, k), verify.NewRecall(lazy, k)}
		for query := range int64(20) {
			q := rows[query*dim : (query+1)*dim]
			best, ids, scores := make([]int64, k), make([]int64, k), make([]float32, k)
			for i := range k {
				best[i], ids[i], scores[i] = int64(r.IntN(n)), int64(r.IntN(n)), float32(r.NormFloat64())
			}
			for _, c := range both {
				if _, err := c.Compare(query, q, best, ids, scores); err != nil {
					t.Fatal(err)
				}
			}
		}
		if diff := cmp.Diff(recallReport(t, both[0]), recallReport(t, both[1])); diff != "" {
			t.Errorf("%v (-with norms +without):\n%s", m, diff)
		}
	}
	if _, err := verify.NewLazyOracle(rows, 7, collection.Cosine); err == nil {
		t.Error("50 rows of 6 values are rows of 7")
	}
}
