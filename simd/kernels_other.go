//go:build (!amd64 && !arm64) || noasm || purego

package simd

func detect() []Kernels { return []Kernels{Generic} }
