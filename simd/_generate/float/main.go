// Command float writes the float kernels of package simd: sums, codes and the
// Walsh-Hadamard transform.
//
//	go run ./float -out ../float_amd64.s -stubs ../float_stubs_amd64.go -pkg simd
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64,!noasm,!purego")
	for _, s := range []set{avx512, avx2} {
		dot(s, "dot", "Dot", set.product)
		dots(s, "dots", "Dots", set.product)
		dot(s, "squaredDistance", "SquaredDistance", set.squaredDifference)
		dots(s, "squaredDistances", "SquaredDistances", set.squaredDifference)
		sumSquares(s)
		dotSquares(s)
		codeMoments(s)
		maxAbs(s)
		quantize(s)
		quantizeError(s)
		for n := 16; n <= 256; n *= 2 {
			fwht(s, n)
		}
	}
	permute()
	dotGather()
	Generate()
}
