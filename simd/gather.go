package simd

// DotGather returns sum_j q_j a[perm[j]] and the sum of the squares of those products.
// perm and q have equal lengths; it panics on an index beyond a.
func DotGather(a []float32, perm []uint32, q []float64) (sum, squares float64) {
	q = q[:len(perm)]
	for j, p := range perm {
		x := float64(a[p]) * q[j]
		sum += x
		squares += x * x
	}
	return sum, squares
}

// Permute sets dst[i] = src[perm[i]]. perm is as long as dst, which does not overlap src.
// It panics on an index beyond src.
func Permute(dst, src []float32, perm []uint32) {
	perm = perm[:len(dst)]
	for i := range dst {
		dst[i] = src[perm[i]]
	}
}

// DotSquares returns sum_j q_j a_j and sum_j a_j^2; the slices have equal lengths.
func DotSquares(a, q []float32) (sum, squares float64) {
	q = q[:len(a)]
	for j, v := range a {
		x := float64(v)
		sum += x * float64(q[j])
		squares += x * x
	}
	return sum, squares
}
