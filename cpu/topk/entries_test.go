package topk

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/simd"
)

// TestDropTies: of the entries of the least bound the first stay that are missing to k, the others and their order do
// not change.
func TestDropTies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := bounds().Draw(t, "bounds")
		tie, k := slices.Min(all), rapid.IntRange(1, len(all)+1).Draw(t, "k")
		room := k
		for _, b := range all {
			if b > tie {
				room--
			}
		}
		got, want := Entries{}, Entries{}
		got.Reserve(len(all)) // kernels write beyond the end
		for i, b := range all {
			got.IDs, got.Bounds = append(got.IDs, uint32(i)), append(got.Bounds, b)
			if b == tie && room <= 0 && len(all) > k {
				continue
			}
			if b == tie {
				room--
			}
			want.IDs, want.Bounds = append(want.IDs, uint32(i)), append(want.Bounds, b)
		}
		got.DropTies(rapid.SampledFrom(simd.Available()).Draw(t, "kernels"), tie, k)
		if !slices.Equal(got.IDs, want.IDs) || !slices.Equal(got.Bounds, want.Bounds) {
			t.Fatalf("k = %d, tie %g: %d entries left, want %d", k, tie, len(got.IDs), len(want.IDs))
		}
	})
}
