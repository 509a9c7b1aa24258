//go:build !amd64 || noasm || purego

package main

import "thresher/simd"

func canAgree() bool { return false }

func agreeAVX512(*uint8, int, int, int, *int8, int, *simd.ScanQuery, int, *float32, *float32, *uint64, *float32) {
	panic("signbits: no AVX-512")
}
