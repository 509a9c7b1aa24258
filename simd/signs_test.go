package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// signsCase holds the inputs of a call of Signs.
type signsCase struct {
	codes               []uint8
	stride, head, width int
	ids                 []uint32
	q                   RowQuery
}

// sums returns the plain sums of row i.
func (c *signsCase) sums(i uint32) (s SignSums) {
	row := c.codes[int(i)*c.stride:]
	for j := range c.head {
		s.HeadHi += int32(row[j]) * int32(c.q.Hi[j])
		s.HeadLo += int32(row[j]) * int32(c.q.Lo[j])
	}
	for j := range c.width {
		if row[c.head+j/8]>>(j%8)&1 == 1 {
			s.Rest += int32(c.q.Hi[c.head+j])
		}
	}
	return s
}

// check compares kern with plain sums; what lies around the sums, and behind
// longer list, must not change.
func (c *signsCase) check(t *testing.T, kern Kernels) {
	t.Helper()
	guard := SignSums{1, 2, 3}
	room, intact := fenced(len(c.ids)+9, guard, equal)
	for i := range room {
		room[i] = guard
	}
	kern.Signs(room, c.codes, c.stride, c.ids, c.head, c.width, &c.q)
	for k, i := range c.ids {
		if want := c.sums(i); room[k] != want {
			t.Fatalf("%v: head %d, width %d, id %d of %d: %v, want %v", kern, c.head, c.width, k, len(c.ids), room[k], want)
		}
	}
	if !intact() || slices.ContainsFunc(room[len(c.ids):], func(s SignSums) bool { return s != guard }) {
		t.Fatalf("%v: head %d, width %d, %d ids: wrote beyond the sums", kern, c.head, c.width, len(c.ids))
	}
}

// newSignsCase draws a call on rows separated by gap bytes; the slice ends with the last
// row. Ids come in any order, some twice. The query is longer than the codes looked at.
func newSignsCase(r *rand.Rand, rows, head, width, gap, n int) *signsCase {
	extreme := r.IntN(2) == 0
	size := head + width/8
	c := &signsCase{stride: size + gap, head: head, width: width,
		q: RowQuery{rowCodes[int8](r, head+width+64, extreme), rowCodes[int8](r, head+width+64, extreme)}}
	c.codes = rowCodes[uint8](r, (rows-1)*c.stride+size, extreme)
	for range n {
		c.ids = append(c.ids, uint32(r.IntN(rows)))
	}
	if n > 0 {
		c.ids[r.IntN(n)] = uint32(rows - 1)
	}
	return c
}

// TestSigns tries all tails of head and rest and all numbers of rows up to several groups.
func TestSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	for _, kern := range Available() {
		for head := 0; head <= 136; head += 4 {
			for _, width := range []int{0, 32, 64, 96, 128, 160, 480, 512, 544} {
				newSignsCase(r, 40, head, width, 4*r.IntN(3), 1+r.IntN(20)).check(t, kern)
			}
		}
		for width := 0; width <= 1600; width += 32 {
			newSignsCase(r, 20, 32, width, 0, 9).check(t, kern)
		}
		for _, width := range []int{4064, 4096, 4128, 4192, 8192, 8224, 12320} {
			newSignsCase(r, 5, 32, width, 8, 7).check(t, kern)
			newSignsCase(r, 100, 0, width, 0, 131).check(t, kern)
		}
		for n := range 71 {
			newSignsCase(r, 100, 32, 768, 0, n).check(t, kern)
			newSignsCase(r, 100, 4*(n%20), 32*(n%7), 64, n).check(t, kern)
			newSignsCase(r, 1, 32, 96, 0, n).check(t, kern)
		}
	}
}

// TestSignsBits asserts that each single bit selects its own coordinate's code.
func TestSignsBits(t *testing.T) {
	const head, width = 4, 608
	r := rand.New(rand.NewPCG(83, 84))
	c := &signsCase{stride: head + width/8, head: head, width: width,
		q: RowQuery{rowCodes[int8](r, head+width, false), rowCodes[int8](r, head+width, false)}}
	c.codes = make([]uint8, width*c.stride)
	for j := range width {
		c.codes[j*c.stride+head+j/8] = 1 << (j % 8)
		c.ids = append(c.ids, uint32(j))
	}
	for _, kern := range Available() {
		c.check(t, kern)
	}
}

// TestSignsFar uses matrices large enough for prefetching to the level-2 cache.
func TestSignsFar(t *testing.T) {
	r := rand.New(rand.NewPCG(85, 86))
	for _, kern := range Available() {
		for _, shape := range [][2]int{{32, 768}, {32, 4096}, {0, 32}, {64, 0}, {28, 1536}} {
			stride := shape[0] + shape[1]/8 + 64
			c := newSignsCase(r, 3<<20/2/stride, shape[0], shape[1], 64, 200)
			slices.Sort(c.ids)
			ids := c.ids
			for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 31, 32, 33, 47, 48, 49, 55, 56, 57, 63, 64, 65, 99, 200} {
				c.ids = ids[len(ids)-n:]
				c.check(t, kern)
			}
		}
	}
}

// TestSignsExtremes asserts that the greatest possible sums fit, also when neighbouring
// lanes have opposite signs.
func TestSignsExtremes(t *testing.T) {
	c := &signsCase{stride: MaxScan + MaxScan/8, head: MaxScan, width: MaxScan, ids: []uint32{0, 1, 0, 1, 1, 0, 1, 0, 1}}
	for _, code := range []uint8{255, 0, 0x55, 0xaa, 0xf0, 0x81} {
		c.codes = slices.Repeat([]uint8{code}, 2*c.stride)
		for _, q := range [][]int8{{127, -128}, {-127, 127}, {-128, -128}, {127, -127, -128, 1}} {
			c.q = RowQuery{slices.Repeat(q, 2*MaxScan/len(q)), slices.Repeat(q[1:2], 2*MaxScan)}
			for _, kern := range Available() {
				c.check(t, kern)
			}
		}
	}
}

// TestSignsEstimate asserts that bits from PackSigns give the product with the signs.
func TestSignsEstimate(t *testing.T) {
	const width = 416
	r := rand.New(rand.NewPCG(87, 88))
	x := normals(r, width, false)
	q := rowCodes[int8](r, width, false)
	var want, all int32
	for j, v := range x {
		all += int32(q[j])
		if v < 0 {
			want -= int32(q[j])
			continue
		}
		want += int32(q[j])
	}
	for _, kern := range Available() {
		row, out := make([]uint8, width/8), make([]SignSums, 1)
		kern.PackSigns(row, x)
		kern.Signs(out, row, len(row), []uint32{0}, 0, width, &RowQuery{q, make([]int8, width)})
		if got := 2*out[0].Rest - all; got != want {
			t.Errorf("%v: product %d, want %d", kern, got, want)
		}
	}
}

// TestSignsRefuses asserts that arguments beyond their slices panic before anything is read.
func TestSignsRefuses(t *testing.T) {
	for _, kern := range Available() {
		for name, spoil := range map[string]func(c *signsCase) int{
			"a row beyond the codes": func(c *signsCase) int { c.ids[2] = 10; return len(c.ids) },
			"a row cut short":        func(c *signsCase) int { c.codes = slices.Clip(c.codes[:len(c.codes)-1]); return len(c.ids) },
			"short high halves":      func(c *signsCase) int { c.q.Hi = slices.Clip(c.q.Hi[:127]); return len(c.ids) },
			"short low halves":       func(c *signsCase) int { c.q.Lo = slices.Clip(c.q.Lo[:31]); return len(c.ids) },
			"few sums":               func(c *signsCase) int { return len(c.ids) - 1 },
		} {
			for _, n := range []int{6, 8, 19} {
				c := newSignsCase(rand.New(rand.NewPCG(89, 90)), 10, 32, 96, 0, n)
				out := make([]SignSums, spoil(c))
				t.Run(fmt.Sprintf("%v/%d/%s", kern, n, name), func(t *testing.T) {
					if !panics(func() { kern.Signs(out, c.codes, c.stride, c.ids, 32, 96, &c.q) }) {
						t.Error("went on")
					}
				})
			}
		}
	}
}

// TestPackSigns includes zeros, infinities and NaN of both signs.
func TestPackSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(91, 92))
	special := []uint32{0, 1 << 31, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 1, 1<<31 | 1}
	for _, kern := range Available() {
		for n := 0; n <= 512; n += 32 {
			x, _ := fenced(n, float32(math.Copysign(0, -1)), sameBits32)
			for i := range x {
				x[i] = math.Float32frombits(r.Uint32())
				if r.IntN(3) == 0 {
					x[i] = math.Float32frombits(special[r.IntN(len(special))])
				}
			}
			dst, intact := fenced(n/8+3, uint8(0xa5), equal[uint8])
			kern.PackSigns(dst, x)
			for j, v := range x {
				if got, want := dst[j/8]>>(j%8)&1 == 1, !math.Signbit(float64(v)); got != want {
					t.Fatalf("%v: bit %d of %d, of %g: %v", kern, j, n, v, got)
				}
			}
			if !intact() || dst[n/8] != 0xa5 || dst[n/8+1] != 0xa5 || dst[n/8+2] != 0xa5 {
				t.Fatalf("%v: %d signs: wrote beyond", kern, n)
			}
		}
		if !panics(func() { kern.PackSigns(make([]uint8, 7), make([]float32, 64)) }) {
			t.Errorf("%v: 64 signs in 7 bytes", kern)
		}
	}
}

func TestSumAbs(t *testing.T) {
	eachKernels(t, func(t *testing.T, kern Kernels, r *rand.Rand, n int, wild bool) {
		x, _ := fencedFloats(normals(r, n, wild))
		sum := newExactly()
		for i, v := range x {
			if i%7 == 3 {
				x[i], v = 0, 0
			}
			sum.add(math.Abs(float64(v)), 1)
		}
		if got := kern.SumAbs(x); !sum.within(got, n+8) {
			t.Fatalf("SumAbs of %d: %g, want %g", n, got, sum.sum)
		}
		for i := range min(n, 40) {
			x[n-1-i] = nan32
			if got := kern.SumAbs(x); !math.IsNaN(got) {
				t.Fatalf("SumAbs of %d, with a NaN at %d: %g", n, n-1-i, got)
			}
			x[n-1-i] = 1
		}
	})
}

// TestSignsStacks runs the kernels, which keep codes in their stack frame, at many
// stack depths: growing the stack moves it, and with it the sums of a partial group.
func TestSignsStacks(t *testing.T) {
	c := newSignsCase(rand.New(rand.NewPCG(101, 102)), 10, 32, 96, 0, 7)
	for _, kern := range Available() {
		for depth := range 40 {
			out, done := make([]SignSums, len(c.ids)), make(chan int)
			go func() {
				done <- deep(depth, func() { kern.Signs(out, c.codes, c.stride, c.ids, c.head, c.width, &c.q) })
			}()
			<-done
			for k, i := range c.ids {
				if want := c.sums(i); out[k] != want {
					t.Fatalf("%v: depth %d, id %d: %v, want %v", kern, depth, k, out[k], want)
				}
			}
		}
	}
}

// deep calls f below a number of frames of half a kilobyte.
func deep(frames int, f func()) int {
	var frame [64]int
	if frames == 0 {
		f()
		return 0
	}
	frame[frames] = deep(frames-1, f)
	return frame[frames] + frame[frames/2]
}

func TestSignsAllocateNothing(t *testing.T) {
	c := newSignsCase(rand.New(rand.NewPCG(93, 94)), 10, 32, 96, 0, 21)
	x, bits, out := make([]float32, 96), make([]uint8, 12), make([]SignSums, 21)
	for _, kern := range Available() {
		if got := testing.AllocsPerRun(10, func() {
			kern.Signs(out, c.codes, c.stride, c.ids, c.head, c.width, &c.q)
			kern.PackSigns(bits, x)
			kern.SumAbs(x[:95])
		}); got != 0 {
			t.Errorf("%v: %g allocations", kern, got)
		}
	}
}

// FuzzSigns compares all Kernels with plain sums.
func FuzzSigns(f *testing.F) {
	f.Add([]byte{255, 0, 128, 127}, uint8(8), uint8(24), uint8(0), uint16(9), uint64(1))
	f.Add([]byte{1}, uint8(0), uint8(1), uint8(1), uint16(1), uint64(2))
	f.Add([]byte("bits and codes"), uint8(9), uint8(0), uint8(5), uint16(130), uint64(3))
	f.Fuzz(func(t *testing.T, data []byte, head, width, gap uint8, n uint16, seed uint64) {
		if len(data) == 0 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 95))
		c := newSignsCase(r, fuzzedRows(r, seed, head, width, gap), 4*int(head), 32*int(width), 4*int(gap), int(n%300))
		fillFuzzed(c.codes, c.q.Hi, data)
		for _, kern := range Available() {
			c.check(t, kern)
		}
	})
}
