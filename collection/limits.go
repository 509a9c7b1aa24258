package collection

import (
	"math"
	"strconv"
)

// Limits of scores are compared without a tolerance. A limit that is a score as answers show it, a float32
// or the shortest decimal that names one (.7), is compared with scores as they are shown, in float32: such a
// score, given back as a limit, lets its atom through, and no atom that reaches the limit in float64 is
// lost, because rounding keeps the order. A limit of more digits is compared with scores in float64.

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

// isShown reports whether x is a finite float32 or the shortest decimal of one.
func isShown(x float64) bool {
	y := float64(float32(x))
	if math.IsInf(y, 0) || y == x {
		return y == x && !math.IsInf(y, 0)
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(y, 'g', -1, 32), 64)
	return err == nil && short == x
}

// lowest returns the least float64 that is shown as x, or x itself if it is no score as shown.
func lowest(x float64) float64 {
	if !isShown(x) {
		return x
	}
	y := float32(x)
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

// highest returns the greatest float64 that is shown as x, or x itself if it is no score as shown.
func highest(x float64) float64 { return -lowest(-x) }
