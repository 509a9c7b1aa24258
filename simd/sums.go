package simd

// A canonical sum is a float64 whose order of additions is part of its definition, so
// that every processor gets the same bits. Term j belongs to lane j mod 32. Each lane
// starts at +0 and adds its terms by ascending j, each addition rounded. The lanes are
// then folded in halves: lane l adds lane l+16 for l below 16, then lane l+8, l+4, l+2
// and l+1; lane 0 is the sum. No lane ever holds -0, so terms of +0 after the last
// change nothing and kernels may pad.
//
// Each term is rounded before it is added. If a term is a product that is exact in
// float64, a fused multiply-add gives the same bits.
const lanes = 32

func fold(s *[lanes]float64) float64 {
	var e [8]float64
	for i := range e {
		e[i] = (s[i] + s[i+16]) + (s[i+8] + s[i+24])
	}
	return ((e[0] + e[4]) + (e[2] + e[6])) + ((e[1] + e[5]) + (e[3] + e[7]))
}
