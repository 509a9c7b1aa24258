package simd

// SquaredDistance returns the canonical sum (sums.go) of (q_j - a_j)^2. It is the
// same bit for bit with every instruction set: the difference is rounded to float64, then its
// square, then each addition. The slices have equal lengths. The error is below
// (len(a)/32+9) 2^-53 times the sum for len(a) below 2^40.
func SquaredDistance(a []float32, q []float64) float64 {
	q = q[:len(a)]
	var s [lanes]float64
	for from := 0; from < min(lanes, len(a)); from += 8 {
		distanceLanes((*[8]float64)(s[from:]), a[from:], q[from:])
	}
	return fold(&s)
}

// distanceLanes sums eight of SquaredDistance's lanes into s; a and q start at the first of them.
func distanceLanes(s *[8]float64, a []float32, q []float64) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	q = q[:len(a)]
	for ; len(a) >= 8 && len(q) >= 8; a, q = a[min(lanes, len(a)):], q[min(lanes, len(q)):] {
		// The conversions keep compilers from fusing the square with the sum.
		d0, d1 := q[0]-float64(a[0]), q[1]-float64(a[1])
		d2, d3 := q[2]-float64(a[2]), q[3]-float64(a[3])
		d4, d5 := q[4]-float64(a[4]), q[5]-float64(a[5])
		d6, d7 := q[6]-float64(a[6]), q[7]-float64(a[7])
		s0, s1 = s0+float64(d0*d0), s1+float64(d1*d1)
		s2, s3 = s2+float64(d2*d2), s3+float64(d3*d3)
		s4, s5 = s4+float64(d4*d4), s5+float64(d5*d5)
		s6, s7 = s6+float64(d6*d6), s7+float64(d7*d7)
	}
	*s = [8]float64{s0, s1, s2, s3, s4, s5, s6, s7}
	for j, v := range a {
		d := q[j] - float64(v)
		s[j] += float64(d * d)
	}
}

// SquaredDistances sets out[i] to the SquaredDistance of row ids[i] and q, bit for
// bit. rows is row-major: row r is the len(q) floats from r*ld. len(out) >= len(ids).
func SquaredDistances(out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	out = out[:len(ids)]
	for i, id := range ids {
		out[i] = SquaredDistance(rows[int(id)*ld:][:len(q)], q)
	}
}
