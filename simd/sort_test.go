package simd

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortKeys compares with slices.Sort, for any number of keys, with and without equal ones and the
// greatest among them.
func TestSortKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]func() uint64{
		"any":       r.Uint64,
		"few":       func() uint64 { return r.Uint64N(3) },
		"one digit": func() uint64 { return r.Uint64N(2) },
		"greatest":  func() uint64 { return ^r.Uint64N(4) },
		"positions": func() uint64 { return r.Uint64N(1 << 7) },
	}
	for n := range MaxKeys + 1 {
		for _, kind := range slices.Sorted(maps.Keys(kinds)) { // in order: all draw from r
			draw := kinds[kind]
			for range 10 {
				var keys [MaxKeys]uint64
				for i := range n {
					keys[i] = draw()
				}
				want := keys
				slices.Sort(want[:n])
				for _, kern := range Available() {
					got := keys
					kern.SortKeys(&got, n)
					if !slices.Equal(got[:n], want[:n]) {
						t.Fatalf("%v: %d keys, %s: %v, want %v", kern, n, kind, got[:n], want[:n])
					}
				}
			}
		}
	}
}

// TestSortKeysNetwork sorts lists of zeros and ones of which one or the other are side by side. A network
// that sorts all lists of zeros and ones sorts everything.
func TestSortKeysNetwork(t *testing.T) {
	for _, n := range []int{64, MaxKeys} {
		for lo := range n {
			for hi := lo; hi <= n; hi++ {
				for _, inside := range []uint64{0, 1} {
					var keys [MaxKeys]uint64
					ones := 0
					for i := range n {
						keys[i] = 1 - inside
						if lo <= i && i < hi {
							keys[i] = inside
						}
						ones += int(keys[i])
					}
					for _, kern := range Available() {
						got := keys
						kern.SortKeys(&got, n)
						for i, x := range got[:n] {
							if (x == 1) != (i >= n-ones) {
								t.Fatalf("%v: %d keys, %d from place %d on: %v", kern, hi-lo, inside, lo, got[:n])
							}
						}
					}
				}
			}
		}
	}
}

// BenchmarkSortKeys reports ns a key.
func BenchmarkSortKeys(b *testing.B) {
	for _, n := range []int{20, 64, 100, 128} {
		r := rand.New(rand.NewPCG(1, 2))
		var keys [MaxKeys]uint64
		for i := range keys {
			keys[i] = r.Uint64()
		}
		for _, kern := range Available() {
			b.Run(fmt.Sprintf("%v/%d", kern, n), func(b *testing.B) {
				for b.Loop() {
					some := keys
					kern.SortKeys(&some, n)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/key")
			})
		}
	}
}
