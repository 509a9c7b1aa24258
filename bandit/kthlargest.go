package bandit

import (
	"math"
	"math/bits"
	"slices"
)

// KthLargest returns the k-th largest of values, 1 <= k <= len(values), without
// NaN, in time proportional to their number. It overwrites values.
func KthLargest(values []float64, k int) float64 {
	if k == 1 {
		return slices.Max(values)
	}
	for len(values) > fewValues {
		values, k = selectBucket(values, k)
	}
	return quickselect(values, k)
}

const (
	// fewValues is the number of values up to which quickselect is faster than a histogram.
	fewValues = 256
	// digitBits is the logarithm of the number of buckets of a histogram, which fit the
	// first-level cache.
	digitBits = 10
)

// selectBucket returns a part of values, moved to their front, that contains the k-th largest of
// them, and its rank there. The part is a bucket of the histogram of their keys, or one value
// if all are equal.
func selectBucket(values []float64, k int) ([]float64, int) {
	least, greatest := ^uint64(0), uint64(0)
	for _, v := range values {
		x := OrderedKey(v)
		least, greatest = min(least, x), max(greatest, x)
	}
	if least == greatest {
		return values[:1], 1
	}
	shift := max(0, bits.Len64(greatest-least)-digitBits)
	var counts [1 << digitBits]int32
	for _, v := range values {
		counts[(greatest-OrderedKey(v))>>(shift&63)&(1<<digitBits-1)]++
	}
	bucket := 0
	for ; k > int(counts[bucket]); bucket++ {
		k -= int(counts[bucket])
	}
	n := 0
	for _, v := range values {
		if (greatest-OrderedKey(v))>>(shift&63) == uint64(bucket) {
			values[n] = v
			n++
		}
	}
	return values[:n], k
}

// OrderedKey returns an integer that grows with x, which is not NaN; both zeros have the same. No number has the
// key before that of zero, so a search by halving must not count on one between any two keys.
func OrderedKey(x float64) uint64 {
	b := math.Float64bits(x + 0) // -0 + 0 is +0
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// quickselect is KthLargest for few values. It reorders them.
func quickselect(values []float64, k int) float64 {
	lo, hi, want := 0, len(values)-1, k-1
	for lo < hi {
		pivot := median(values[lo], values[(lo+hi)/2], values[hi])
		i, j := lo, hi
		for i <= j {
			for values[i] > pivot {
				i++
			}
			for values[j] < pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		if want <= j {
			hi = j
		} else if want >= i {
			lo = i
		} else {
			return values[want]
		}
	}
	return values[want]
}

func median(a, b, c float64) float64 {
	return math.Max(math.Min(a, b), math.Min(math.Max(a, b), c))
}
