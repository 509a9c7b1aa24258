// Command gemm writes the kernels of package simd that multiply rows by a packed
// panel, pack one and test products against thresholds.
//
//	go run ./gemm -out ../gemm_amd64.s -stubs ../gemm_stubs_amd64.go -pkg simd
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64,!noasm,!purego")
	for _, s := range shapes {
		multiply(s)
	}
	for _, s := range fewShapes {
		multiplyFew(s)
	}
	pack()
	dense("denseAVX512", ZMM, 1)
	dense("denseAVX2", YMM, 2)
	denseColumn("denseColumnAVX512", ZMM, 1)
	denseColumn("denseColumnAVX2", YMM, 2)
	list()
	Generate()
}
