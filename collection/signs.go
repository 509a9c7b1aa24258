package collection

import (
	"encoding/binary"
	"math"
	"unsafe"

	"thresher/simd"
)

// SignTerms are the terms of a deterministic look at the signs x of an atom's rest o: s x
// approximates o, and <o, w> is at most s<x, w> + |o - s x||w|. All have an entry an atom, in
// internal order.
type SignTerms struct {
	Scale  []float32 // s
	Radius []float32 // at least |o - s x|
	XNorm  []float32 // at least |s x|
}

// SignTerms computes the deterministic terms of the stage of signs, which c has, from its rows and all
// int8 codes. It reads all of them, so callers keep the result. docs/guarantee.md, certain.
func (c *Collection) SignTerms() SignTerms {
	t := SignTerms{Scale: make([]float32, c.N), Radius: make([]float32, c.N), XNorm: make([]float32, c.N)}
	l, whole := &c.Stages[c.StageOf(Signs)], &c.Stages[len(c.Stages)-1]
	signed := make([]uint8, (c.D+63)&^63)
	q := simd.RowQuery{Hi: unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(signed))), len(signed))}
	var sums [1]simd.SignSums
	row := []uint32{0}
	d := float64(c.D)
	for i := range c.N {
		sum := signedCodes(signed, c.Code(i)[c.R:])
		kernels.Signs(sums[:], l.Rows[i*l.Stride+c.R:(i+1)*l.Stride], l.Stride, row, 0, c.D, &q)
		cx := float64(2*int64(sums[0].Rest) - sum) // <codes, x>, exact
		scale := float64(whole.Scale[i])
		s := float32(max(0, scale*cx/d))
		// |coded - s x|^2, where XNorm is at least |coded| by a factor of Up: more than the rounding here.
		coded, wide := float64(whole.XNorm[i]), float64(s)
		apart := math.Sqrt(max(0, coded*coded-2*wide*scale*cx+wide*wide*d))
		t.Scale[i] = s
		t.Radius[i] = Upward((apart*Up + float64(whole.Beyond[i])) * Up)
		t.XNorm[i] = Upward(wide * math.Sqrt(d) * Up)
	}
	return t
}

// signedCodes writes biased codes without their bias, as int8, to dst and returns their sum. len(code)
// is a multiple of 8.
func signedCodes(dst, code []uint8) int64 {
	const bias, low = 0x8080808080808080, 0x00ff00ff00ff00ff
	var sum int64
	for from := 0; from < len(code); from += 8 * 128 {
		piece := code[from:min(len(code), from+8*128)]
		var lanes uint64 // of 16 bits, 256 terms of at most 255 each
		for j := 0; j+8 <= len(piece); j += 8 {
			w := binary.LittleEndian.Uint64(piece[j:])
			lanes += w&low + w>>8&low
			binary.LittleEndian.PutUint64(dst[from+j:], w^bias)
		}
		sum += int64(lanes&0xffff + lanes>>16&0xffff + lanes>>32&0xffff + lanes>>48)
	}
	return sum - simd.Bias*int64(len(code))
}
