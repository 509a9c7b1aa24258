package cpu

import (
	"math"
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
		got, want := survivors{}, survivors{}
		got.reserve(len(all)) // kernels write beyond the end
		for i, b := range all {
			got.ids, got.bounds = append(got.ids, uint32(i)), append(got.bounds, b)
			if b == tie && room <= 0 && len(all) > k {
				continue
			}
			if b == tie {
				room--
			}
			want.ids, want.bounds = append(want.ids, uint32(i)), append(want.bounds, b)
		}
		got.dropTies(rapid.SampledFrom(simd.Available()).Draw(t, "kernels"), tie, k)
		if !slices.Equal(got.ids, want.ids) || !slices.Equal(got.bounds, want.bounds) {
			t.Fatalf("k = %d, tie %g: %d entries left, want %d", k, tie, len(got.ids), len(want.ids))
		}
	})
}

// TestMoveGreatest: the arms that come first are those whose bound is at least that of any other, no fewer than
// asked for unless the threshold excludes them, and none is lost.
func TestMoveGreatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := bounds().Draw(t, "bounds")
		q := finishing{state: &state{kern: rapid.SampledFrom(simd.Available()).Draw(t, "kernels"), tau: float64(rapid.SampledFrom(all).Draw(t, "threshold"))}}
		n := rapid.IntRange(1, len(all)).Draw(t, "n")
		arms, reaching := make([]arm, len(all)), 0
		for i, b := range all {
			arms[i] = arm{bound: float64(b), i: uint32(i)}
			if b >= q.least32() {
				reaching++
			}
		}
		first := q.moveGreatest(&scratch{}, arms, n)
		if first < min(n, reaching) || first > reaching {
			t.Fatalf("%d arms come first, of %d that reach the threshold %d were asked for", first, reaching, n)
		}
		least := float32(math.Inf(1)) // of those that come first
		for _, a := range arms[:first] {
			least = min(least, all[a.i])
		}
		seen := make([]bool, len(all))
		for k, a := range arms {
			if seen[a.i] || a.bound != float64(all[a.i]) {
				t.Fatalf("arm %d is lost or changed", a.i)
			}
			seen[a.i] = true
			if k >= first && all[a.i] > least {
				t.Fatalf("arm %d of bound %g does not come first, one of %g does", a.i, all[a.i], least)
			}
		}
	})
}
