package collection

import (
	"math"

	"thresher/simd"
)

// Coding says what a stage keeps of an atom's rotated rest o. All that depends on it is in
// the table of codings.
type Coding uint8

const (
	// Int8 stages keep prefixes of one int8 code, whose rows are Collection.Codes. The
	// code of all D coordinates has a deterministic bound.
	Int8 Coding = iota
	// Signs keeps the signs of all D coordinates, x_j = 1 or -1: bit j%8 of byte j/8 is 1
	// where coordinate j is positive.
	Signs
)

// codings is the table of all codings but Int8. Each codes all D coordinates as a vector x
// of integers, in rows of its own, and is bounded by the Student law alone, at any scale
// of x. D is a multiple of 32.
var codings = [...]struct {
	name string // of the sections of a file
	// since is the first version of files that have it.
	since int
	// pays reports whether collections with R head directions keep it.
	pays func(R, D int) bool
	// bytes is the size of the code.
	bytes func(D int) int
	// code writes the code of o and returns <x, o> and |x|^2.
	code func(dst []uint8, o []float32) (xo, xx float64)
	// expected returns <x, o> and |x|^2 for an o of norm 1 under a Haar rotation.
	expected func(d float64) (xo, xx float64)
}{
	// Signs of all coordinates are as sharp as int8 codes of 2/pi of them, in an eighth of
	// the bytes of as many codes; below 768 coordinates the memory for them is not worth it.
	Signs: {name: "signs", since: oldestVersion,
		pays:  func(R, D int) bool { return D >= 768 && R+D <= simd.MaxScan },
		bytes: func(D int) int { return D / 8 },
		code: func(dst []uint8, o []float32) (xo, xx float64) {
			kernels.PackSigns(dst, o)
			return kernels.SumAbs(o), float64(len(o))
		},
		expected: func(d float64) (xo, xx float64) { return math.Sqrt(2 / math.Pi * d), d }},
}

// ownCodings returns the codings besides Int8 that a file of a version keeps of a rest of D
// coordinates.
func ownCodings(R, D, version int) []Coding {
	var all []Coding
	for k := Int8 + 1; int(k) < len(codings); k++ {
		if version >= codings[k].since && codings[k].pays(R, D) {
			all = append(all, k)
		}
	}
	return all
}

// layout points the rows of a stage that has its own at their section. Rows begin at
// multiples of 64 bytes.
func (s *Stage) layout(m memory, n, R, D int) (err error) {
	if s.Coding == Int8 {
		return nil
	}
	k := &codings[s.Coding]
	s.Stride = (R + k.bytes(D) + 63) &^ 63
	s.Rows, err = array[uint8](m, k.name, n*s.Stride)
	return err
}
