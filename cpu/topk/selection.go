package topk

import (
	"math"

	"thresher/simd"
)

const (
	// bracketed is the number of rounds of RankedFrom after which its pivots are at equal distances
	// of the keys, not the numbers: whatever the numbers are, twelve more end the search.
	bracketed = 4
	// minBeyond is the least distance from a sample at which a pivot is tried if the number sought is
	// outside, as a multiple of the sample's range.
	minBeyond = 1. / 32
)

// floatKey returns an integer that grows with x, which is not NaN; both zeros have the same. Neighbouring
// numbers have neighbouring keys, so there is a number between any two whose keys differ by more than 1.
func floatKey(x float32) int32 {
	b := int32(math.Float32bits(x))
	negative := b >> 31 // -1 if the sign is set
	return (b ^ int32(uint32(negative)>>1)) - negative
}

// keyFloat returns the number of a key, for zero the positive one.
func keyFloat(k int32) float32 {
	negative := k >> 31
	return math.Float32frombits(uint32((k + negative) ^ int32(uint32(negative)>>1)))
}

// RankedFrom returns a number that at least k of the bounds reach, 1 <= k <= len(bounds), and at
// most k + spare, unless more than that are equal to it. No bound is a NaN; they may be infinite.
//
// Each round counts the bounds from several pivots on and goes on between two of these: pivots from
// a sample, then at equal distances.
func RankedFrom(kern simd.Kernels, bounds []float32, k, spare int) float32 {
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
	for round := 1; int64(floatKey(hi))-int64(floatKey(lo)) > 1; round++ {
		if round > 1 {
			nextPivots(&pivots, lo, hi, round)
		}
		kern.CountFrom(&counts, bounds, &pivots)
		for j, n := range counts {
			p := pivots[j]
			if int(n) < k {
				hi = min(hi, p)
				break
			}
			if int(n) <= k+spare {
				return p
			}
			lo = max(lo, p)
		}
	}
	return lo
}

// nextPivots sets the pivots of a round after the first, which are those of the round before. The number sought is
// at least lo and below hi, whose keys differ by more than 1, so that one of the pivots at equal distances of the
// keys is between them.
func nextPivots(pivots *[simd.Pivots]float32, lo, hi float32, round int) {
	step := (hi - lo) / (simd.Pivots + 1)
	switch {
	case round == 2 && math.IsInf(float64(step), 0) && pivots[simd.Pivots-1]-pivots[0] < float32(math.Inf(1)):
		pivotsBeyond(pivots, math.IsInf(float64(hi), 1))
	case round <= bracketed && step-step == 0:
		for j := range pivots {
			pivots[j] = lo + step*float32(j+1)
		}
	default:
		least, most := int64(floatKey(lo)), int64(floatKey(hi))
		for j := range pivots {
			pivots[j] = keyFloat(int32(least + (most-least)*int64(j+1)/(simd.Pivots+1)))
		}
	}
}

// samplePivots sets pivots to bounds from equal distances, ascending.
func samplePivots(pivots *[simd.Pivots]float32, bounds []float32) {
	key := func(j int) int32 { return floatKey(bounds[(2*j+1)*len(bounds)/(2*simd.Pivots)]) }
	a, b, c, d, e, f, g, h := key(0), key(1), key(2), key(3), key(4), key(5), key(6), key(7)
	// A sorting network has no branch to predict.
	a, c = min(a, c), max(a, c)
	b, d = min(b, d), max(b, d)
	e, g = min(e, g), max(e, g)
	f, h = min(f, h), max(f, h)
	a, e = min(a, e), max(a, e)
	b, f = min(b, f), max(b, f)
	c, g = min(c, g), max(c, g)
	d, h = min(d, h), max(d, h)
	a, b = min(a, b), max(a, b)
	c, d = min(c, d), max(c, d)
	e, f = min(e, f), max(e, f)
	g, h = min(g, h), max(g, h)
	c, e = min(c, e), max(c, e)
	d, f = min(d, f), max(d, f)
	b, e = min(b, e), max(b, e)
	d, g = min(d, g), max(d, g)
	b, c = min(b, c), max(b, c)
	d, e = min(d, e), max(d, e)
	f, g = min(f, g), max(f, g)
	*pivots = [simd.Pivots]float32{keyFloat(a), keyFloat(b), keyFloat(c), keyFloat(d), keyFloat(e), keyFloat(f), keyFloat(g), keyFloat(h)}
}

// pivotsBeyond sets pivots to numbers above those of a sample, which are finite, or below, at growing
// distances from it.
func pivotsBeyond(pivots *[simd.Pivots]float32, above bool) {
	least, most := pivots[0], pivots[simd.Pivots-1]
	gap := (most - least) * minBeyond
	for j := range pivots {
		if above {
			pivots[j] = most + gap
		} else {
			pivots[simd.Pivots-1-j] = least - gap
		}
		gap *= 2
	}
}
