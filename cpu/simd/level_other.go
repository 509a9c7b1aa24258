//go:build !amd64 || noasm || purego

package simd

func detect() Level { return Generic }
