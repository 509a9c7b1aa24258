package bandit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "thresher/internal/draws"
)

func TestKthLargest(t *testing.T) {
	for name, value := range map[string]*rapid.Generator[float64]{
		"ties": rapid.Map(rapid.IntRange(-5, 5), func(i int) float64 { return float64(i) }),
		"any":  rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 5e-324, -5e-324})),
		"near": rapid.Map(rapid.IntRange(0, 1000), func(i int) float64 { return 1 + float64(i)*0x1p-52 }),
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				values := rapid.SliceOfN(value, 1, 40).Draw(t, "values")
				// repeated, because larger lists are bucketed
				values = slices.Repeat(values, rapid.IntRange(1, 40).Draw(t, "repeat"))
				checkKthLargest(t, values, rapid.IntRange(1, len(values)).Draw(t, "k"))
			})
		})
	}
}

func checkKthLargest(t interface{ Fatalf(string, ...any) }, values []float64, k int) {
	sorted := slices.Sorted(slices.Values(values))
	if got, want := KthLargest(values, k), sorted[len(sorted)-k]; got != want {
		t.Fatalf("%d-th largest of %d: %v, want %v", k, len(sorted), got, want)
	}
}

func FuzzKthLargest(f *testing.F) {
	f.Add(uint64(1), 1000, 10, 3.)
	f.Add(uint64(2), 257, 257, 0.)
	f.Add(uint64(3), 5000, 700, 300.)
	f.Fuzz(func(t *testing.T, seed uint64, n, k int, spread float64) {
		n = 1 + int(uint(n)%5000)
		k = 1 + int(uint(k)%uint(n))
		r := rand.New(rand.NewPCG(seed, 1))
		values := make([]float64, n)
		for i := range values {
			values[i] = r.NormFloat64() * math.Exp2(spread*r.NormFloat64())
			if math.IsNaN(values[i]) {
				values[i] = 0
			}
		}
		checkKthLargest(t, values, k)
	})
}

// TestOrderedKey: keys have the order of the numbers, and both zeros the same key.
func TestOrderedKey(t *testing.T) {
	if OrderedKey(0) != OrderedKey(math.Copysign(0, -1)) {
		t.Error("the zeros differ")
	}
	rapid.Check(t, func(t *rapid.T) {
		any := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)}))
		a, b := any.Draw(t, "a"), any.Draw(t, "b")
		if (a < b) != (OrderedKey(a) < OrderedKey(b)) || (a == b) != (OrderedKey(a) == OrderedKey(b)) {
			t.Fatalf("%v has key %x, %v has %x", a, OrderedKey(a), b, OrderedKey(b))
		}
	})
}

// BenchmarkKthLargest compares selection by histograms with quickselect alone. Values differ
// between iterations, because branch prediction learns a repeated selection.
func BenchmarkKthLargest(b *testing.B) {
	pool := make([]float64, 1<<20)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range pool {
		pool[i] = 10 + r.NormFloat64()
	}
	for _, n := range []int{128, 512, 2000, 20_000, 200_000} {
		work, at := make([]float64, n), 0
		for name, f := range map[string]func([]float64, int) float64{"histograms": KthLargest, "quickselect": quickselect} {
			b.Run(fmt.Sprintf("n=%d/%s", n, name), func(b *testing.B) {
				for b.Loop() {
					copy(work, pool[at:])
					at = (at + n + 1) % (len(pool) - n)
					f(work, n/2)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/value")
			})
		}
	}
}
