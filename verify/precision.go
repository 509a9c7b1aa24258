package verify

import "math"

// precision is how exactly a program states its scores. Those of a coarser one include what fits the
// finest.
type precision int

const (
	single precision = iota // float32, or seven digits
	half                    // float16
	digits                  // four decimals, or four significant digits
	precisions
)

func (p precision) suffix() string {
	return [precisions]string{"", " at float16", " at four digits"}[p]
}

// fits reports whether stated is score at each precision. room is what float32 arithmetic may have added.
// A coarser precision excuses only a value that it can hold.
func fits(stated, score, room float64) (ok [precisions]bool) {
	off := math.Abs(stated - score)
	ok[single] = off <= room
	ok[half] = ok[single] || isHalf(stated) && off <= room+halfStep(score)
	ok[digits] = ok[single] || isRounded(stated, 1e-4) && off <= room+.5001e-4 ||
		isRounded(stated, fourth(stated)) && off <= room+.5001*fourth(score)
	return ok
}

// isHalf reports whether float16 holds x.
func isHalf(x float64) bool {
	step := 0x1p-24 // of numbers below 2^-14
	if _, exp := math.Frexp(x); exp > -13 {
		step = math.Ldexp(1, exp-11)
	}
	return math.Abs(x) <= 65504 && math.Mod(x, step) == 0
}

// halfStep is the error of rounding x to float16, with room for rounding it to float32 before.
func halfStep(x float64) float64 { return max(math.Abs(x)*0x1p-11, 0x1p-25) * 1.001 }

// fourth is the value of one in the fourth significant digit of x.
func fourth(x float64) float64 {
	if x == 0 {
		return 1e-4
	}
	return math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-3)
}

// isRounded reports whether x is a multiple of step within the rounding of float32.
func isRounded(x, step float64) bool {
	return math.Abs(x-math.Round(x/step)*step) <= math.Abs(x)*0x1p-23
}
