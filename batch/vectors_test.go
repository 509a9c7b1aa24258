package batch_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/draws"
	"thresher/internal/vectors"
)

// narrowElems are the types of rows that float32 holds, but float32.
var narrowElems = []dataset.Elem{dataset.ElemFloat16, dataset.ElemBFloat16, dataset.ElemInt8, dataset.ElemUint8}

// round replaces values, most of them within -4 and 4, by values that a type holds.
func round(values []float32, e dataset.Elem) {
	for i, x := range values {
		switch e {
		case dataset.ElemBFloat16:
			x = math.Float32frombits(math.Float32bits(x) &^ 0xffff)
		case dataset.ElemFloat16:
			x = float32(math.Round(float64(max(-7, min(x, 7)))*128) / 128)
		case dataset.ElemInt8:
			x = float32(math.Round(float64(max(-127, min(x*30, 127)))))
		case dataset.ElemUint8:
			x = float32(math.Round(math.Abs(float64(max(-255, min(x*60, 255))))))
		}
		values[i] = x
	}
}

// typed returns values as vectors of a type, which holds them.
func typed(t testing.TB, values []float32, dim int, e dataset.Elem) dataset.Vectors {
	t.Helper()
	data := make([]byte, len(values)*e.Size()+8)
	data = data[:len(values)*e.Size()]
	if bad := e.Encode(data, values); bad >= 0 {
		t.Fatalf("%v does not hold %v", e, values[bad])
	}
	v, err := dataset.NewVectors(e, dim, data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sameAnswers fails unless both engines answer alike, bit for bit.
func sameAnswers(t testing.TB, what string, narrow, floats *batch.Engine, req batch.Request) {
	t.Helper()
	got, err := narrow.Search(t.Context(), req)
	want, wantErr := floats.Search(t.Context(), req)
	if err != nil || wantErr != nil {
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%s: %v, of float32 %v", what, err, wantErr)
		}
		return
	}
	for j, a := range got.Answers {
		b := want.Answers[j]
		if !slices.Equal(a.IDs, b.IDs) || !slices.Equal(a.Scores, b.Scores) || !slices.Equal(a.SearchScores, b.SearchScores) {
			t.Fatalf("%s, query %d: %v %v, of float32 %v %v", what, j, a.IDs, a.SearchScores, b.IDs, b.SearchScores)
		}
		if a.Certificate.Plan != b.Certificate.Plan || a.Certificate.Exact != b.Certificate.Exact {
			t.Fatalf("%s, query %d: plan %s, of float32 %s", what, j, a.Certificate.Plan, b.Certificate.Plan)
		}
	}
}

// TestNarrowRows: rows of each type that float32 holds have the answers of float32 rows of the same values, bit
// for bit, by every method, metric and basis, with filters, floors and exclusions, in memory and from a file.
func TestNarrowRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := rapid.SampledFrom(narrowElems).Draw(rt, "elem")
		n, dim := rapid.IntRange(1, 700).Draw(rt, "n"), rapid.SampledFrom([]int{3, 19, 130, 260}).Draw(rt, "dim")
		r := draws.Rand(rapid.Uint64().Draw(rt, "rows"))
		rows := vectors.PowerLaw(r, n, dim)
		if far := rapid.SampledFrom([]float32{0, 0, 2}).Draw(rt, "offset"); far > 0 {
			for i := range rows {
				rows[i] = rows[i]/8 + far
			}
		}
		round(rows, e)
		m := rapid.SampledFrom([]int{1, 3, 20, 70}).Draw(rt, "m")
		queries := vectors.PowerLaw(r, m, dim)
		for j := 0; j < m && rapid.Bool().Draw(rt, "rows as queries"); j += 2 {
			copy(queries[j*dim:(j+1)*dim], rows[j%n*dim:])
		}
		o := collection.Options{
			Metric:  rapid.SampledFrom([]collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean}).Draw(rt, "metric"),
			Basis:   rapid.SampledFrom([]collection.Basis{collection.Rotated, collection.Rotated, collection.Raw}).Draw(rt, "basis"),
			NoCodes: rapid.SampledFrom([]bool{false, false, true}).Draw(rt, "no codes"), Seed: 3,
		}
		req := batch.Request{Queries: queries, K: rapid.IntRange(1, n+1).Draw(rt, "k"), Delta: .01, SearchScores: true,
			Method: rapid.SampledFrom([]batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive, batch.Strict, batch.BanditMIPS, batch.BoundedME}).Draw(rt, "method")}
		if req.Method == batch.BanditMIPS || req.Method == batch.BoundedME {
			req.Queries, o.Basis = queries[:dim], collection.Raw // they are slow
		}
		if rapid.Bool().Draw(rt, "filtered") {
			for i := range n {
				if i%3 != 1 {
					req.Filter = append(req.Filter, int64(i))
				}
			}
		}
		if rapid.Bool().Draw(rt, "floor") {
			least := float64(r.NormFloat64())
			if o.Metric == collection.Euclidean {
				least = 10 * math.Abs(least)
			}
			req.MinScore = &least
		}
		v := typed(t, rows, dim, e)
		floats := open(t, rows, dim, &o, 2)
		c, err := collection.BuildVectors(t.Context(), v, &o)
		if err != nil {
			rt.Fatal(err)
		}
		sameAnswers(t, "in memory", over(t, c, 2, nil), floats, req)
		if !rapid.SampledFrom([]bool{true, false, false, false}).Draw(rt, "file") {
			return
		}
		path := filepath.Join(t.TempDir(), "rows.thresher")
		if c, err = collection.Create(t.Context(), path, v.Reader(), false, &o); err != nil {
			rt.Fatal(err)
		}
		if c.Elem() != e {
			rt.Fatalf("a file of %v has %v", e, c.Elem())
		}
		file, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{Threads: 1}), nil)
		if err != nil {
			rt.Fatal(err)
		}
		sameAnswers(t, "file", file, floats, req)
		if err := file.Close(); err != nil {
			rt.Fatal(err)
		}
		if err := c.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}
