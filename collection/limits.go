package collection

import "math"

// Limits of scores are compared as scores are shown, in float32: an atom reaches a limit if its score,
// rounded to float32, is no worse than the limit, rounded alike. Rounding never changes an order, so no
// atom that reaches the limit in float64 is lost; and a score that was shown, given back as a limit,
// lets its atom through. No other tolerance is granted.

// Floor returns the least search score whose shown score is no worse than limit.
func (m Metric) Floor(limit float64) float64 {
	if m == Euclidean {
		return 0 - highest(limit)/2
	}
	return lowest(limit)
}

// Ceiling returns the greatest search score whose shown score is no better than limit.
func (m Metric) Ceiling(limit float64) float64 {
	if m == Euclidean {
		return 0 - lowest(limit)/2
	}
	return highest(limit)
}

// lowest returns the least float64 that rounds to the same float32 as x; x itself where that is infinite.
func lowest(x float64) float64 {
	y := float32(x)
	if math.IsInf(float64(y), 0) {
		return x
	}
	before := float64(math.Nextafter32(y, float32(math.Inf(-1))))
	if math.IsInf(before, -1) {
		before = -0x1p128
	}
	half := (before + float64(y)) / 2
	if math.Float32bits(y)&1 == 0 { // halves round to even
		return half
	}
	return math.Nextafter(half, math.Inf(1))
}

// highest returns the greatest float64 that rounds to the same float32 as x; x itself where that is infinite.
func highest(x float64) float64 { return -lowest(-x) }
