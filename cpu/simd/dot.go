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
