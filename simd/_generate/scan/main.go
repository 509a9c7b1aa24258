// Command scan writes the amd64 kernels of package simd that walk panels: the scan, the
// making of panels and the selection of entries.
//
//	go run ./scan -out ../scan_amd64.s -stubs ../scan_stubs_amd64.go -pkg simd
package main

import (
	. "github.com/mmcloughlin/avo/build"

	"thresher/simd/_generate/asm"
)

func main() {
	ConstraintExpr("amd64,!noasm,!purego")
	wide := avx512{everySecond()}
	tile{name: "scanAVX512", queries: 4, vectors: 4, fetch: true, dots: wide}.emit()
	one := tile{name: "scanOneAVX512", queries: 1, vectors: 4, fetch: true, dots: wide}
	one.emit()
	one.test("testAVX512")
	one = tile{name: "scanAVX2", queries: 1, vectors: 8, fetch: true, dots: &avx2{}}
	one.emit()
	one.test("testAVX2")
	transpose()
	selects(asm.Places())
	Generate()
}
