package worker

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "thresher/internal/draws"
)

// TestMaskedRows: the rows of a mask are those whose values are not 0, whatever else they are.
func TestMaskedRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mask := rapid.SliceOfN(rapid.SampledFrom([]uint8{0, 0, 1, 2, 0x80, 0xff}), 0, 200).Draw(t, "mask")
		want := []int64{}
		for row, b := range mask {
			if b != 0 {
				want = append(want, int64(row))
			}
		}
		if got := maskedRows(mask); got == nil || !slices.Equal(got, want) {
			t.Fatalf("rows %v, want %v", got, want)
		}
	})
}
