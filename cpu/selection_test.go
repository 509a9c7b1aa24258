package cpu

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/simd"
)

// bounds draws lists long enough for several rounds of selection: near each other, with many ties,
// of any size, and with a few far from the others.
func bounds() *rapid.Generator[[]float32] {
	near := rapid.Map(rapid.IntRange(-1000, 1000), func(i int) float32 { return 1 + float32(i)*0x1p-20 })
	ties := rapid.Map(rapid.IntRange(-3, 3), func(i int) float32 { return float32(i) })
	any := rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32}))
	return rapid.Custom(func(t *rapid.T) []float32 {
		of := rapid.SampledFrom([]*rapid.Generator[float32]{near, ties, any}).Draw(t, "kind")
		few := rapid.SliceOfN(of, 1, 60).Draw(t, "few")
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		step := rapid.IntRange(1, 7).Draw(t, "step")
		spread := rapid.SampledFrom([]float32{0, 0x1p-18}).Draw(t, "spread")
		all := make([]float32, n)
		for i := range all {
			all[i] = few[i*step%len(few)] * (1 + float32(i*2654435761%1024)*spread)
			if v := all[i]; v-v != 0 {
				all[i] = 1
			}
		}
		return all
	})
}

// TestKthBound: for any k the bound found is that of the sorted list, the best have it at least,
// and with some more atoms allowed all of these are still among them.
func TestKthBound(t *testing.T) {
	for _, kern := range simd.Available() {
		var w scratch
		rapid.Check(t, func(t *rapid.T) {
			list := survivors{bounds: bounds().Draw(t, "bounds")}
			n := len(list.bounds)
			list.ids = make([]uint32, n)
			for i := range list.ids {
				list.ids[i] = uint32(i)
			}
			k := rapid.IntRange(1, n).Draw(t, "k")
			sorted := slices.Sorted(slices.Values(list.bounds))
			want := sorted[n-k]
			if got := w.kthBound(kern, list, k); got != want {
				t.Fatalf("%v: the %d-th of %d is %g, want %g", kern, k, n, got, want)
			}
			for _, exactly := range []bool{true, false} {
				best := w.best(kern, list, k, exactly)
				if len(best.ids) < k || exactly && slices.Min(best.bounds) != want {
					t.Fatalf("%v: %d entries from %g on, want the %d from %g on", kern, len(best.ids), slices.Min(best.bounds), k, want)
				}
				in, least := 0, slices.Min(best.bounds)
				for _, b := range list.bounds {
					if b >= least {
						in++
					}
				}
				if in != len(best.ids) {
					t.Fatalf("%v: %d entries from %g on, there are %d", kern, len(best.ids), least, in)
				}
			}
		})
	}
}

// TestSortScored: atoms are sorted by score, then row, whatever the scores: near each other beside
// one that is far away, equal, infinite, zeros of both signs.
func TestSortScored(t *testing.T) {
	var w sorting
	rapid.Check(t, func(t *rapid.T) {
		list := bounds().Draw(t, "scores")
		a := make([]scored, len(list))
		for i, b := range list {
			a[i] = scored{float64(b), uint32(i * 7919 % len(list))}
		}
		if rapid.Bool().Draw(t, "far") {
			a[0].score = rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1), 1e300, -1e-300}).Draw(t, "one")
		}
		want := slices.Clone(a)
		slices.SortFunc(want, func(a, b scored) int {
			if ranksBefore(a, b) {
				return -1
			}
			if ranksBefore(b, a) {
				return 1
			}
			return 0
		})
		w.sort(a)
		for i := range a {
			if a[i].score != want[i].score || a[i].row != want[i].row {
				t.Fatalf("entry %d of %d is %v, want %v", i, len(a), a[i], want[i])
			}
		}
	})
}
