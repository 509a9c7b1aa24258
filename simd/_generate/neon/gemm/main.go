// Command gemm writes the NEON kernels of package simd that multiply rows by a
// packed panel, pack one and test products against thresholds.
//
//	go run ./neon/gemm -out ../gemm_arm64.s -stubs ../gemm_stubs_arm64.go
package main

import "thresher/simd/_generate/neon"

func main() {
	neon.Write(func(f *neon.File) {
		multiply(f)
		pack(f)
		dense(f)
	})
}

// bytes converts distances from floats to bytes.
func bytes(f *neon.File, registers ...string) {
	for _, r := range registers {
		f.Go("LSL $2, %s, %s", r, r)
	}
}
