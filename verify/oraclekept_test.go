package verify

import (
	"slices"
	"testing"

	"thresher/collection"
	"thresher/dataset"
)

// TestOracleOfBytes: the scores of vectors of uint8 are those of float32 vectors of the same values.
func TestOracleOfBytes(t *testing.T) {
	data := []uint8{0, 1, 2, 255, 254, 3, 9, 9, 9, 100, 0, 0}
	rows := make([]float32, len(data))
	for i, x := range data {
		rows[i] = float32(x)
	}
	queries := []float32{1, 2, 3, -1, .5, 7}
	v, err := dataset.VectorsOf(data, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		c, err := collection.BuildVectors(t.Context(), v, &collection.Options{Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		kept, err := NewOracleOf(c, 2)
		if err != nil {
			t.Fatal(err)
		}
		lazy, err := NewLazyOracleOf(c)
		if err != nil {
			t.Fatal(err)
		}
		want := make([][]float64, 2)
		if err := oracle(t, rows, 3, metric, 2).Each(t.Context(), queries, func(j int, s *Scores) { want[j] = slices.Clone(s.Search) }); err != nil {
			t.Fatal(err)
		}
		got := make([][]float64, 2)
		if err := kept.Each(t.Context(), queries, func(j int, s *Scores) { got[j] = slices.Clone(s.Search) }); err != nil {
			t.Fatal(err)
		}
		for j := range want {
			if !slices.Equal(got[j], want[j]) {
				t.Errorf("%v, query %d: %v, want %v", metric, j, got[j], want[j])
			}
		}
		if a, b := lazy.length(1), kept.length(1); a != b || a == 0 {
			t.Errorf("%v: lengths %v and %v", metric, a, b)
		}
	}
}
