package cpu

import (
	"math"

	"thresher/simd"
)

const (
	// bracketed is the number of rounds of rankedFrom after which its pivots are at equal distances
	// of the keys, not the numbers: whatever the numbers are, twelve more end the search.
	bracketed = 4
	// beyondSample are the distances from a sample, as multiples of its range, at which pivots are tried
	// if the number sought is outside. Ascending.
	leastBeyond = 1. / 32
)

// floatKey returns an integer that grows with x, which is not NaN; both zeros have the same.
func floatKey(x float32) int32 {
	b := int32(math.Float32bits(x + 0)) // -0 + 0 is +0
	return b ^ int32(uint32(b>>31)>>1)
}

// keyFloat returns the number of a key.
func keyFloat(k int32) float32 { return math.Float32frombits(uint32(k ^ int32(uint32(k>>31)>>1))) }

// rankedFrom returns a number that at least k of the bounds reach, 1 <= k <= len(bounds), and at
// most k + spare, unless more than that are equal to it. No bound is a NaN.
//
// Each round counts the bounds from several pivots on and goes on between two of these: pivots from
// a sample, then at equal distances.
func rankedFrom(kern simd.Kernels, bounds []float32, k, spare int) float32 {
	if k+spare >= len(bounds) {
		least := bounds[0]
		for _, b := range bounds {
			if b < least {
				least = b
			}
		}
		return least
	}
	if k == 1 {
		most := bounds[0]
		for _, b := range bounds {
			if b > most {
				most = b
			}
		}
		return most
	}
	var pivots [simd.Pivots]float32
	var counts [simd.Pivots]int32
	samplePivots(&pivots, bounds)
	lo, hi := float32(math.Inf(-1)), float32(math.Inf(1)) // at least k reach lo, fewer hi
	for round := 1; ; round++ {
		kern.CountFrom(&counts, bounds, &pivots)
		for j, n := range counts {
			if p := pivots[j]; int(n) >= k {
				lo = max(lo, p)
				if int(n) <= k+spare {
					return p
				}
			} else {
				hi = min(hi, p)
				break
			}
		}
		least, most := floatKey(lo), floatKey(hi)
		if int64(most)-int64(least) <= 1 {
			return lo
		}
		step := (hi - lo) / (simd.Pivots + 1)
		switch {
		case round == 1 && math.IsInf(float64(step), 0):
			pivotsBeyond(&pivots, math.IsInf(float64(hi), 1))
		case round < bracketed && step-step == 0:
			for j := range pivots {
				pivots[j] = lo + step*float32(j+1)
			}
		default:
			for j := range pivots {
				pivots[j] = keyFloat(int32(int64(least) + (int64(most)-int64(least))*int64(j+1)/(simd.Pivots+1)))
			}
		}
	}
}

// samplePivots sets pivots to bounds from equal distances, ascending.
func samplePivots(pivots *[simd.Pivots]float32, bounds []float32) {
	var key [simd.Pivots]int32
	for j := range key {
		key[j] = floatKey(bounds[(2*j+1)*len(bounds)/(2*simd.Pivots)])
	}
	// A sorting network has no branch to predict.
	for _, p := range [...][2]uint8{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7},
		{2, 4}, {3, 5}, {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}} {
		a, b := key[p[0]&7], key[p[1]&7]
		key[p[0]&7], key[p[1]&7] = min(a, b), max(a, b)
	}
	for j, k := range key {
		pivots[j] = keyFloat(k)
	}
}

// pivotsBeyond sets pivots to numbers above those of a sample, or below, at growing distances from
// it.
func pivotsBeyond(pivots *[simd.Pivots]float32, above bool) {
	least, most := pivots[0], pivots[simd.Pivots-1]
	gap := (most - least) * leastBeyond
	for j := range pivots {
		if above {
			pivots[j] = most + gap
		} else {
			pivots[simd.Pivots-1-j] = least - gap
		}
		gap *= 2
	}
}
