//go:build unix

package worker

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// doubles is an array of rows of float64.
func doubles(name string, dim int64, rows []float64) sent {
	return sent{name, float64s, []int64{int64(len(rows)) / dim, dim}, bytesOf(rows)}
}

// TestFloat64 keeps vectors around a million, whose differences float32 does not hold, as float64: every operation finds
// the neighbours by the values given, also of a file that was saved, and after vectors were added and removed.
func TestFloat64(t *testing.T) {
	const n, dim, m, k = 400, 40, 5, 6
	r := rand.New(rand.NewPCG(1, 64))
	rows := make([]float64, n*dim)
	for i := range rows {
		rows[i] = 1e6 + 1e-3*r.NormFloat64()
	}
	queries := slices.Clone(rows[:m*dim])
	for i := range queries {
		queries[i] += 2e-4
	}
	want := make([]int64, 0, m*k)
	all := make([]int64, n)
	for q := range slices.Chunk(queries, dim) {
		far := make([]float64, n)
		for i := range far {
			all[i] = int64(i)
			for j, x := range rows[i*dim:][:dim] {
				far[i] += (q[j] - x) * (q[j] - x)
			}
		}
		slices.SortFunc(all, func(a, b int64) int {
			if far[a] < far[b] {
				return -1
			}
			return 1
		})
		want = append(want, all[:k]...)
	}
	c := newClient(t, testOptions(t))
	asked := doubles("queries", dim, queries)
	rowsOf := func(r *received) []int64 { return elements[int64](r.bytes["rows"]) }
	var built, more, fewer, opened about
	c.must(&built, "build", object{"metric": "l2"}, doubles("vectors", dim, rows[:(n-10)*dim]))
	c.must(&more, "add", object{"handle": built.Handle}, doubles("vectors", dim, rows[(n-10)*dim:]))
	c.must(&fewer, "remove", object{"handle": more.Handle}, integers("rows", int64(n-1)))
	path := filepath.Join(t.TempDir(), "far.thresher")
	c.must(nil, "save", object{"handle": more.Handle, "path": path})
	if got := c.must(&opened, "open", object{"path": path}); got.bytes["origin"] != nil {
		t.Error("queries of float64 are to be taken relative to an origin")
	}
	if fewer.N != n-1 || more.N != n || opened.DType != more.DType || more.DType.String() != "float64" || more.Rounded != nil {
		t.Errorf("%+v, %+v, %+v", more, fewer, opened)
	}
	for _, x := range []about{more, opened} {
		found := c.must(nil, "search", object{"handle": x.Handle, "k": k, "method": "certain"}, asked)
		if got := rowsOf(found); !slices.Equal(got, want) {
			t.Errorf("search: %v, want %v", got, want)
		}
		var verified struct {
			Report struct {
				Wrong   int  `json:"wrong"`
				AsGiven bool `json:"as_given"`
			} `json:"report"`
		}
		c.must(&verified, "verify", object{"handle": x.Handle, "k": k}, asked, sent{"rows", int64s, []int64{m, k}, found.bytes["rows"]},
			sent{"scores64", float64s, []int64{m, k}, found.bytes["scores64"]}, sent{"certificates", certificates, []int64{m}, found.bytes["certificates"]})
		if verified.Report.Wrong != 0 {
			t.Errorf("verify: %+v", verified)
		}
		var measured struct {
			Report struct {
				Recall float64 `json:"recall"`
			} `json:"report"`
		}
		c.must(&measured, "recall", object{"handle": x.Handle}, asked, sent{"answers", int64s, []int64{m, k}, found.bytes["rows"]})
		if measured.Report.Recall != 1 {
			t.Errorf("recall: %+v", measured)
		}
		bad := slices.Clone(want)
		bad[0] = all[n-1]
		proven := c.must(nil, "certify", object{"handle": x.Handle}, asked, sent{"answers", int64s, []int64{m, k}, bytesOf(bad)})
		if got := rowsOf(proven); !slices.Equal(got, want) {
			t.Errorf("certify: %v, want %v", got, want)
		}
		graph := c.must(nil, "graph", object{"handle": x.Handle, "k": 3})
		score := elements[float64](graph.bytes["scores64"])[0]
		pairs := c.must(nil, "pairs", object{"handle": x.Handle, "min_score": score}, doubles("others", dim, rows[:dim]))
		if got := elements[int64](pairs.bytes["a"]); len(got) != 2 || got[0] != 0 && got[1] != 0 {
			t.Errorf("pairs of row 0 up to its nearest: %v", got)
		}
		reached := c.must(nil, "range", object{"handle": x.Handle, "min_score": score, "self_first": 0}, doubles("queries", dim, rows[:dim]))
		if got := rowsOf(reached); len(got) != 1 || got[0] != elements[int64](graph.bytes["rows"])[0] {
			t.Errorf("range: %v, want the nearest of the graph", got)
		}
		e := c.call("range", object{"handle": x.Handle, "min_score": score, "self_first": 0}, asked).Error
		if e == nil || e.Argument != "self_first" {
			t.Errorf("queries that are not the vectors: %+v", e)
		}
		// The best vector of the first query is deleted, and written again behind the others; rows move up and back in the answers.
		best := want[0]
		var now about
		c.must(&now, "delete", object{"handle": x.Handle}, integers("rows", best))
		if now.N != n-1 || now.DType.String() != "float64" {
			t.Errorf("after delete: %+v", now)
		}
		c.must(&now, "upsert", object{"handle": x.Handle}, doubles("vectors", dim, rows[best*dim:(best+1)*dim]), integers("rows", n-1))
		moved := slices.Clone(want)
		for i, row := range moved {
			if row == best {
				moved[i] = n - 1
			} else if row > best {
				moved[i]--
			}
		}
		if now.N != n || now.DType.String() != "float64" || now.Rounded != nil {
			t.Errorf("after upsert: %+v", now)
		}
		if got := rowsOf(c.must(nil, "search", object{"handle": x.Handle, "k": k, "method": "certain"}, asked)); !slices.Equal(got, moved) {
			t.Errorf("search after changes: %v, want %v", got, moved)
		}
	}
	once := c.must(nil, "knn", object{"metric": "l2", "k": k}, doubles("vectors", dim, rows), asked)
	if got := rowsOf(once); !slices.Equal(got, want) {
		t.Errorf("knn: %v, want %v", got, want)
	}
	narrow := floats("vectors", 2, dim, make([]float32, 2*dim))
	var rounded about
	c.must(&rounded, "build", object{"metric": "l2"}, narrow)
	if e := c.call("add", object{"handle": rounded.Handle}, doubles("vectors", dim, queries[:dim])).Error; e == nil || !strings.Contains(e.Message, "is none of float32") {
		t.Errorf("adding what would be rounded: %+v", e)
	}
	if e := c.call("search", object{"handle": rounded.Handle, "k": 1}, asked).Error; e == nil || e.Argument != "queries" || !strings.Contains(e.Message, "<f4 is wanted") {
		t.Errorf("queries that would be rounded: %+v", e)
	}
}
