package simd

// DotGather returns sum q_j a_perm(j) and the sum of the squared products;
// perm and q have one length.
func DotGather(a []float32, perm []uint32, q []float64) (sum, squares float64) {
	q = q[:len(perm)]
	for j, p := range perm {
		x := float64(a[p]) * q[j]
		sum += x
		squares += x * x
	}
	return sum, squares
}

// PermuteScale writes dst[i] = src[perm[i]] * scale[i], or without the product
// when scale is nil. perm and scale are as long as dst, which does not overlap
// src.
func PermuteScale(dst, src []float32, perm []uint32, scale []float32) {
	perm = perm[:len(dst)]
	if scale == nil {
		for i := range dst {
			dst[i] = src[perm[i]]
		}
		return
	}
	scale = scale[:len(dst)]
	for i := range dst {
		dst[i] = src[perm[i]] * scale[i]
	}
}

// DotSquares returns sum q_j a_j and sum a_j^2; both slices have one length.
func DotSquares(a, q []float32) (sum, squares float64) {
	q = q[:len(a)]
	for j, v := range a {
		x := float64(v)
		sum += x * float64(q[j])
		squares += x * x
	}
	return sum, squares
}
