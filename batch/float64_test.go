package batch_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/draws"
	"thresher/simd"
	"thresher/verify"
)

// float64Scores are the canonical search scores of rows of float64 for a query, by portable code.
func float64Scores(m collection.Metric, rows, q []float64, dim int) []float64 {
	scores := make([]float64, len(rows)/dim)
	for i := range scores {
		row, one := rows[i*dim:(i+1)*dim], scores[i:i+1]
		switch m {
		case collection.Euclidean:
			simd.SquaredDistances64(one, row, dim, []uint32{0}, q)
			scores[i] = 0 - scores[i]/2
		case collection.Cosine:
			simd.Dots64(one, row, dim, []uint32{0}, q)
			scores[i] = collection.CosineOf(scores[i], simd.SumSquares64(row), simd.SumSquares64(q))
		default:
			simd.Dots64(one, row, dim, []uint32{0}, q)
		}
	}
	return scores
}

// float64Rows draws rows at an offset, many of which float32 cannot tell from each other.
func float64Rows(rt *rapid.T, n, dim int) []float64 {
	r := draws.Rand(rapid.Uint64().Draw(rt, "rows"))
	offset := rapid.SampledFrom([]float64{0, 0, 3, 1e6, -1e9}).Draw(rt, "offset")
	spread := rapid.SampledFrom([]float64{1, 1e-3, 1e4}).Draw(rt, "spread")
	near := rapid.SampledFrom([]float64{0, 1e-9, 1e-6}).Draw(rt, "near")
	rows := make([]float64, n*dim)
	for i := range rows {
		rows[i] = offset + spread*r.NormFloat64()
	}
	for i := range n {
		if r.IntN(2) == 0 { // nearly an earlier one
			copy(rows[i*dim:(i+1)*dim], rows[r.IntN(i+1)*dim:])
			for j := range dim {
				rows[i*dim+j] += spread * near * r.NormFloat64()
			}
		}
	}
	return rows
}

// TestFloat64Rows: answers over rows kept as float64 are, bit for bit and in their order, those of all scores of the
// values given, whatever the offset of the rows and however little they differ, by every method, metric and basis,
// with filters, floors and ceilings, in memory and from a file; and verify finds nothing wrong with them.
func TestFloat64Rows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, dim := rapid.IntRange(1, 600).Draw(rt, "n"), rapid.SampledFrom([]int{3, 19, 130, 260}).Draw(rt, "dim")
		rows := float64Rows(rt, n, dim)
		r := draws.Rand(rapid.Uint64().Draw(rt, "queries"))
		m := rapid.SampledFrom([]int{1, 3, 20}).Draw(rt, "m")
		queries := make([]float64, 0, m*dim)
		for range m {
			queries = append(queries, rows[r.IntN(n)*dim:][:dim]...)
		}
		for j := 0; j < m && rapid.Bool().Draw(rt, "other queries"); j += 2 {
			for i := range dim {
				queries[j*dim+i] += 1e-7 * r.NormFloat64()
			}
		}
		o := collection.Options{Elem: dataset.ElemFloat64, Seed: 3,
			Metric:  rapid.SampledFrom([]collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean}).Draw(rt, "metric"),
			Basis:   rapid.SampledFrom([]collection.Basis{collection.Rotated, collection.Rotated, collection.Raw}).Draw(rt, "basis"),
			NoCodes: rapid.SampledFrom([]bool{false, false, true}).Draw(rt, "no codes")}
		v, err := dataset.VectorsOf(rows, dim)
		if err != nil {
			rt.Fatal(err)
		}
		c, err := collection.BuildVectors(t.Context(), v, &o)
		if err != nil {
			rt.Fatal(err)
		}
		if rapid.SampledFrom([]bool{true, false, false, false}).Draw(rt, "file") {
			path := filepath.Join(t.TempDir(), "rows.thresher")
			if c, err = collection.Create(t.Context(), path, v.Reader(), false, &o); err != nil {
				rt.Fatal(err)
			}
			defer c.Close()
		}
		if !c.Float64() {
			rt.Fatalf("kept as %v", c.Elem())
		}
		req := batch.Request{Queries64: queries, K: rapid.IntRange(1, n).Draw(rt, "k"), Delta: 1e-9, SearchScores: true,
			Method: rapid.SampledFrom([]batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive, batch.Strict}).Draw(rt, "method")}
		if rapid.Bool().Draw(rt, "filtered") {
			for i := range n {
				if i%3 != 1 || n == 1 {
					req.Filter = append(req.Filter, int64(i))
				}
			}
		}
		limits := float64Scores(o.Metric, rows, queries[:dim], dim)
		limit := o.Metric.Shown(limits[r.IntN(n)])
		switch rapid.SampledFrom([]string{"", "", "floor", "ceiling"}).Draw(rt, "limit") {
		case "floor":
			req.MinScore = &limit
		case "ceiling":
			req.MaxScore = &limit
		}
		e := over(t, c, rapid.SampledFrom([]int{1, 2}).Draw(rt, "threads"), nil)
		resp, err := e.Search(t.Context(), req)
		if err != nil {
			var wrong *batch.RequestError
			if errors.As(err, &wrong) && (wrong.Field == "method" || wrong.Field == "min_score") {
				return // which this basis, or this method, does not have
			}
			rt.Fatal(err)
		}
		for j, a := range resp.Answers {
			checkFloat64(rt, o.Metric, rows, queries[j*dim:(j+1)*dim], &req, &a)
		}
		oracle, err := verify.NewOracleOf(c, 1)
		if err != nil {
			rt.Fatal(err)
		}
		report, err := verify.Response(t.Context(), oracle, req, resp)
		if err != nil {
			rt.Fatal(err)
		}
		for j, f := range report.Findings {
			if f.Malformed != "" || f.Wrong() {
				rt.Fatalf("query %d: verify finds %+v", j, f)
			}
		}
	})
}

// checkFloat64 fails unless an answer lists the best rows by their canonical scores.
func checkFloat64(rt *rapid.T, m collection.Metric, rows, q []float64, req *batch.Request, a *batch.Answer) {
	scores := float64Scores(m, rows, q, len(q))
	floor, ceiling := math.Inf(-1), math.Inf(1)
	if req.MinScore != nil {
		floor = m.Floor(*req.MinScore)
	}
	if req.MaxScore != nil {
		ceiling = m.Ceiling(*req.MaxScore)
	}
	var want []int64
	for i, s := range scores {
		if s >= floor && s <= ceiling && (req.Filter == nil || slices.Contains(req.Filter, int64(i))) {
			want = append(want, int64(i))
		}
	}
	slices.SortStableFunc(want, func(x, y int64) int {
		switch {
		case scores[x] > scores[y]:
			return -1
		case scores[x] < scores[y]:
			return 1
		}
		return 0
	})
	want = want[:min(len(want), req.K)]
	if !slices.Equal(a.IDs, want) {
		rt.Fatalf("%v, want %v (%s)", a.IDs, want, a.Certificate.Plan)
	}
	for k, id := range want {
		if a.SearchScores[k] != scores[id] {
			rt.Fatalf("row %d scores %x, want %x", id, a.SearchScores[k], scores[id])
		}
	}
	if a.Certificate.VectorsChange != 0 || a.Certificate.QueryChange != 0 {
		rt.Fatalf("nothing was changed, and the certificate says %g and %g", a.Certificate.VectorsChange, a.Certificate.QueryChange)
	}
}
