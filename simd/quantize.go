package simd

import "math"

// Bias is added to a signed code to store it as an unsigned byte.
const Bias = 128

// MaxAbs returns the greatest |x_j|, 0 for an empty x.
func MaxAbs(x []float32) float32 {
	var m float32
	for _, v := range x {
		m = max(m, math.Float32frombits(math.Float32bits(v)&^(1<<31)))
	}
	return m
}

// round is 1.5 * 2^23: adding and subtracting it rounds a float32 of magnitude
// below 2^22 to the nearest integer, ties to even.
const round = 12582912

// Quantize sets dst[j] to the biased code round(x_j * inv) + 128, clamped to [1, 255].
// |x_j * inv| must be below 2^22; len(dst) >= len(x).
func Quantize(dst []uint8, x []float32, inv float32) {
	dst = dst[:len(x)]
	for j, v := range x {
		r := float32(v*inv) + round
		c := int32(math.Float32bits(r)) - 0x4b400000
		dst[j] = uint8(min(max(c, -127), 127) + Bias)
	}
}

// QuantizeError sets dst[j] to round(x_j * inv), clamped to [-limit, limit]. It returns the
// sum of the codes and, in float64, the sum of (x_j - step code_j)^2. len(dst) >= len(x).
func QuantizeError(dst []int16, x []float32, inv float32, limit int32, step float32) (sum int64, err2 float64) {
	dst = dst[:len(x)]
	for j, v := range x {
		r := float32(v*inv) + round
		c := min(max(int32(math.Float32bits(r))-0x4b400000, -limit), limit)
		dst[j] = int16(c)
		d := float64(v) - float64(step)*float64(c)
		sum += int64(c)
		err2 += d * d
	}
	return sum, err2
}

// CodeMoments returns sum c_j o_j and sum c_j^2 over codes c_j, biased in code, and the
// values o_j they stand for.
func CodeMoments(code []uint8, o []float32) (co, cc float64) {
	o = o[:len(code)]
	var n int64
	for j, c := range code {
		k := int64(c) - Bias
		co += float64(k) * float64(o[j])
		n += k * k
	}
	return co, float64(n)
}
