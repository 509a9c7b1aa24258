//go:build !amd64 || noasm || purego

package simd

func (Kernels) sortsKeys() bool { return false }

// sortKeys sorts nothing and returns false: there is no assembly.
func (Kernels) sortKeys(*[MaxKeys]uint64, int) bool { return false }
