package thresher_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"thresher"
	"thresher/internal/vectors"
)

// part is an index over rows lo to hi, with texts or whole numbers as ids or, if ids is "", row numbers.
func part(t *testing.T, rows []float32, dim, lo, hi int, metric thresher.Metric, ids string) *thresher.Index {
	t.Helper()
	o := thresher.Options{Metric: metric, Threads: 1}
	var texts []string
	for i := lo; i < hi; i++ {
		texts = append(texts, ids+strconv.Itoa(1000+i))
	}
	switch ids {
	case "":
	case "0": // ids of whole numbers are not padded
		for i := range texts {
			texts[i] = texts[i][1:]
		}
		fallthrough
	default:
		o.IDs = thresher.IDsOf(texts)
	}
	x, err := thresher.New(t.Context(), rows[lo*dim:hi*dim], dim, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// covered searches and states what the answers are for.
func covered(t *testing.T, x *thresher.Index, req thresher.Request) *thresher.Response {
	t.Helper()
	r, err := x.Search(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if r.Covers, err = x.Covers(req); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMerge: responses over parts, merged in any order and in steps, are those of one search, with ids and without.
func TestMerge(t *testing.T) {
	const n, m, dim, k = 90, 6, 4, 5
	rows, queries := vectors.Ties(vectors.Rand(3), n, dim), vectors.Ties(vectors.Rand(4), m, dim)
	req := thresher.Request{Queries: queries, K: k, Method: thresher.Certain}
	for _, ids := range []string{"n", "0", ""} {
		whole := covered(t, part(t, rows, dim, 0, n, thresher.Euclidean, ids), req)
		var parts []*thresher.Response
		for _, cut := range [][2]int{{40, n}, {0, 3}, {3, 40}} {
			parts = append(parts, covered(t, part(t, rows, dim, cut[0], cut[1], thresher.Euclidean, ids), req))
		}
		var o *thresher.MergeOptions
		if ids == "" {
			if _, err := thresher.Merge(t.Context(), parts, nil); err == nil || !strings.Contains(err.Error(), "response 0 has row numbers alone") {
				t.Errorf("without offsets: %v", err)
			}
			o = &thresher.MergeOptions{Offsets: []int64{40, 0, 3}}
		}
		merged, err := thresher.Merge(t.Context(), parts, o)
		if err != nil {
			t.Fatal(err)
		}
		if ids != "" {
			two, err := thresher.Merge(t.Context(), parts[1:], nil)
			if err != nil {
				t.Fatal(err)
			}
			if merged, err = thresher.Merge(t.Context(), []*thresher.Response{two, parts[0]}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if len(merged.Covers.Shards) != 3 || merged.Covers.Queries != whole.Covers.Queries || merged.Stats.Pulls == 0 || !merged.Complete() {
			t.Errorf("%q: %+v", ids, merged.Covers)
		}
		for j := range whole.Answers {
			w, g := &whole.Answers[j], &merged.Answers[j]
			if !slices.Equal(w.IDs, g.IDs) || !slices.Equal(w.TextIDs, g.TextIDs) || !slices.Equal(w.Scores64, g.Scores64) || g.Certificate.Plan != "merged" {
				t.Errorf("%q, query %d: %+v, want %+v", ids, j, g, w)
			}
		}
	}
}

// TestMergeRefuses: responses that do not belong together are refused by name.
func TestMergeRefuses(t *testing.T) {
	const dim = 4
	rows, queries := vectors.Gaussian(vectors.Rand(5), 60, dim), vectors.Gaussian(vectors.Rand(6), 3, dim)
	req := thresher.Request{Queries: queries, K: 3}
	a, b := part(t, rows, dim, 0, 20, thresher.Cosine, "n"), part(t, rows, dim, 20, 60, thresher.Cosine, "n")
	first := covered(t, a, req)
	other, more, limited, own := req, req, req, req
	other.Queries = slices.Clone(queries)
	other.Queries[0]++
	more.K = 4
	least := -.5
	limited.MinScore = &least
	own.Goals = []thresher.QueryGoal{{K: 3}, {K: 2}, {MinScore: &least}}
	silent := covered(t, b, req)
	silent.Covers = nil
	for want, second := range map[string]*thresher.Response{
		"the digest of the queries differs":               covered(t, b, other),
		"k differs, 3 and 4":                              covered(t, b, more),
		"least or greatest scores or exclusions differ":   covered(t, b, limited),
		"the metric differs":                              covered(t, part(t, rows, dim, 20, 60, thresher.InnerProduct, "n"), req),
		"k differs, 3 and 3":                              covered(t, b, own),
		"both have answers over the same 20 vectors":      covered(t, a, req),
		"response 1 does not state which queries, vector": silent,
	} {
		if _, err := thresher.Merge(t.Context(), []*thresher.Response{first, second}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := thresher.Merge(t.Context(), []*thresher.Response{first, silent}, &thresher.MergeOptions{Unchecked: true}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := thresher.Merge(ctx, []*thresher.Response{first, covered(t, b, req)}, nil); err == nil {
		t.Error("merged after the context ended")
	}
	some := req
	some.Filter, some.Exclude = []int64{1, 2, 3}, []int64{3}
	c, err := a.Covers(some)
	if err != nil || c.Shards[0].Rows != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := a.Covers(thresher.Request{Queries: queries[:3], K: 1}); err == nil {
		t.Error("covers three values")
	}
}

// TestMergeKinds: ids of numbers and of texts together are texts in all answers, also in those of numbers alone; and
// all vectors that reach a score are merged.
func TestMergeKinds(t *testing.T) {
	const n, m, dim = 60, 8, 4
	rows, queries := vectors.Ties(vectors.Rand(3), n, dim), vectors.Ties(vectors.Rand(4), m, dim)
	least := .25
	for _, req := range []thresher.Request{
		{Queries: queries, K: 1, Method: thresher.Exact},
		{Queries: queries, MinScore: &least, Method: thresher.Exact},
	} {
		parts := []*thresher.Response{
			covered(t, part(t, rows, dim, 0, 30, thresher.InnerProduct, "0"), req),
			covered(t, part(t, rows, dim, 30, n, thresher.InnerProduct, "n"), req),
		}
		merged, err := thresher.Merge(t.Context(), parts, nil)
		if err != nil {
			t.Fatal(err)
		}
		numbers, found := 0, 0
		for i := range merged.Answers {
			a := &merged.Answers[i]
			if a.IDs != nil || len(a.TextIDs) != len(a.Scores64) {
				t.Errorf("query %d: ids %v and %q of %d scores", i, a.IDs, a.TextIDs, len(a.Scores64))
			}
			if !slices.ContainsFunc(a.TextIDs, func(id string) bool { return id[0] == 'n' }) {
				numbers++
			}
			found += len(a.TextIDs)
		}
		if req.K > 0 && numbers == 0 {
			t.Error("no answer has numbers alone")
		}
		if want := count(parts); req.K == 0 && (found == 0 || found != want) {
			t.Errorf("%d vectors reach the score, want %d", found, want)
		}
	}
}

// count is how many vectors responses have.
func count(responses []*thresher.Response) (n int) {
	for _, r := range responses {
		for i := range r.Answers {
			n += len(r.Answers[i].Scores64)
		}
	}
	return n
}
