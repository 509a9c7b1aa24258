// Command float writes the float kernels of package simd: sums, codes and the
// Walsh-Hadamard transform.
//
//	go run ./float -out ../float_amd64.s -stubs ../float_stubs_amd64.go -pkg simd
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64,!noasm,!purego")
	for _, s := range []set{avx512, avx2} {
		dot(s, "dot", "Dot", product)
		dots(s, "dots", "Dots", 4, product)
		dots(s, "dots64", "Dots64", 8, roundedProduct)
		dot(s, "squaredDistance", "SquaredDistance", squaredDifference)
		dots(s, "squaredDistances", "SquaredDistances", 4, squaredDifference)
		dots(s, "squaredDistances64", "SquaredDistances64", 8, squaredDifference)
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
	dotsTogether(avx512, "dotsTogether", "Dots", product)
	dotsTogether(avx512, "squaredDistancesTogether", "SquaredDistances", squaredDifference)
	permute()
	dotGather()
	fetch()
	Generate()
}
