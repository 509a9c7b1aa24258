package simd

// A canonical sum is the same float64 on every processor, bit for bit: its order
// is part of its definition. Term j goes to lane j mod 32. A lane starts at +0 and
// adds its terms by ascending j, each addition rounded by itself. The lanes are
// added up in halves: lane l takes lane l+16, for l below 16, then lane l+8, l+4,
// l+2 and l+1, and lane 0 is the sum. Terms of +0 behind the last leave it as it
// is, for no lane ever holds -0, so kernels may pad.
//
// A term is rounded before it is added. Where the term is a product that float64
// holds without rounding, a fused multiply-add gives the same.
const lanes = 32

// fold adds up the lanes.
func fold(s *[lanes]float64) float64 {
	var e [8]float64
	for i := range e {
		e[i] = (s[i] + s[i+16]) + (s[i+8] + s[i+24])
	}
	return ((e[0] + e[4]) + (e[2] + e[6])) + ((e[1] + e[5]) + (e[3] + e[7]))
}
