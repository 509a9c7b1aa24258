package simd

// Rows of float64 have the canonical sums of sums.go, too. Their products are not exact in float64: each is rounded
// before it is added, in every instruction set, so that all of them get the same bits.

// Dots64 sets out[i] to the canonical sum of a_j q_j, a being row ids[i]. rows is row-major: row r is the len(q)
// floats from r*ld. len(out) >= len(ids). The error of a sum is below (len(q)/32+8) 2^-53 sum |a_j q_j| for len(q)
// below 2^40, unless products underflow.
func Dots64(out, rows []float64, ld int, ids []uint32, q []float64) {
	out = out[:len(ids)]
	for i, id := range ids {
		a := rows[int(id)*ld:][:len(q)]
		var s [lanes]float64
		for from := 0; from < min(lanes, len(a)); from += 8 {
			dotLanes64((*[8]float64)(s[from:]), a[from:], q[from:])
		}
		out[i] = fold(&s)
	}
}

// dotLanes64 sums eight of the lanes of a product into s; a and q start at the first of them.
func dotLanes64(s *[8]float64, a, q []float64) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	q = q[:len(a)]
	for ; len(a) >= 8 && len(q) >= 8; a, q = a[min(lanes, len(a)):], q[min(lanes, len(q)):] {
		// The conversions keep compilers from fusing the products with the sums.
		s0, s1 = s0+float64(a[0]*q[0]), s1+float64(a[1]*q[1])
		s2, s3 = s2+float64(a[2]*q[2]), s3+float64(a[3]*q[3])
		s4, s5 = s4+float64(a[4]*q[4]), s5+float64(a[5]*q[5])
		s6, s7 = s6+float64(a[6]*q[6]), s7+float64(a[7]*q[7])
	}
	*s = [8]float64{s0, s1, s2, s3, s4, s5, s6, s7}
	for j, v := range a {
		s[j] += float64(v * q[j])
	}
}

// SquaredDistances64 sets out[i] to the canonical sum of (q_j - a_j)^2, a being row ids[i] as Dots64 has it. The
// error of a sum is below (len(q)/32+9) 2^-53 times the sum for len(q) below 2^40, unless squares underflow.
func SquaredDistances64(out, rows []float64, ld int, ids []uint32, q []float64) {
	out = out[:len(ids)]
	for i, id := range ids {
		a := rows[int(id)*ld:][:len(q)]
		var s [lanes]float64
		for from := 0; from < min(lanes, len(a)); from += 8 {
			distanceLanes64((*[8]float64)(s[from:]), a[from:], q[from:])
		}
		out[i] = fold(&s)
	}
}

// distanceLanes64 sums eight of the lanes of a squared distance into s; a and q start at the first of them.
func distanceLanes64(s *[8]float64, a, q []float64) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	q = q[:len(a)]
	for ; len(a) >= 8 && len(q) >= 8; a, q = a[min(lanes, len(a)):], q[min(lanes, len(q)):] {
		d0, d1, d2, d3 := q[0]-a[0], q[1]-a[1], q[2]-a[2], q[3]-a[3]
		d4, d5, d6, d7 := q[4]-a[4], q[5]-a[5], q[6]-a[6], q[7]-a[7]
		s0, s1 = s0+float64(d0*d0), s1+float64(d1*d1)
		s2, s3 = s2+float64(d2*d2), s3+float64(d3*d3)
		s4, s5 = s4+float64(d4*d4), s5+float64(d5*d5)
		s6, s7 = s6+float64(d6*d6), s7+float64(d7*d7)
	}
	*s = [8]float64{s0, s1, s2, s3, s4, s5, s6, s7}
	for j, v := range a {
		d := q[j] - v
		s[j] += float64(d * d)
	}
}

// SumSquares64 returns the canonical sum of x_j^2.
func SumSquares64(x []float64) float64 {
	var sum [1]float64
	Dots64(sum[:], x, 0, []uint32{0}, x)
	return sum[0]
}

// Dots64 is the function Dots64 by kern, bit for bit.
func (kern Kernels) Dots64(out, rows []float64, ld int, ids []uint32, q []float64) {
	kern.dots64(out[:len(ids)], rows, ld, ids, q)
}

// SquaredDistances64 is the function SquaredDistances64 by kern, bit for bit.
func (kern Kernels) SquaredDistances64(out, rows []float64, ld int, ids []uint32, q []float64) {
	kern.squaredDistances64(out[:len(ids)], rows, ld, ids, q)
}
