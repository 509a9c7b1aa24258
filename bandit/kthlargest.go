package bandit

import (
	"math"
	"slices"
)

// KthLargest returns the k-th largest of values, 1 <= k <= len(values), without
// NaN. It reorders values.
func KthLargest(values []float64, k int) float64 {
	if k == 1 {
		return slices.Max(values)
	}
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
