package simd

// Dot returns the canonical sum (sums.go) of a_j q_j. It is the same bit for bit at
// every instruction set if the float64 products are exact, that is if every q_j is a float32
// times one common power of two; otherwise a set may round products or fuse them.
// The slices have equal lengths. The error is below (len(a)/32+7) 2^-53 sum |a_j q_j|
// for len(a) below 2^40.
func Dot(a []float32, q []float64) float64 {
	q = q[:len(a)]
	var s [lanes]float64
	for from := 0; from < min(lanes, len(a)); from += 8 {
		dotLanes((*[8]float64)(s[from:]), a[from:], q[from:])
	}
	return fold(&s)
}

// dotLanes sums eight of Dot's lanes into s; a and q start at the first of them.
func dotLanes(s *[8]float64, a []float32, q []float64) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	q = q[:len(a)]
	for ; len(a) >= 8 && len(q) >= 8; a, q = a[min(lanes, len(a)):], q[min(lanes, len(q)):] {
		s0 += float64(a[0]) * q[0]
		s1 += float64(a[1]) * q[1]
		s2 += float64(a[2]) * q[2]
		s3 += float64(a[3]) * q[3]
		s4 += float64(a[4]) * q[4]
		s5 += float64(a[5]) * q[5]
		s6 += float64(a[6]) * q[6]
		s7 += float64(a[7]) * q[7]
	}
	*s = [8]float64{s0, s1, s2, s3, s4, s5, s6, s7}
	for j, v := range a {
		s[j] += float64(v) * q[j]
	}
}

// Dots sets out[i] to the Dot of row ids[i] and q, bit for bit. rows is row-major:
// row r is the len(q) floats from r*ld. len(out) >= len(ids).
func Dots(out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	out = out[:len(ids)]
	for i, id := range ids {
		out[i] = Dot(rows[int(id)*ld:][:len(q)], q)
	}
}

// SumSquares returns the canonical sum (sums.go) of x_j^2. Squares of float32 are
// exact in float64, so it is the same bit for bit with every instruction set. The error is below
// (len(x)/32+6) 2^-53 times the sum for len(x) below 2^40.
func SumSquares(x []float32) float64 {
	var s [lanes]float64
	for from := 0; from < min(lanes, len(x)); from += 8 {
		squareLanes((*[8]float64)(s[from:]), x[from:])
	}
	return fold(&s)
}

// squareLanes sums eight of SumSquares' lanes into s; x starts at the first of them.
func squareLanes(s *[8]float64, x []float32) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	for ; len(x) >= 8; x = x[min(lanes, len(x)):] {
		x0, x1, x2, x3 := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		x4, x5, x6, x7 := float64(x[4]), float64(x[5]), float64(x[6]), float64(x[7])
		s0, s1, s2, s3 = s0+x0*x0, s1+x1*x1, s2+x2*x2, s3+x3*x3
		s4, s5, s6, s7 = s4+x4*x4, s5+x5*x5, s6+x6*x6, s7+x7*x7
	}
	*s = [8]float64{s0, s1, s2, s3, s4, s5, s6, s7}
	for j, v := range x {
		s[j] += float64(v) * float64(v)
	}
}
