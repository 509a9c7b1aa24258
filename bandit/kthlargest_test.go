package bandit

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestKthLargest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 {
			return float64(rapid.IntRange(-5, 5).Draw(t, "value"))
		}), 1, 40).Draw(t, "values")
		k := rapid.IntRange(1, len(values)).Draw(t, "k")
		sorted := slices.Sorted(slices.Values(values))
		if got, want := KthLargest(values, k), sorted[len(sorted)-k]; got != want {
			t.Fatalf("%d-th largest %v, want %v", k, got, want)
		}
	})
}
