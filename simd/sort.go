package simd

import "slices"

// MaxKeys is the greatest number of keys that SortKeys sorts.
const MaxKeys = 128

// SortsKeys reports whether SortKeys has a kernel, which takes less time than a sort by radix.
func (kern Kernels) SortsKeys() bool { return kern.sortsKeys() }

// SortKeys sorts the first n keys, ascending. It may overwrite the others.
func (kern Kernels) SortKeys(keys *[MaxKeys]uint64, n int) {
	_ = keys[:n]
	if n < 2 {
		return
	}
	if !kern.sortKeys(keys, n) {
		slices.Sort(keys[:n])
	}
}
