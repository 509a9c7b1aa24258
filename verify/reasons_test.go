package verify_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"thresher/collection"
	"thresher/dataset"
	"thresher/verify"
)

// examined are answers to queries, with the best vectors by a metric.
type examined struct {
	rows, queries []float32
	n, dim, m, k  int
	metric        collection.Metric
	best          [][]int64
	may           func(int64) bool
	scores        func(query int, id int64) float32 // nil: none
}

func newExamined(seed uint64, metric collection.Metric, k int) *examined {
	random := rand.New(rand.NewPCG(seed, 1))
	x := &examined{n: 700, dim: 12, m: 40, k: k, metric: metric}
	for range x.n {
		length := math.Exp(random.NormFloat64() / 3)
		for range x.dim {
			x.rows = append(x.rows, float32(length*(1+random.NormFloat64())))
		}
	}
	for range x.m * x.dim {
		x.queries = append(x.queries, float32(1+random.NormFloat64()))
	}
	x.best = x.by(x.own)
	return x
}

// crowd makes vectors that differ little.
func (x *examined) crowd(by float32) {
	for i := range x.rows {
		x.rows[i] = 1 + x.rows[i]/by
	}
	x.best = x.by(x.own)
}

func (x *examined) own(q, v []float32) float64 { return scoreBy(x.metric, q, v) }

func scoreBy(metric collection.Metric, q, v []float32) float64 {
	var dot, squared, q2, v2 float64
	for c := range q {
		a, b := float64(q[c]), float64(v[c])
		dot, squared, q2, v2 = dot+a*b, squared+(a-b)*(a-b), q2+a*a, v2+b*b
	}
	switch metric {
	case collection.Cosine:
		return dot / math.Sqrt(q2*v2)
	case collection.Euclidean:
		return -squared
	}
	return dot
}

// by returns the k best vectors of each query by a score.
func (x *examined) by(score func(q, v []float32) float64) (best [][]int64) {
	for j := range x.m {
		best = append(best, x.ranked(j, score)[:x.k])
	}
	return best
}

// ranked returns all vectors that query j may have, best first.
func (x *examined) ranked(j int, score func(q, v []float32) float64) (ids []int64) {
	scores := make([]float64, x.n)
	for i := range scores {
		if scores[i] = score(x.query(j), x.rows[i*x.dim:(i+1)*x.dim]); x.may == nil || x.may(int64(i)) {
			ids = append(ids, int64(i))
		}
	}
	slices.SortStableFunc(ids, func(a, b int64) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	return ids
}

func (x *examined) query(j int) []float32 { return x.queries[j*x.dim : (j+1)*x.dim] }

// TestReasonsOfFloat64: answers from the vectors rounded to float32 are told apart from those of others, where the vectors
// are kept in float64.
func TestReasonsOfFloat64(t *testing.T) {
	const n, m, dim, k = 600, 40, 8, 10
	random := rand.New(rand.NewPCG(3, 1))
	rows, queries := make([]float64, n*dim), make([]float64, m*dim)
	for i := range queries {
		queries[i] = random.NormFloat64()
	}
	for i := range rows { // 30 rows each differ by less than float32 tells apart
		if rows[i] = random.NormFloat64(); i/dim%30 > 0 {
			rows[i] = rows[i-i/dim%30*dim] + 1e-9*rows[i]
		}
	}
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		v, err := dataset.VectorsOf(rows, dim)
		if err != nil {
			t.Fatal(err)
		}
		c, err := collection.BuildVectors(t.Context(), v, &collection.Options{Metric: metric, Elem: dataset.ElemFloat64, NoCodes: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, want := range []string{verify.BecauseRounded, verify.BecauseReversed, ""} {
			o, err := verify.NewLazyOracleOf(c)
			if err != nil {
				t.Fatal(err)
			}
			r, recall := verify.NewReasons(o, nil), verify.NewRecall(o, k)
			for j := range m {
				q := queries[j*dim:][:dim]
				ranked := func(given func(float64) float64, way float64) (ids []int64) {
					scores := make([]float64, n)
					for i := range scores {
						var dot, squared, q2, v2 float64
						for c, x := range rows[i*dim:][:dim] {
							a, b := given(q[c]), given(x)
							dot, squared, q2, v2 = dot+a*b, squared+(a-b)*(a-b), q2+a*a, v2+b*b
						}
						scores[i] = way * map[collection.Metric]float64{collection.InnerProduct: dot, collection.Cosine: dot / math.Sqrt(q2*v2), collection.Euclidean: -squared}[metric]
						ids = append(ids, int64(i))
					}
					slices.SortStableFunc(ids, func(a, b int64) int { return cmp.Compare(scores[b], scores[a]) })
					return ids[:k]
				}
				same, single := func(x float64) float64 { return x }, func(x float64) float64 { return float64(float32(x)) }
				best := ranked(same, 1)
				ids := map[string][]int64{verify.BecauseRounded: ranked(single, 1), verify.BecauseReversed: ranked(same, -1), "": best}[want]
				if _, err := recall.Compare64(int64(j), q, best, ids, nil); err != nil {
					t.Fatal(err)
				}
				r.Add(&verify.Specimen{Query: int64(j), Q: q, Best: best, IDs: ids, Missed: recall.Missed()})
			}
			found, err := r.Find(t.Context(), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want == "" && found != nil || want != "" && !slices.ContainsFunc(found, func(one verify.Reason) bool { return one.Kind == want }) {
				t.Errorf("%v: %+v, want %s", metric, found, want)
			}
		}
	}
}

// widened returns a vector in float64.
func widened(v []float32) []float64 {
	wide := make([]float64, len(v))
	for c, x := range v {
		wide[c] = float64(x)
	}
	return wide
}

// reasons finds why answers lack vectors.
func (x *examined) reasons(t *testing.T, answers [][]int64) []verify.Reason {
	t.Helper()
	o, err := verify.NewLazyOracle(x.rows, x.dim, x.metric)
	if err != nil {
		t.Fatal(err)
	}
	r, recall := verify.NewReasons(o, nil), verify.NewRecall(o, x.k)
	for j, ids := range answers {
		s := &verify.Specimen{Query: int64(j), Q: widened(x.query(j)), Best: x.best[j], IDs: ids, May: x.may}
		inside := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool {
			return id < 0 || id >= int64(x.n) || x.may != nil && !x.may(id)
		})
		if x.scores != nil {
			for _, id := range inside {
				s.Scores = append(s.Scores, x.scores(j, id))
			}
		}
		if _, err := recall.Compare(int64(j), x.query(j), x.best[j], inside, s.Scores); err != nil {
			t.Fatal(err)
		}
		s.Missed = recall.Missed()
		r.Add(s)
	}
	stated := recall.Scores()
	found, err := r.Find(context.Background(), &stated, nil)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// spoil replaces each vector of answers, with a probability, by one of the next ranks.
func (x *examined) spoil(seed uint64, share float64, answers [][]int64, score func(q, v []float32) float64) (out [][]int64) {
	random := rand.New(rand.NewPCG(seed, 2))
	for j, ids := range answers {
		next := x.ranked(j, score)[x.k:]
		var own []int64
		for _, id := range ids {
			if random.Float64() < share {
				id, next = next[0], next[1:]
			}
			own = append(own, id)
		}
		out = append(out, own)
	}
	return out
}

func half(x float32) float32 {
	if x == 0 {
		return 0
	}
	_, exp := math.Frexp(float64(x))
	step := math.Ldexp(1, max(exp-11, -24))
	return float32(math.RoundToEven(float64(x)/step) * step)
}

func brain(x float32) float32 {
	bits := math.Float32bits(x)
	return math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff)
}

func mapped(v []float32, f func(float32) float32) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = f(x)
	}
	return out
}

// TestReasons: what is wrong with answers is said, also where an index lost a few vectors besides.
func TestReasons(t *testing.T) {
	ip, cosine, l2 := collection.InnerProduct, collection.Cosine, collection.Euclidean
	by := func(m collection.Metric) func(q, v []float32) float64 {
		return func(q, v []float32) float64 { return scoreBy(m, q, v) }
	}
	moved := func(by int64) func(x *examined) [][]int64 {
		return func(x *examined) (out [][]int64) {
			for _, ids := range x.best {
				own := slices.Clone(ids)
				for i := range own {
					own[i] += by
				}
				out = append(out, own)
			}
			return out
		}
	}
	best := func(score func(q, v []float32) float64) func(x *examined) [][]int64 {
		return func(x *examined) [][]int64 { return x.by(score) }
	}
	for _, c := range []struct {
		metric     collection.Metric
		kind, text string
		answers    func(x *examined) [][]int64
	}{
		{ip, verify.BecauseShifted, "each vector is 1 row after the right one: the ids seem to count from 1", moved(1)},
		{l2, verify.BecauseShifted, "each vector is 1 row before the right one: the ids seem to count from 0", moved(-1)},
		{cosine, verify.BecauseShifted, "each vector is 1000 rows after the right one", moved(1000)},
		{ip, verify.BecauseMetric, "the best by cosine: the other program seems to normalise", best(by(cosine))},
		{ip, verify.BecauseMetric, "the best by Euclidean distance", best(by(l2))},
		{cosine, verify.BecauseMetric, "the best by inner product: the other program seems not to normalise", best(by(ip))},
		{cosine, verify.BecauseMetric, "the best by Euclidean distance", best(by(l2))},
		{l2, verify.BecauseMetric, "the best by cosine", best(by(cosine))},
		{l2, verify.BecauseMetric, "the best by inner product", best(by(ip))},
		{cosine, verify.BecauseReversed, "sort the other way", best(func(q, v []float32) float64 { return -scoreBy(cosine, q, v) })},
		{ip, verify.BecauseOrder, "each is the answer to the query 1 row before its own", func(x *examined) [][]int64 {
			return append([][]int64{x.best[x.m-1]}, x.best[:x.m-1]...)
		}},
		{ip, verify.BecauseOrder, "seem to be in another order", func(x *examined) (out [][]int64) {
			for j := range x.m {
				out = append(out, x.best[j*7%x.m])
			}
			return out
		}},
		{ip, verify.BecauseRounded, "rounded to float16", best(func(q, v []float32) float64 { return scoreBy(ip, mapped(q, half), mapped(v, half)) })},
		{l2, verify.BecauseRounded, "the best of vectors rounded to float16", best(func(q, v []float32) float64 { return scoreBy(l2, q, mapped(v, half)) })},
		{cosine, verify.BecauseRounded, "the best of vectors rounded to bfloat16", best(func(q, v []float32) float64 { return scoreBy(cosine, q, mapped(v, brain)) })},
		{l2, verify.BecauseRounded, "rounded to bfloat16", best(func(q, v []float32) float64 { return scoreBy(l2, mapped(q, brain), mapped(v, brain)) })},
	} {
		x := newExamined(3, c.metric, 8)
		if c.kind == verify.BecauseRounded {
			x.m, x.queries = 120, append(append(x.queries, mapped(x.queries, func(y float32) float32 { return y * y })...), mapped(x.queries, func(y float32) float32 { return 1 / (2 + y) })...)
			x.crowd(400)
		}
		found := x.reasons(t, c.answers(x))
		if len(found) == 0 || found[0].Kind != c.kind || !strings.Contains(found[0].Text, c.text) {
			t.Errorf("%v, %s: %v", c.metric, c.text, found)
			continue
		}
		if f := found[0]; len(found) > 1 || f.Recall < .99 || f.Queries < f.Of-1 {
			t.Errorf("%v, %s: %v", c.metric, c.text, found)
		}
	}
}

// TestReasonsOfFewer: a filter that was not applied, vectors that were not loaded or that no search reaches, and
// ties of scores as they are stated.
func TestReasonsOfFewer(t *testing.T) {
	want := func(name string, found []verify.Reason, kind, text string) {
		t.Helper()
		if len(found) != 1 || found[0].Kind != kind || !strings.Contains(found[0].Text, text) {
			t.Errorf("%s: %v", name, found)
		}
	}
	x := newExamined(5, collection.InnerProduct, 8)
	all := x.best
	x.may = func(id int64) bool { return id%3 != 0 }
	x.best = x.by(x.own)
	want("filter", x.reasons(t, all), verify.BecauseFilter, "the filter")

	x = newExamined(5, collection.InnerProduct, 8)
	whole := x.best
	x.may = func(id int64) bool { return id < 600 }
	loaded := x.by(x.own)
	x.may, x.best = nil, whole
	want("cut short", x.reasons(t, loaded), verify.BecauseAbsent, "seems to lack the last vectors")

	x.may = func(id int64) bool { return id%5 != 0 }
	reached := x.by(x.own)
	x.may = nil
	want("not reached", x.reasons(t, reached), verify.BecauseAbsent, "not to reach them")

	x = newExamined(6, collection.Cosine, 40)
	rounded := func(q, v []float32) float64 { return math.Round(scoreBy(collection.Cosine, q, v)*1e3) / 1e3 }
	x.scores = func(j int, id int64) float32 {
		return float32(math.Round(scoreBy(collection.Cosine, x.query(j), x.rows[int(id)*x.dim:(int(id)+1)*x.dim])*1e3) / 1e3)
	}
	if found := x.reasons(t, x.by(rounded)); len(found) != 0 { // three digits are no scale
		t.Errorf("three digits: %v", found)
	}
	x.crowd(50)
	rounded = func(q, v []float32) float64 { return math.Round(scoreBy(collection.Cosine, q, v)*1e4) / 1e4 }
	x.scores = func(j int, id int64) float32 {
		return float32(rounded(x.query(j), x.rows[int(id)*x.dim:(int(id)+1)*x.dim]))
	}
	want("four digits", x.reasons(t, x.by(rounded)), verify.BecauseTies, "at four digits")
}

// TestTiesOfSingle: sums in float32 that are rounded after each term leave vectors in another order than exact ones.
func TestTiesOfSingle(t *testing.T) {
	x := newExamined(7, collection.InnerProduct, 8)
	x.crowd(1e6)
	found := x.reasons(t, x.by(func(q, v []float32) float64 {
		var sum float32
		for c := range q {
			sum += q[c] * v[c]
		}
		return float64(sum)
	}))
	if len(found) == 0 || found[0].Kind != verify.BecauseTies || !strings.Contains(found[0].Text, "the rounding of float32") {
		t.Errorf("%v", found)
	}
}

// TestNoReasons: answers of an index that loses vectors are not explained, whatever the share that it loses.
func TestNoReasons(t *testing.T) {
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		for _, k := range []int{1, 3, 8} {
			for seed, share := range []float64{.01, .05, .1, .3, .6} {
				x := newExamined(uint64(20+seed), metric, k)
				found := x.reasons(t, x.spoil(uint64(seed), share, x.best, x.own))
				if len(found) > 0 {
					t.Errorf("%v, k = %d, %g lost: %v", metric, k, share, found)
				}
			}
		}
		x := newExamined(9, metric, 8)
		if found := x.reasons(t, x.best); found != nil {
			t.Errorf("right answers: %v", found)
		}
		random := rand.New(rand.NewPCG(1, 1))
		wrong := make([][]int64, x.m)
		for j := range wrong {
			for range x.k {
				wrong[j] = append(wrong[j], random.Int64N(int64(x.n)))
			}
		}
		if found := x.reasons(t, wrong); found == nil || len(found) > 0 {
			t.Errorf("random answers: %v", found)
		}
	}
}

// TestReasonsOfAnIndex: an index that loses some vectors is explained as far as another reason goes.
func TestReasonsOfAnIndex(t *testing.T) {
	x := newExamined(11, collection.Cosine, 20)
	ip := func(q, v []float32) float64 { return scoreBy(collection.InnerProduct, q, v) }
	found := x.reasons(t, x.spoil(3, .03, x.by(ip), ip))
	if len(found) != 1 || found[0].Kind != verify.BecauseMetric || found[0].Recall < .94 || found[0].Recall > .99 {
		t.Errorf("%v", found)
	}
	if got := found[0].Text; !strings.Contains(got, "by inner product") || !strings.Contains(got, "of 32 answers examined that lack vectors; granted that, their recall is 0.9") {
		t.Error(got)
	}
}

// TestFindEnds: with its context, and with what its turn returns.
func TestFindEnds(t *testing.T) {
	x := newExamined(3, collection.Cosine, 8)
	o, err := verify.NewLazyOracle(x.rows, x.dim, x.metric)
	if err != nil {
		t.Fatal(err)
	}
	r := verify.NewReasons(o, nil)
	ip := x.by(func(q, v []float32) float64 { return scoreBy(collection.InnerProduct, q, v) })
	for j, ids := range ip {
		missed := slices.DeleteFunc(slices.Clone(x.best[j]), func(id int64) bool { return slices.Contains(ids, id) })
		r.Add(&verify.Specimen{Query: int64(j), Q: widened(x.query(j)), Best: x.best[j], IDs: ids, Missed: missed})
	}
	read, gone := 0, errors.New("gone")
	if _, err := r.Find(context.Background(), nil, func(n int) error { read += n; return nil }); err != nil || read < 32*x.n*x.dim {
		t.Errorf("%d coordinates, %v", read, err)
	}
	if _, err := r.Find(context.Background(), nil, func(int) error { return gone }); !errors.Is(err, gone) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Find(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
