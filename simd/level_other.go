//go:build (!amd64 && !arm64) || noasm || purego

package simd

func detect() []Level { return []Level{Generic} }
