package simd

// Dot returns sum a_j q_j in float64. The error is below
// len(a) 2^-53 |a||q|: none that a float32 score can show.
func Dot(a []float32, q []float64) float64 {
	q = q[:len(a)]
	var s, t, u, v float64
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := (*[4]float32)(a[i:]), (*[4]float64)(q[i:])
		s += float64(x[0]) * y[0]
		t += float64(x[1]) * y[1]
		u += float64(x[2]) * y[2]
		v += float64(x[3]) * y[3]
	}
	for ; i < len(a); i++ {
		s += float64(a[i]) * q[i]
	}
	return (s + t) + (u + v)
}

// Dots writes to out[i] the Dot of row ids[i] with q, bit for bit. rows is
// row-major: row r is the len(q) floats from r*ld.
func Dots(out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	out = out[:len(ids)]
	for i, id := range ids {
		out[i] = Dot(rows[int(id)*ld:][:len(q)], q)
	}
}

// DenseBlock is the length over which Dense4x2 sums in float32 before float64
// takes over; it sets the kernel's error bound.
const DenseBlock = 512

// Dense4x2 adds the eight inner products of rows r0, r1 and queries q0..q3 to
// out: [row][query]. All slices have one length, at most DenseBlock; sums
// inside are float32.
func Dense4x2(r0, r1, q0, q1, q2, q3 []float32, out *[8]float64) {
	n := len(r0)
	r1, q0, q1, q2, q3 = r1[:n], q0[:n], q1[:n], q2[:n], q3[:n]
	var a, b, c, d, e, f, g, h float32
	for i, x := range r0 {
		y := r1[i]
		s, t, u, v := q0[i], q1[i], q2[i], q3[i]
		a += x * s
		b += x * t
		c += x * u
		d += x * v
		e += y * s
		f += y * t
		g += y * u
		h += y * v
	}
	out[0] += float64(a)
	out[1] += float64(b)
	out[2] += float64(c)
	out[3] += float64(d)
	out[4] += float64(e)
	out[5] += float64(f)
	out[6] += float64(g)
	out[7] += float64(h)
}

// RowDot returns sum (code_j - 128) q_j, given bias = 128 sum q_j. |q_j| may
// be up to 2^15-1.
func RowDot(code []uint8, q []int16, bias int64) int64 {
	q = q[:len(code)]
	var s, t, u, v int64
	i := 0
	for ; i+4 <= len(code); i += 4 {
		x, y := (*[4]uint8)(code[i:]), (*[4]int16)(q[i:])
		s += int64(x[0]) * int64(y[0])
		t += int64(x[1]) * int64(y[1])
		u += int64(x[2]) * int64(y[2])
		v += int64(x[3]) * int64(y[3])
	}
	for ; i < len(code); i++ {
		s += int64(code[i]) * int64(q[i])
	}
	return s + t + u + v - bias
}
