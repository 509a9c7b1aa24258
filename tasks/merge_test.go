package tasks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/draws"
	"thresher/internal/vectors"
)

// answersOf is a file of answers in memory.
type answersOf struct {
	all []dataset.Result
	at  int
}

func (a *answersOf) Next() (dataset.Result, error) {
	if a.at == len(a.all) {
		return dataset.Result{}, io.EOF
	}
	a.at++
	return a.all[a.at-1], nil
}
func (a *answersOf) Len() int64   { return int64(len(a.all)) }
func (a *answersOf) Close() error { return nil }

// mergeAll merges answers in memory; names are a, b, ..
func mergeAll(t *testing.T, o *MergeOptions, files ...[]dataset.Result) ([]dataset.Result, *MergeSummary, error) {
	t.Helper()
	var in []MergeFile
	for i := range files {
		in = append(in, MergeFile{string(rune('a' + i)), &answersOf{all: files[i]}})
	}
	var out []dataset.Result
	sum, err := Merge(t.Context(), in, o, func(r *dataset.Result) error {
		out = append(out, *r)
		return nil
	})
	return out, sum, err
}

// covering states what answers cover, in the first of them.
func covering(c Coverage, all ...dataset.Result) []dataset.Result {
	raw, err := json.Marshal(&c)
	if err != nil {
		panic(err)
	}
	all[0].Covers = raw
	return all
}

// shardOfOne is the coverage of a file of one query and one shard.
func shardOfOne(name string) Coverage {
	return Coverage{Queries: "q", Count: 1, Metric: "ip", K: 2, Method: batch.Certain, Shards: []Shard{{Digest: name, Rows: 3}}}
}

// TestMerge: k-way by score64, then id; what is promised, and the work.
func TestMerge(t *testing.T) {
	a := covering(shardOfOne("1"), dataset.Result{IDs: []string{"10", "x"}, Scores: []float32{2, 1}, Scores64: []float64{2, 1}, Pulls: 5, Exact: true, Guarantee: "exact"})
	b := covering(shardOfOne("2"), dataset.Result{QueryID: "q7", IDs: []string{"9", "8"}, Scores: []float32{2, 1.5}, Scores64: []float64{2, 1.5}, Pulls: 7, Guarantee: "certain"})
	c := covering(shardOfOne("3"), dataset.Result{QueryID: "q7", Pulls: 1, Exact: true, Guarantee: "exact"})
	got, sum, err := mergeAll(t, nil, a, b, c)
	if err != nil {
		t.Fatal(err)
	}
	want := dataset.Result{QueryID: "q7", IDs: []string{"9", "10"}, Scores: []float32{2, 2}, Scores64: []float64{2, 2}, Pulls: 13, Guarantee: "certain", Covers: got[0].Covers}
	if d := diff.Diff([]dataset.Result{want}, got); d != "" {
		t.Error(d)
	}
	if sum.Shards != 3 || sum.Vectors != 9 || sum.K != 2 || sum.Pulls != 13 || sum.Promise != "certain: none wrong" {
		t.Errorf("%+v", sum)
	}
}

// TestMergeIDs: whole numbers by value, before texts by bytes.
func TestMergeIDs(t *testing.T) {
	in := []string{"é", "b", "10", "007", "18446744073709551615", "18446744073709551616", "9", "0", "-1", "", "B"}
	want := []string{"0", "9", "10", "18446744073709551615", "", "-1", "007", "18446744073709551616", "B", "b", "é"}
	slices.SortFunc(in, compareIDs)
	if d := diff.Diff(want, in); d != "" {
		t.Error(d)
	}
}

// TestMergePromises: the worst guarantee, by the rules of docs/guarantee.md.
func TestMergePromises(t *testing.T) {
	said := func(g batch.Guarantee, delta, epsilon float64, partial bool) dataset.Result {
		return dataset.Result{Guarantee: string(g), Delta: delta, Epsilon: epsilon, Partial: partial}
	}
	chance := said(batch.GuaranteeProbabilistic, .25, 0, false)
	for _, x := range []struct {
		name   string
		method batch.Method
		a, b   dataset.Result
		want   dataset.Result
	}{
		{"delta is divided over the k best", batch.Adaptive, chance, said(batch.GuaranteeProbabilistic, .125, 2, false), said(batch.GuaranteeProbabilistic, .25, 2, false)},
		{"exact and a chance", batch.Auto, chance, said(batch.GuaranteeExact, 0, 0, false), chance},
		{"any failure of a shard", batch.BanditMIPS, chance, said(batch.GuaranteeProbabilistic, .125, 0, false), said(batch.GuaranteeProbabilistic, .375, 0, false)},
		{"sums to certainty", batch.BanditMIPS, said(batch.GuaranteeProbabilistic, .5, 0, false), said(batch.GuaranteeProbabilistic, .5, 0, false), said(batch.GuaranteeHeuristic, 0, 0, false)},
		{"about the k-th score of a shard", batch.BoundedME, chance, chance, said(batch.GuaranteeHeuristic, 0, 0, false)},
		{"stopped", batch.Certain, said(batch.GuaranteeBound, 0, 0, true), said(batch.GuaranteeCertain, 0, 1, false), said(batch.GuaranteeBound, 0, 1, true)},
		{"stopped, with a chance", batch.Auto, said(batch.GuaranteeBound, .125, 0, true), chance, said(batch.GuaranteeBound, .25, 0, true)},
		{"a bound does not hold beside a heuristic", batch.BanditMIPSAlpha, said(batch.GuaranteeBound, 0, 0, true), said(batch.GuaranteeHeuristic, 0, 0, false), said(batch.GuaranteeHeuristic, 0, 0, true)},
	} {
		t.Run(x.name, func(t *testing.T) {
			one, two := shardOfOne("1"), shardOfOne("2")
			one.Method, two.Method = x.method, x.method
			for _, turn := range [][2]dataset.Result{{x.a, x.b}, {x.b, x.a}} {
				got, _, err := mergeAll(t, nil, covering(one, turn[0]), covering(two, turn[1]))
				if err != nil {
					t.Fatal(err)
				}
				want := x.want
				want.Scores, want.Scores64, want.Covers = []float32{}, []float64{}, got[0].Covers
				if d := diff.Diff(want, got[0]); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// TestMergeRefuses: answers that do not belong together, by the names of both files.
func TestMergeRefuses(t *testing.T) {
	hit := func() dataset.Result {
		return dataset.Result{IDs: []string{"7"}, Scores: []float32{1}, Scores64: []float64{1}, Guarantee: "exact"}
	}
	other := func(change func(c *Coverage)) []dataset.Result {
		c := shardOfOne("2")
		change(&c)
		r := hit()
		r.IDs = []string{"8"}
		return covering(c, r)
	}
	answer := func(change func(r *dataset.Result)) []dataset.Result {
		r := hit()
		r.IDs = []string{"8"}
		change(&r)
		return covering(shardOfOne("2"), r)
	}
	for _, x := range []struct {
		name string
		o    *MergeOptions
		b    []dataset.Result
		want string
	}{
		{"queries", nil, other(func(c *Coverage) { c.Queries = "p" }), "a and b cannot be merged: the digest of the queries differs, q and p"},
		{"number", nil, other(func(c *Coverage) { c.Count = 2 }), "a and b cannot be merged: the number of queries differs, 1 and 2"},
		{"metric", nil, other(func(c *Coverage) { c.Metric = "l2" }), "a and b cannot be merged: the metric differs, ip and l2"},
		{"k", nil, other(func(c *Coverage) { c.K = 3 }), "a and b cannot be merged: k differs, 2 and 3"},
		{"limits", nil, other(func(c *Coverage) { c.Limits = "x" }), "a and b cannot be merged: least or greatest scores or exclusions differ"},
		{"shard", nil, other(func(c *Coverage) { c.Shards[0].Digest = "1" }), "a and b cannot be merged: both have answers over the same 3 vectors"},
		{"id", nil, answer(func(r *dataset.Result) { r.IDs = []string{"7"} }), `vector "7" is in a and in b: their vectors overlap`},
		{"id of another score", nil, answer(func(r *dataset.Result) { r.IDs, r.Scores64 = []string{"7"}, []float64{2} }), `vector "7" is in a and in b: their vectors overlap`},
		{"rows alone", nil, answer(func(r *dataset.Result) { r.IDs, r.Rows = nil, []int64{3} }), "b has row numbers alone, which do not tell its vectors from those of a"},
		{"greater k", &MergeOptions{K: 3}, answer(func(*dataset.Result) {}), "k = 3: the answers of a are the 2 best"},
		{"order", nil, answer(func(r *dataset.Result) {
			r.IDs, r.Scores, r.Scores64 = []string{"8", "9"}, []float32{1, 2}, []float64{1, 2}
		}), "the scores of b are not in the order of metric ip"},
		{"no score", nil, answer(func(r *dataset.Result) { r.Scores64 = []float64{math.Inf(-1)} }), "b has a vector without a finite score"},
		{"query", nil, answer(func(r *dataset.Result) { r.Query = 1 }), "a has the answer to query 0 where b has that to query 1"},
		{"bare", nil, []dataset.Result{hit()}, "b does not state which queries"},
		{"garbled", nil, []dataset.Result{{Covers: json.RawMessage(`{"queries":"q"}`)}}, "b: covers: 0 shards"},
		{"longer", nil, append(answer(func(*dataset.Result) {}), hit()), "b has an answer to query 0, a has no more"},
		{"empty", nil, nil, "a has an answer to query 0, b has no more"},
		{"offsets", &MergeOptions{Offsets: []int64{0}}, answer(func(*dataset.Result) {}), "1 offsets for 2 files"},
		{"offset of ids", &MergeOptions{Offsets: []int64{0, 1}}, answer(func(*dataset.Result) {}), "a has no row numbers"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, _, err := mergeAll(t, x.o, covering(shardOfOne("1"), hit()), x.b)
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, want %q", err, x.want)
			}
		})
	}
}

// TestMergeMethods: deltas that combine in different ways are not mixed; methods that cannot fail go
// with both.
func TestMergeMethods(t *testing.T) {
	for _, x := range []struct {
		a, b batch.Method
		want batch.Method // of the merged answers; "" if they are refused
	}{
		{batch.Adaptive, batch.BanditMIPS, ""}, {batch.BucketAE, batch.Auto, ""}, {batch.Exact, batch.Certain, batch.Exact},
		{batch.Exact, batch.Auto, batch.Auto}, {batch.BanditMIPS, batch.Certain, batch.BanditMIPS}, {batch.BoundedME, batch.Strict, batch.BoundedME},
	} {
		a, b := shardOfOne("1"), shardOfOne("2")
		a.Method, b.Method = x.a, x.b
		for range 2 {
			a, b = b, a
			_, sum, err := mergeAll(t, nil, covering(a, dataset.Result{}), covering(b, dataset.Result{}))
			if x.want == "" && (err == nil || !strings.Contains(err.Error(), "allow to fail does not combine")) {
				t.Errorf("%s and %s: %v", x.a, x.b, err)
			}
			if x.want != "" && (err != nil || sum.Covers.Method != x.want) {
				t.Errorf("%s and %s: %v, %v", x.a, x.b, sum, err)
			}
		}
	}
}

// TestMergeUnchecked: files that do not say what they cover are merged if that is wanted, by a stated
// metric and k; without scores64 nothing is promised.
func TestMergeUnchecked(t *testing.T) {
	wide := []dataset.Result{{IDs: []string{"1", "2"}, Scores64: []float64{1, 3}, Guarantee: "exact"}}
	short := []dataset.Result{{IDs: []string{"3"}, Scores: []float32{2}, Guarantee: "exact"}}
	o := MergeOptions{Unchecked: true, K: 2, Metric: collection.Euclidean}
	got, sum, err := mergeAll(t, &o, wide, short)
	if err != nil {
		t.Fatal(err)
	}
	want := dataset.Result{IDs: []string{"1", "3"}, Scores: []float32{1, 2}, Guarantee: "heuristic"}
	if d := diff.Diff(want, got[0]); d != "" || !sum.Unchecked || sum.Covers != nil {
		t.Errorf("%+v\n%s", sum, d)
	}
	more := []dataset.Result{{IDs: []string{"4"}, Scores64: []float64{2}, Guarantee: "certain"}}
	if got, _, err = mergeAll(t, &o, wide, more); err != nil || got[0].Guarantee != "certain" || !slices.Equal(got[0].Scores64, []float64{1, 2}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err := mergeAll(t, nil, append(covering(shardOfOne("1"), dataset.Result{}), dataset.Result{Query: 1})); err == nil || !strings.Contains(err.Error(), "a states that it covers 1 queries and has 2 answers") {
		t.Errorf("two files in one: %v", err)
	}
	for _, bad := range []MergeOptions{{Unchecked: true, K: 2}, {Unchecked: true, Metric: collection.Euclidean}} {
		if _, _, err := mergeAll(t, &bad, wide, short); err == nil || !strings.Contains(err.Error(), "unchecked answers do not state their") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	each := covering(Coverage{Queries: "q", Metric: "ip", K: 2, OwnK: true, Shards: []Shard{{"1", 1}}}, dataset.Result{})
	if _, _, err := mergeAll(t, nil, each); err == nil || !strings.Contains(err.Error(), "have a k of their own") {
		t.Errorf("own k: %v", err)
	}
}

// TestMergeCertificates: work is added and the greatest open bound counts; that of an answer of fewer
// than k vectors is at least its own last score, which may not be the last of the merged one.
func TestMergeCertificates(t *testing.T) {
	certificate := func(c batch.Certificate) json.RawMessage {
		raw, err := json.Marshal(&c)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	low, high := -3., -2.
	cover := func(name string) Coverage {
		c := shardOfOne(name)
		c.Metric = "l2"
		return c
	}
	full := dataset.Result{IDs: []string{"1", "2"}, Scores: []float32{1, 8}, Scores64: []float64{1, 8}, Partial: true, Guarantee: "bound",
		Certificate: certificate(batch.Certificate{Method: batch.Certain, Guarantee: batch.GuaranteeBound, StoppedBy: batch.Deadline, Pulls: 3, DensePulls: 30, OpenBound: &low})}
	short := dataset.Result{IDs: []string{"3"}, Scores: []float32{3}, Scores64: []float64{3}, Partial: true, Guarantee: "bound",
		Certificate: certificate(batch.Certificate{Method: batch.Exact, Guarantee: batch.GuaranteeBound, StoppedBy: batch.Cancelled, Pulls: 4, DensePulls: 40, OpenBound: &high})}
	got, _, err := mergeAll(t, nil, covering(cover("1"), full), covering(cover("2"), short))
	if err != nil {
		t.Fatal(err)
	}
	var c batch.Certificate
	if err := json.Unmarshal(got[0].Certificate, &c); err != nil {
		t.Fatal(err)
	}
	bound := -1.5 // half the squared distance of "3", not the open bounds -2 and -3
	want := batch.Certificate{Method: batch.Auto, Guarantee: batch.GuaranteeBound, StoppedBy: batch.Cancelled, Pulls: 7, DensePulls: 70, Plan: "merged", OpenBound: &bound}
	if d := diff.Diff(want, c); d != "" {
		t.Error(d)
	}
	short.Certificate = nil
	if got, _, err = mergeAll(t, nil, covering(cover("1"), full), covering(cover("2"), short)); err != nil || got[0].Certificate != nil {
		t.Errorf("one certificate of two: %s, %v", got[0].Certificate, err)
	}
}

// mergeCase is a search of shards, and what the whole answers.
type mergeCase struct {
	metric  collection.Metric
	k       int
	scores  []float64 // as shown, of vectors 0, 1, ..
	files   [][]dataset.Result
	owned   []int // the shard of each vector
	offsets []int64
}

// drawMerge draws shards, some of them empty, with tied scores.
func drawMerge(t *rapid.T) *mergeCase {
	c := &mergeCase{
		metric: collection.Metric(rapid.IntRange(1, 3).Draw(t, "metric")),
		k:      rapid.IntRange(0, 6).Draw(t, "k"),
		scores: rapid.SliceOfN(rapid.SampledFrom([]float64{0, .5, 1, 1 + 0x1p-40, 1 + 0x1p-50, 2}), 0, 24).Draw(t, "scores"),
	}
	shards := rapid.IntRange(1, 6).Draw(t, "shards")
	floor := rapid.SampledFrom([]float64{0, 1, 1 + 0x1p-45}).Draw(t, "floor")
	for range c.scores {
		c.owned = append(c.owned, rapid.IntRange(0, shards-1).Draw(t, "shard"))
	}
	slices.Sort(c.owned) // shards are consecutive rows
	first := int64(0)
	for s := range shards {
		var own []int
		rows := int64(0)
		for v, of := range c.owned {
			if of != s {
				continue
			}
			rows++
			if c.reaches(c.scores[v], floor) {
				own = append(own, v)
			}
		}
		r := c.best(own)
		for i := range r.Rows {
			r.Rows[i] -= first
		}
		r.Delta = rapid.SampledFrom([]float64{0, .01, .02, .3}).Draw(t, "delta")
		r.Guarantee = string(rapid.SampledFrom(batch.Guarantees()).Draw(t, "guarantee"))
		r.Partial = r.Guarantee == "bound"
		r.Pulls = rapid.Int64Range(0, 1<<40).Draw(t, "pulls")
		cover := Coverage{Queries: "q", Count: 1, Metric: c.metric.String(), K: c.k, Method: batch.BanditMIPS, Shards: []Shard{{strconv.Itoa(s), rows}}}
		c.files, c.offsets = append(c.files, covering(cover, r)), append(c.offsets, first)
		first += rows
	}
	var all []int
	for v := range c.scores {
		if c.reaches(c.scores[v], floor) {
			all = append(all, v)
		}
	}
	c.owned = all
	return c
}

func (c *mergeCase) reaches(score, floor float64) bool {
	if c.metric == collection.Euclidean {
		return score <= 2-floor
	}
	return score >= floor
}

// best is the answer of a search of some of the vectors.
func (c *mergeCase) best(own []int) dataset.Result {
	own = slices.Clone(own)
	slices.SortStableFunc(own, func(a, b int) int {
		less := c.scores[a] < c.scores[b]
		if c.scores[a] == c.scores[b] {
			return a - b
		}
		if less == (c.metric == collection.Euclidean) {
			return -1
		}
		return 1
	})
	if c.k > 0 {
		own = own[:min(len(own), c.k)]
	}
	var r dataset.Result
	for _, v := range own {
		r.Rows, r.IDs = append(r.Rows, int64(v)), append(r.IDs, fmt.Sprint(v))
		r.Scores, r.Scores64 = append(r.Scores, float32(c.scores[v])), append(r.Scores64, c.scores[v])
	}
	return r
}

// TestMergeProperty: whatever the shards, answers merged all at once, in any order, and in several steps are the
// same, and are the best of all vectors.
func TestMergeProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := drawMerge(r)
		whole := c.best(c.owned)
		one := func(o *MergeOptions, files ...[]dataset.Result) []dataset.Result {
			out, _, err := mergeAll(t, o, files...)
			if err != nil {
				r.Fatal(err)
			}
			return out
		}
		flat := one(nil, c.files...)
		if !slices.Equal(flat[0].IDs, whole.IDs) || !slices.Equal(flat[0].Scores64, whole.Scores64) || !slices.Equal(flat[0].Scores, whole.Scores) {
			r.Fatalf("merged %+v\nwhole %+v", flat[0], whole)
		}
		placed := one(&MergeOptions{Offsets: c.offsets}, c.files...)
		if !slices.Equal(placed[0].Rows, whole.Rows) || !slices.Equal(placed[0].IDs, whole.IDs) {
			r.Fatalf("with offsets %+v\nwhole %+v", placed[0], whole)
		}
		left := slices.Clone(c.files)
		for len(left) > 1 {
			i := rapid.IntRange(0, len(left)-1).Draw(r, "a")
			a := left[i]
			left = slices.Delete(left, i, i+1)
			j := rapid.IntRange(0, len(left)-1).Draw(r, "b")
			left[j] = one(nil, a, left[j])
		}
		if d := diff.Diff(one(nil, flat), one(nil, left[0])); d != "" {
			r.Fatalf("in steps (-at once +in steps):\n%s", d)
		}
	})
}

// TestMergeIsTheWholeSearch: answers over three shards, merged, are those of one search of all vectors,
// bit for bit, by exact and certain and by every metric.
func TestMergeIsTheWholeSearch(t *testing.T) {
	const n, m, dim, k = 900, 12, 24, 10
	r := draws.Rand(71)
	rows := vectors.Ties(r, n, dim)
	copy(rows[n/2*dim:], vectors.Embeddings(r, n/2, dim))
	queries := slices.Concat(rows[:2*dim], vectors.Embeddings(r, m-2, dim))
	search := func(rows []float32, metric collection.Metric, method batch.Method) []batch.Answer {
		c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: metric, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		e, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		resp, err := e.Search(t.Context(), batch.Request{Queries: queries, K: k, Method: method, SearchScores: true})
		if err != nil {
			t.Fatal(err)
		}
		return resp.Answers
	}
	cuts := []int{0, 7, n / 3, n}
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		for _, method := range []batch.Method{batch.Exact, batch.Certain} {
			results := func(answers []batch.Answer) []dataset.Result {
				all := make([]dataset.Result, m)
				for j := range answers {
					a := &answers[j]
					all[j] = dataset.Result{Query: int64(j), Rows: a.IDs, Scores: a.Scores, Guarantee: string(a.Certificate.Guarantee), Exact: a.Certificate.Exact, Pulls: a.Certificate.Pulls}
					for _, s := range a.SearchScores {
						all[j].Scores64 = append(all[j].Scores64, metric.Shown(s))
					}
				}
				return all
			}
			var files [][]dataset.Result
			for i, from := range cuts[:3] {
				cover := Coverage{Queries: "q", Count: m, Metric: metric.String(), K: k, Method: method, Shards: []Shard{{fmt.Sprint(i), 1}}}
				files = append(files, covering(cover, results(search(rows[from*dim:cuts[i+1]*dim], metric, method))...))
			}
			got, _, err := mergeAll(t, &MergeOptions{Offsets: []int64{0, 7, n / 3}}, files...)
			if err != nil {
				t.Fatal(err)
			}
			for j, want := range results(search(rows, metric, method)) {
				if !slices.Equal(got[j].Rows, want.Rows) || !slices.Equal(got[j].Scores64, want.Scores64) || !slices.Equal(got[j].Scores, want.Scores) {
					t.Errorf("%v %s, query %d:\n%v %v\n%v %v", metric, method, j, got[j].Rows, got[j].Scores64, want.Rows, want.Scores64)
				}
			}
		}
	}
}

// BenchmarkMerge merges the 100 best of 8 shards.
func BenchmarkMerge(b *testing.B) {
	const m, k, shards = 64, 100, 8
	r := draws.Rand(73)
	files := make([][]dataset.Result, shards)
	for s := range files {
		for q := range m {
			a := dataset.Result{Query: int64(q), Guarantee: "exact", Exact: true}
			for i := range k {
				a.IDs = append(a.IDs, strconv.Itoa(s*k+i))
				a.Scores64 = append(a.Scores64, r.Float64())
				a.Scores = append(a.Scores, 0)
			}
			slices.SortFunc(a.Scores64, func(x, y float64) int { return cmp.Compare(y, x) })
			files[s] = append(files[s], a)
		}
		c := Coverage{Queries: "q", Count: m, Metric: "ip", K: k, Method: batch.Exact, Shards: []Shard{{strconv.Itoa(s), k}}}
		covering(c, files[s]...)
	}
	b.ReportAllocs()
	for b.Loop() {
		var in []MergeFile
		for s := range files {
			in = append(in, MergeFile{strconv.Itoa(s), &answersOf{all: files[s]}})
		}
		if _, err := Merge(b.Context(), in, nil, func(*dataset.Result) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/m, "ns/query")
}
