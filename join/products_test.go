package join_test

import (
	"math"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/vectors"
	"thresher/join"
)

// TestProducts compares scans of groups, most of whose pairs are compared in float32 alone, with the scores of all pairs:
// of rows that nearly tie, of norms that differ widely, of copies, and of values whose products underflow or overflow.
func TestProducts(t *testing.T) {
	const size, queried, groups = 90, 11, 2
	for _, c := range []struct {
		name   string
		dim    int
		change func(row int, of []float32)
	}{
		{"normal", 33, func(int, []float32) {}},
		{"near", 70, func(row int, of []float32) { // ties but for the last bits
			for d := range of {
				of[d] = 1 + of[d]*0x1p-22
			}
		}},
		{"copies", 24, func(row int, of []float32) {
			for d := range of {
				of[d] = float32(math.Round(float64(of[d])))
			}
		}},
		{"norms", 40, func(row int, of []float32) {
			scale := float32(math.Ldexp(1, row%60-30))
			for d := range of {
				of[d] *= scale
			}
		}},
		{"far", 16, func(row int, of []float32) {
			for d := range of {
				of[d] += 5000
			}
		}},
		{"tiny", 16, func(row int, of []float32) {
			for d := range of {
				of[d] *= 0x1p-130
			}
		}},
		{"huge", 16, func(row int, of []float32) {
			for d := range of {
				of[d] *= 0x1p+50
			}
		}},
		{"zeros", 17, func(row int, of []float32) {
			if row%3 == 0 {
				clear(of)
			}
		}},
		{"wide", 1100, func(int, []float32) {}},
	} {
		for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
			for name, req := range map[string]batch.Request{
				"k": {K: 7}, "floor": {MinScore: floorOf(metric, c.name)}, "k and floor": {K: 3, MinScore: floorOf(metric, c.name)},
				"large k": {K: 80}, "ceiling": {K: 3, MaxScore: floorOf(metric, c.name)},
			} {
				t.Run(c.name+" "+metric.String()+" "+name, func(t *testing.T) {
					rows, queries := vectors.Gaussian(vectors.Rand(5), groups*size, c.dim), vectors.Gaussian(vectors.Rand(6), groups*queried, c.dim)
					for _, of := range [][]float32{rows, queries} {
						for i := range len(of) / c.dim {
							c.change(i, of[i*c.dim:][:c.dim])
						}
					}
					right, left := make([]int32, groups*size), make([]int32, groups*queried)
					for i := range right {
						right[i] = int32(i % groups)
					}
					for j := range left {
						left[j] = int32(j % groups)
					}
					plain, err := collection.Build(t.Context(), slices.Clone(rows), c.dim, &collection.Options{Metric: metric, NoCodes: true})
					if err != nil {
						t.Fatal(err)
					}
					defer plain.Close()
					r := openRight(t, given(t, rows, c.dim, dataset.ElemFloat32), metric, join.RightOptions{Groups: right, Request: req})
					r.ScanAll(true)
					got, err := r.Match(t.Context(), join.LeftRows{Queries: queries, Groups: left})
					if err != nil {
						t.Fatal(err)
					}
					for j := range left {
						wantRows, wantScores := wanted(plain, queries[j*c.dim:][:c.dim], left[j], right, &req)
						lo, hi := got.Lims[j], got.Lims[j+1]
						if !slices.Equal(got.Rows[lo:hi], wantRows) || !slices.Equal(got.Scores[lo:hi], wantScores) {
							t.Fatalf("row %d found\n%v\n%v\nand not\n%v\n%v", j, got.Rows[lo:hi], got.Scores[lo:hi], wantRows, wantScores)
						}
					}
				})
			}
		}
	}
}

// floorOf is a limit that some pairs of the test reach.
func floorOf(metric collection.Metric, rows string) *float64 {
	limit := map[collection.Metric]float64{collection.InnerProduct: 2, collection.Cosine: .2, collection.Euclidean: 50}[metric]
	if rows == "near" && metric == collection.Cosine {
		limit = 1 - 0x1p-42
	}
	return &limit
}
