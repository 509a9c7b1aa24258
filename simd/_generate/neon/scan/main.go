// Command scan writes the arm64 kernels of package simd that walk panels: the scan, the
// making of panels and the selection of entries.
//
//	go run ./neon/scan -out ../scan_arm64.s -stubs ../scan_stubs_arm64.go
package main

import "thresher/simd/_generate/neon"

func main() {
	neon.Write(func(f *neon.File) {
		f.Places()
		for _, t := range []tile{
			{name: "scanKeepingNEON", queries: 8, atoms: keeping},
			{name: "scanKeptNEON", queries: 8, atoms: kept},
			{name: "scanFourNEON", queries: 4},
			{name: "scanOneNEON", queries: 1},
		} {
			(&scan{File: f, tile: t}).emit()
		}
		(&scan{File: f, tile: tile{queries: 1}}).test()
		transpose(f)
		selects(f)
	})
}
