package simd

import (
	"encoding/binary"
	"math"
	"testing"
)

// FuzzFloat compares all Kernels on arbitrary bits: codes, their sums, permutations,
// maxima, transforms and canonical sums bit for bit; other sums if they are finite.
func FuzzFloat(f *testing.F) {
	f.Add([]byte{}, float32(1), uint16(127))
	f.Add(make([]byte, 4*33), float32(.5), uint16(32767))
	long := make([]byte, 4*300)
	for i := range long {
		long[i] = byte(i * i)
	}
	f.Add(long, float32(3), uint16(1))
	f.Add(long[:4*65+3], float32(math.Inf(1)), uint16(255))
	f.Fuzz(func(t *testing.T, data []byte, inv float32, limit uint16) {
		x := make([]float32, len(data)/4)
		q, perm := make([]float64, len(x)), make([]uint32, len(x))
		for i := range x {
			b := binary.LittleEndian.Uint32(data[4*i:])
			x[i] = math.Float32frombits(b)
			q[i], perm[i] = float64(int32(b)), b%uint32(len(x))
		}
		want := fuzzed(Generic, x, q, perm, inv, int32(limit&32767))
		for _, kern := range Available()[1:] {
			got := fuzzed(kern, x, q, perm, inv, int32(limit&32767))
			if d := want.differs(got); d != "" {
				t.Errorf("%v: %s differ on %x, inverse %g, limit %d", kern, d, data, inv, limit&32767)
			}
		}
	})
}

// fuzzResult holds the kernels' results for one input.
type fuzzResult struct {
	max, cc  float64
	sum      int64
	bytes    []uint8
	shorts   []int16
	permuted []float32
	turned   []float32
	same     []float64 // canonical sums
	sums     []float64 // each followed by the sum of its terms' magnitudes
}

func fuzzed(kern Kernels, x []float32, q []float64, perm []uint32, inv float32, limit int32) fuzzResult {
	n := len(x)
	r := fuzzResult{
		max: float64(kern.MaxAbs(x)), bytes: make([]uint8, n), shorts: make([]int16, n), permuted: make([]float32, n),
	}
	kern.Quantize(r.bytes, x, inv)
	var err2, co float64
	r.sum, err2 = kern.QuantizeError(r.shorts, x, inv, limit, 1/inv)
	co, r.cc = kern.CodeMoments(r.bytes, x)
	kern.Permute(r.permuted, x, perm)
	// Only finite entries of bounded size: the sign of a NaN is unspecified.
	for _, v := range x {
		if !(math.Abs(float64(v)) < 1e30) {
			v = 1
		}
		r.turned = append(r.turned, v)
	}
	block := 4
	for block*2 <= n && block < 1024 {
		block *= 2
	}
	r.turned = r.turned[:n/block*block]
	sign := make([]float32, len(r.turned))
	for i := range sign {
		sign[i] = 1 - 2*float32(i&1)
	}
	kern.FWHTScale(r.turned, sign, block, .25)
	shifted := make([]float64, n)
	for j := range x {
		shifted[j] = math.Ldexp(float64(x[n-1-j]), -int(limit%64))
	}
	r.same = []float64{kern.Dot(x, shifted), kern.SumSquares(x), kern.SquaredDistance(x, shifted)}
	squares := kern.SumSquares(x)
	_, xx := kern.DotSquares(x, x)
	_, gg := kern.DotGather(x, perm, q)
	var size, size2 float64
	for j, v := range x {
		size += math.Abs(float64(v) * q[j])
		size2 += math.Abs(float64(v)) * 128
	}
	r.sums = []float64{kern.Dot(x, q), size, co, size2, squares, squares, xx, xx, gg, gg, err2, err2}
	return r
}

// differs names the first promised equality that fails, "" if none does.
func (r fuzzResult) differs(o fuzzResult) string {
	for i := range r.bytes {
		if r.bytes[i] != o.bytes[i] || r.shorts[i] != o.shorts[i] {
			return "codes"
		}
		if a, b := r.permuted[i], o.permuted[i]; !sameBits32(a, b) && (a == a || b == b) {
			return "permutations"
		}
	}
	for i := range r.turned {
		if !sameBits32(r.turned[i], o.turned[i]) {
			return "transforms"
		}
	}
	if r.sum != o.sum || r.cc != o.cc || r.max != o.max && (r.max == r.max || o.max == o.max) {
		return "maxima or sums of codes"
	}
	for i, a := range r.same {
		if b := o.same[i]; !sameBits(a, b) && (a == a || b == b) { // NaN payloads are unspecified
			return "canonical sums"
		}
	}
	for i := 0; i < len(r.sums); i += 2 {
		a, b, size := r.sums[i], o.sums[i], r.sums[i+1]
		if size-size != 0 || a-a != 0 && b-b != 0 { // not finite
			continue
		}
		if !(math.Abs(a-b) <= float64(2*len(r.bytes)+8)*0x1p-53*size) {
			return "sums"
		}
	}
	return ""
}
