package topk

import (
	"math"
	"slices"
	"testing"
	_ "thresher/internal/draws"
	"time"

	"pgregory.net/rapid"

	"thresher/simd"
)

// bounds draws lists long enough for several rounds of selection: near each other, with many ties,
// of any size, and with a few far from the others.
func bounds() *rapid.Generator[[]float32] {
	near := rapid.Map(rapid.IntRange(-1000, 1000), func(i int) float32 { return 1 + float32(i)*0x1p-20 })
	ties := rapid.Map(rapid.IntRange(-3, 3), func(i int) float32 { return float32(i) })
	around := []float32{0, float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, -2 * math.SmallestNonzeroFloat32}
	any := rapid.OneOf(rapid.Float32(), rapid.SampledFrom(append(around, math.MaxFloat32, -math.MaxFloat32)))
	return rapid.Custom(func(t *rapid.T) []float32 {
		of := rapid.SampledFrom([]*rapid.Generator[float32]{near, ties, rapid.SampledFrom(around), any}).Draw(t, "kind")
		few := rapid.SliceOfN(of, 1, 60).Draw(t, "few")
		n := rapid.OneOf(rapid.IntRange(1, 3000), rapid.IntRange(1, simd.MaxKeys)).Draw(t, "n")
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

// TestFloatKey: the keys of neighbouring numbers differ by 1, those of the zeros are equal, and a key gives its
// number back.
func TestFloatKey(t *testing.T) {
	if k := floatKey(float32(math.Copysign(0, -1))); k != floatKey(0) {
		t.Errorf("the key of -0 is %d, that of 0 %d", k, floatKey(0))
	}
	inf := float32(math.Inf(1))
	check := func(t rapid.TB, x float32) {
		k := floatKey(x)
		if got := keyFloat(k); got != x {
			t.Fatalf("key %d of %g gives %g", k, x, got)
		}
		if next := math.Nextafter32(x, inf); x < inf && floatKey(next) != k+1 {
			t.Fatalf("the key of %g is %d, that of the next number, %g, is %d", x, k, next, floatKey(next))
		}
	}
	const least, normal = math.SmallestNonzeroFloat32, 0x1p-126
	for _, x := range []float32{-inf, -math.MaxFloat32, -1, -normal, least - normal, -2 * least, -least, 0, least, normal - least, normal, 1, math.MaxFloat32, inf} {
		check(t, x)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.Float32().Draw(t, "x")) })
}

// TestRankedFromEnds: a search ends whatever numbers about zero its bounds are. The bounds of rows that share
// nothing with a query are such numbers.
func TestRankedFromEnds(t *testing.T) {
	const least = math.SmallestNonzeroFloat32
	about := []float32{-1, -2 * least, -least, float32(math.Copysign(0, -1)), 0, least, 2 * least, 1}
	for _, kern := range simd.Available() {
		for _, low := range about {
			for _, high := range about {
				list := slices.Repeat([]float32{low}, 1000)
				for i := range 5 {
					list[i*199] = high
				}
				for i := range 100 {
					list[i*7+1] = -1 - float32(i)
				}
				x := rankedInTime(t, kern, list, 20, 1)
				if n, want := countFrom(list, x), nthGreatest(list, 20); n < 20 || n > 21 && x != want {
					t.Errorf("%v: bounds about %g and %g: %d reach %g; the 20th is %g", kern, low, high, n, x, want)
				}
			}
		}
	}
}

// rankedInTime is RankedFrom; the test fails if that does not end.
func rankedInTime(t rapid.TB, kern simd.Kernels, list []float32, k, spare int) (from float32) {
	const limit = 5 * time.Minute // the machine may be slow
	found := make(chan float32, 1)
	go func() { found <- RankedFrom(kern, list, k, spare) }()
	select {
	case from = <-found:
	case <-time.After(limit):
		t.Fatalf("%v: the search for number %d of %d bounds such as %g has not ended after %v", kern, k, len(list), list[:min(9, len(list))], limit)
	}
	return from
}

// nthGreatest returns the n-th greatest of list.
func nthGreatest(list []float32, n int) float32 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)-n]
}

// countFrom returns how many of list are at least x.
func countFrom(list []float32, x float32) (n int) {
	for _, b := range list {
		if b >= x {
			n++
		}
	}
	return n
}

// TestRankedFrom: at least k of the bounds reach the number found, and at most as many more as may be
// spared, but for those equal to it.
func TestRankedFrom(t *testing.T) {
	for _, kern := range simd.Available() {
		rapid.Check(t, func(t *rapid.T) {
			list := bounds().Draw(t, "bounds")
			if rapid.Bool().Draw(t, "infinite") {
				list[0], list[len(list)-1] = float32(math.Inf(1)), float32(math.Inf(-1))
			}
			if rapid.Bool().Draw(t, "nearly all infinite") {
				inf := float32(math.Inf(rapid.SampledFrom([]int{-1, 1}).Draw(t, "sign")))
				for i := range list {
					if i%9 != 1 {
						list[i] = inf
					}
				}
			}
			k := rapid.IntRange(1, len(list)).Draw(t, "k")
			spare := rapid.SampledFrom([]int{0, 1, k / 16, k / 4}).Draw(t, "spare")
			from := rankedInTime(t, kern, list, k, spare)
			reach, equal := 0, 0
			for _, b := range list {
				if b >= from {
					reach++
				}
				if b == from {
					equal++
				}
			}
			if reach < k || reach > k+spare && reach-equal >= k {
				t.Fatalf("%v: %d of %d bounds reach %g, %d are equal, want %d to %d", kern, reach, len(list), from, equal, k, k+spare)
			}
		})
	}
}

// TestSortScored: atoms are sorted by score, then row, whatever the kernels and the scores: near each
// other beside one that is far away, equal, equal in all but the last bits, infinite, zeros of both signs.
func TestSortScored(t *testing.T) {
	ws := map[simd.Kernels]*Sorter{}
	for _, kern := range simd.Available() {
		ws[kern] = &Sorter{Kern: kern}
	}
	rapid.Check(t, func(t *rapid.T) {
		w := ws[rapid.SampledFrom(simd.Available()).Draw(t, "kernels")]
		list := bounds().Draw(t, "scores")
		a := make([]Scored, len(list))
		for i, b := range list {
			a[i] = Scored{float64(b), uint32(i * 7919 % len(list))}
		}
		if rapid.Bool().Draw(t, "last bits") {
			mask := rapid.Uint64Max(1<<9).Draw(t, "mask")
			for i := range a {
				a[i].Score = math.Float64frombits(math.Float64bits(a[i].Score) ^ uint64(i*2654435761)&mask)
			}
		}
		if rapid.Bool().Draw(t, "far") {
			a[0].Score = rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1), 1e300, -1e-300}).Draw(t, "one")
		}
		want := slices.Clone(a)
		slices.SortFunc(want, func(a, b Scored) int {
			if ranksBefore(a, b) {
				return -1
			}
			if ranksBefore(b, a) {
				return 1
			}
			return 0
		})
		w.Sort(a)
		for i := range a {
			if a[i].Score != want[i].Score || a[i].Row != want[i].Row {
				t.Fatalf("entry %d of %d is %v, want %v", i, len(a), a[i], want[i])
			}
		}
	})
}
