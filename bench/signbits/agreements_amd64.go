//go:build !noasm && !purego

package main

import (
	"golang.org/x/sys/cpu"

	"thresher/simd"
)

// canAgree reports whether this processor runs agreeAVX512.
func canAgree() bool { return simd.Best() == simd.AVX512 && cpu.X86.HasAVX512VPOPCNTDQ }

// agreeAVX512 is agreePortable for groups of 4 queries, groups >= 1. Lines ahead bytes later are prefetched.
//
//go:noescape
func agreeAVX512(panel *uint8, ahead, head, signs int, codes *int8, stride int, queries *simd.ScanQuery, groups int, heads, norms *float32, masks *uint64, values *float32)
