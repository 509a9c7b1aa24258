//go:build !noasm && !purego

package simd

func (kern Kernels) sortsKeys() bool { return kern == AVX512 }

// sortKeys is SortKeys by assembly. It returns false if there is none.
func (kern Kernels) sortKeys(keys *[MaxKeys]uint64, n int) bool {
	if kern != AVX512 {
		return false
	}
	most := 64
	if n > most {
		most = MaxKeys
	}
	for i := n; i < most; i++ { // these come last
		keys[i] = ^uint64(0)
	}
	if most == 64 {
		sortKeys64AVX512(&keys[0])
	} else {
		sortKeys128AVX512(&keys[0])
	}
	return true
}
