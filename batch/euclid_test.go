package batch_test

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
	"thresher/simd"
	"thresher/verify"
)

// nearest returns the row numbers by squared distance from q, as scored, then by number.
func nearest(c *collection.Collection, q []float32) []int64 {
	ids, far := make([]int64, c.N), make([]float64, c.N)
	for i := range ids {
		ids[i], far[i] = int64(i), -2*c.Score(q, i)
	}
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Or(cmp.Compare(far[a], far[b]), cmp.Compare(a, b)) })
	return ids
}

// distances returns the exact squared distances of all rows from q.
func distances(c *collection.Collection, q []float32) []*big.Float {
	exact := func() *big.Float { return new(big.Float).SetPrec(700) }
	all := make([]*big.Float, c.N)
	for i := range all {
		sum := exact()
		for j, v := range c.Row(i) {
			d := exact().Sub(exact().SetFloat64(float64(v)), exact().SetFloat64(float64(q[j])))
			sum.Add(sum, d.Mul(d, d))
		}
		all[i] = sum
	}
	return all
}

// promised checks the guarantee of docs/guarantee.md for an answer of k rows: no row is
// farther than the k-th nearest by more than the rounding of float64 sums.
func promised(c *collection.Collection, q []float32, k int, ids []int64) error {
	if len(ids) != k {
		return fmt.Errorf("%d rows where %d were asked for", len(ids), k)
	}
	far := distances(c, q)
	sorted := slices.SortedFunc(slices.Values(far), (*big.Float).Cmp)
	factor := big.NewFloat(1 + (float64(c.Dim)/16+24)*0x1p-53)
	most := new(big.Float).SetPrec(800).Mul(sorted[k-1], factor)
	for _, id := range ids {
		if far[id].Cmp(most) > 0 {
			return fmt.Errorf("row %d at squared distance %v, the k-th nearest at %v", id, far[id], sorted[k-1])
		}
	}
	return nil
}

// seconds returns n rows of dim features, the first of which is a time in seconds since 1970,
// and m similar queries.
func seconds(seed uint64, n, m, dim int) (rows, queries []float32) {
	r := vectors.Rand(seed)
	all := vectors.Gaussian(r, n+m, dim)
	for i := 0; i < len(all); i += dim {
		all[i] = float32(1.7e9 + math.Round(86400*7*r.Float64()))
	}
	return all[:n*dim], all[n*dim:]
}

// TestFarOffset: with a column of seconds since 1970, every method that guarantees it finds
// the nearest rows, with all kernels (with -short the best ones), and package verify agrees.
func TestFarOffset(t *testing.T) {
	const n, m, k = 700, 16, 10
	dims, least := []int{8, 24, 300}, simd.Kernels(0)
	if testing.Short() {
		dims, least = dims[:2], simd.Best()
	}
	for _, dim := range dims {
		rows, queries := seconds(uint64(dim), n, m, dim)
		for _, basis := range []collection.Basis{collection.Rotated, collection.Raw} {
			c := build(t, rows, dim, &collection.Options{Metric: collection.Euclidean, Basis: basis, Seed: 1})
			o, err := verify.NewOracle(rows, dim, c.Metric, 1)
			if err != nil {
				t.Fatal(err)
			}
			var want [][]int64
			for j := range m {
				q := queries[j*dim : (j+1)*dim]
				want = append(want, nearest(c, q)[:k])
				if err := promised(c, q, k, want[j]); err != nil {
					t.Fatalf("dimension %d, %v, query %d: %v", dim, basis, j, err)
				}
			}
			for kern := least; kern <= simd.Best(); kern++ {
				e, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{Threads: 2, Kernels: &kern}), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, method := range batch.Methods() {
					req := batch.Request{Queries: queries, K: k, Method: method, Delta: 1e-9}
					resp, err := e.Search(t.Context(), req)
					if err != nil {
						continue // TestMethodsAgainstOracle lists which methods a basis has
					}
					r, err := verify.Response(t.Context(), o, req, resp)
					if err != nil {
						t.Fatal(err)
					}
					if r.Malformed > 0 || r.WrongSure > 0 || r.Failures > 0 {
						t.Errorf("dimension %d, %v, %v, %s: %d malformed, %d wrong, %d failures: %+v", dim, basis, kern, method, r.Malformed, r.WrongSure, r.Failures, r.Findings)
					}
					if g := resp.Answers[0].Certificate.Guarantee; g == batch.GuaranteeHeuristic {
						continue
					}
					for j, a := range resp.Answers {
						if !slices.Equal(a.IDs, want[j]) {
							t.Errorf("dimension %d, %v, %v, %s, query %d: rows %v, want %v", dim, basis, kern, method, j, a.IDs, want[j])
						}
					}
				}
				e.Close()
			}
		}
	}
}

// TestDistancesAreThePromise draws data with large offsets, of many scales, with duplicates
// and ties. Exact and certain answers must be the nearest rows by exact distance, ordered by
// score, then row number.
func TestDistancesAreThePromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.SampledFrom([]int{3, 8, 15, 16, 24, 40, 100, 300}).Draw(t, "dim")
		n := rapid.IntRange(1, max(8, min(200, 6000/dim))).Draw(t, "n")
		k := rapid.IntRange(1, n).Draw(t, "k")
		far := rapid.SampledFrom([]float64{0, 0, 1, 1e3, 1e6, 1.7e9, 1e12}).Draw(t, "far")
		scale := math.Pow(10, float64(rapid.IntRange(-6, 6).Draw(t, "scale")))
		whole := rapid.Bool().Draw(t, "whole numbers")
		clusters := rapid.IntRange(1, 3).Draw(t, "clusters")
		basis := rapid.SampledFrom([]collection.Basis{collection.Rotated, collection.Rotated, collection.Raw}).Draw(t, "basis")
		kern := simd.Kernels(rapid.IntRange(0, int(simd.Best())).Draw(t, "kernels"))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		const m = 2
		centres, rows := make([]float64, clusters*dim), make([]float32, (n+m)*dim)
		for i := range centres {
			if r.IntN(3) == 0 {
				centres[i] = far * r.NormFloat64()
			}
		}
		for i := range n + m {
			if i > 0 && r.IntN(8) == 0 {
				copy(rows[i*dim:(i+1)*dim], rows[r.IntN(i)*dim:])
				continue
			}
			at := centres[r.IntN(clusters)*dim:]
			for j := range dim {
				v := scale * r.NormFloat64()
				if whole {
					v = scale * math.Round(v/scale)
				}
				rows[i*dim+j] = float32(at[j] + v)
			}
		}
		queries := rows[n*dim:]
		c, err := collection.Build(t.Context(), rows[:n*dim], dim, &collection.Options{Metric: collection.Euclidean, Basis: basis, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		e, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{Threads: 1, Kernels: &kern}), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		o, err := verify.NewOracle(c.Rows, dim, c.Metric, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []batch.Method{batch.Exact, batch.Certain} {
			// kernels for several queries differ from those for one
			for _, batches := range [][]float32{queries, slices.Concat(queries, queries)} {
				req := batch.Request{Queries: batches, K: k, Method: method}
				resp, err := e.Search(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				for j, a := range resp.Answers {
					q := batches[j*dim : (j+1)*dim]
					if err := promised(c, q, k, a.IDs); err != nil {
						t.Fatalf("%s, query %d: %v", method, j, err)
					}
					if want := nearest(c, q)[:k]; !slices.Equal(a.IDs, want) {
						t.Fatalf("%s, query %d: rows %v, want %v", method, j, a.IDs, want)
					}
				}
				report, err := verify.Response(t.Context(), o, req, resp)
				if err != nil {
					t.Fatal(err)
				}
				if report.Wrong > 0 || report.Malformed > 0 {
					t.Fatalf("%s: verify finds %+v", method, report)
				}
			}
		}
	})
}

// TestNoDistanceIsNegativeZero: the distance of an atom that equals the query is +0, because
// JSON would show the sign.
func TestNoDistanceIsNegativeZero(t *testing.T) {
	for _, basis := range []collection.Basis{collection.Rotated, collection.Raw} {
		rows := vectors.Gaussian(vectors.Rand(1), 100, 24)
		e := open(t, rows, 24, &collection.Options{Metric: collection.Euclidean, Basis: basis}, 1)
		for _, method := range []batch.Method{batch.Exact, batch.Certain} {
			a := search(t, e, batch.Request{Queries: rows[:24], K: 1, Method: method}).Answers[0]
			if a.Scores[0] != 0 || math.Signbit(float64(a.Scores[0])) {
				t.Errorf("%v, %s: distance %g", basis, method, a.Scores[0])
			}
		}
	}
}

// TestOffsetCostsNothing: looks keep no more arms if a common offset, which preserves all
// differences, is added to the atoms.
func TestOffsetCostsNothing(t *testing.T) {
	const n, dim, m = 4000, 128, 8
	rows := vectors.PowerLaw(vectors.Rand(3), n+m, dim)
	for i, v := range rows {
		rows[i] = float32(math.Round(float64(v)*1024) / 1024) // exact after the offset is added
	}
	var kept [2]int
	for k, offset := range []float32{0, 1 << 12} {
		far := slices.Clone(rows)
		for i := range far {
			far[i] += offset
		}
		e := open(t, far[:n*dim], dim, &collection.Options{Metric: collection.Euclidean, Seed: 2}, 2)
		for _, a := range search(t, e, batch.Request{Queries: far[n*dim:], K: 10, Plan: "64,rescore"}).Answers {
			kept[k] += a.Certificate.Looks[0].Survivors
		}
	}
	if kept[0] > n*m/4 || float64(kept[1]) > 1.1*float64(kept[0]) {
		t.Errorf("%d arms kept, %d with an offset, of %d", kept[0], kept[1], n*m)
	}
}

// TestFilesWithoutACentre: collections of old files, without a centre, answer by distances
// too. The file was built of rows like those of seconds.
func TestFilesWithoutACentre(t *testing.T) {
	for _, name := range []string{"l2-8.v5.gz", "l2-40.v5.gz"} {
		f, err := os.Open(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "old")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := collection.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if c.Centre != nil {
			t.Errorf("%s has a centre", name)
		}
		e := over(t, c, 1, nil)
		queries := slices.Clone(c.Rows[:6*c.Dim])
		for i := range queries {
			if i%c.Dim != 0 {
				queries[i] += .25
			}
		}
		for _, method := range []batch.Method{batch.Exact, batch.Certain, batch.Adaptive} {
			resp, err := e.Search(t.Context(), batch.Request{Queries: queries, K: 7, Method: method, Delta: 1e-9})
			if err != nil {
				if c.Coded() {
					t.Errorf("%s, %s: %v", name, method, err)
				}
				continue
			}
			for j, a := range resp.Answers {
				if want := nearest(c, queries[j*c.Dim:(j+1)*c.Dim])[:7]; !slices.Equal(a.IDs, want) {
					t.Errorf("%s, %s, query %d: rows %v, want %v", name, method, j, a.IDs, want)
				}
			}
		}
	}
}
