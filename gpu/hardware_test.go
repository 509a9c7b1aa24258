//go:build cuda && cgo

package gpu

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/gpu/device"
	"thresher/gpu/device/emulator"
)

// The primitives of kernels/dev.cuh are inline PTX on a device and C++ on the emulator. These tests
// compare both with the descriptions in dev.cuh, on random contents; everything else that is tested
// on the emulator depends on them.

// fragmentCases is the number of warps that test a primitive.
const fragmentCases = 64

// product is one case of a matrix product: 16 rows times 8 columns, each of eight words, and the
// sums that it is added to.
type product struct {
	a [16][8]uint32
	b [8][8]uint32
	c [16][8]uint32
}

// fragments lays products out as warps hold them by dev.cuh: [case][register][lane].
func fragments(all []product) (a, b, c []uint32) {
	for _, p := range all {
		for r := range 4 {
			for lane := range 32 {
				g, t := lane/4, lane%4
				a = append(a, p.a[g+8*(r%2)][t+4*(r/2)])
			}
		}
		for r := range 2 {
			for lane := range 32 {
				b = append(b, p.b[lane/4][lane%4+4*r])
			}
		}
		for r := range 4 {
			for lane := range 32 {
				c = append(c, p.c[lane/4+8*(r/2)][2*(lane%4)+r%2])
			}
		}
	}
	return a, b, c
}

// sumAt returns the index of element (row, column) of case i's sums.
func sumAt(i, row, column int) int {
	return (i*4+2*(row/8)+column%2)*32 + row%8*4 + column/2
}

// multiply runs an entry of fragments.cu on products.
func multiply(b *preparer, entry string, all []product) []uint32 {
	x, y, c := fragments(all)
	da, db, dc := to(b, x), to(b, y), to(b, bytesOfSlice(c))
	dx, dy, ints, floats := device.Ptr(da), device.Ptr(db), device.View[int32](dc, 0), device.View[float32](dc, 0)
	shape := device.Shape{Grid: device.Dim{X: len(all)}, Block: device.Dim{X: 32}}
	switch entry {
	case "fragments_s8":
		b.q.fragmentsS8(shape, fragmentsS8Args{a: dx, b: dy, c: ints})
	case "fragments_u8s8":
		b.q.fragmentsU8s8(shape, fragmentsU8s8Args{a: dx, b: dy, c: ints})
	case "fragments_bf16":
		b.q.fragmentsBf16(shape, fragmentsBf16Args{a: dx, b: dy, c: floats})
	case "fragments_tf32":
		b.q.fragmentsTf32(shape, fragmentsTf32Args{a: dx, b: dy, c: floats})
	}
	from(b, da)
	from(b, db)
	copy(bytesOfSlice(c), from(b, dc))
	return c
}

// TestFragments: products of integers are exact, and their sums wrap; sums of K products of floats
// are within (K+1) 2^-22 of the sum of the magnitudes, the error that the bounds of the dense path
// allow for each coordinate.
func TestFragments(t *testing.T) {
	modes := []string{""}
	if emulator.Present() {
		modes = []string{"", "truncate"} // plain float32 sums, and those of the least exact tensor core known
	}
	for _, mode := range modes {
		t.Setenv("EMU_MMA", mode)
		for name, unsigned := range map[string]bool{"fragments_s8": false, "fragments_u8s8": true} {
			t.Run(name+mode, func(t *testing.T) { testInteger(t, name, unsigned) })
		}
		t.Run("fragments_bf16"+mode, func(t *testing.T) { testFloat(t, "fragments_bf16", drawBF16, valuesBF16) })
		t.Run("fragments_tf32"+mode, func(t *testing.T) { testFloat(t, "fragments_tf32", drawTF32, valuesTF32) })
	}
}

func testInteger(t *testing.T, entry string, unsigned bool) {
	r := rand.New(rand.NewPCG(11, 1))
	all := make([]product, fragmentCases)
	for i := range all {
		p := &all[i]
		word := func() uint32 {
			if i%4 == 3 { // only -128, 127 and 255, whose sums are the greatest
				return [...]uint32{0x80808080, 0x7f7f7f7f, 0xffffffff, 0x80ff7f80}[r.IntN(4)]
			}
			return r.Uint32()
		}
		for j := range 8 {
			for row := range 16 {
				p.a[row][j], p.c[row][j] = word(), r.Uint32()
			}
			for column := range 8 {
				p.b[column][j] = word()
			}
		}
	}
	onKernels(t, func(b *preparer) {
		got := multiply(b, entry, all)
		for i := range all {
			for row := range 16 {
				for column := range 8 {
					want := int32(all[i].c[row][column])
					for k := range 32 {
						x := int32(int8(all[i].a[row][k/4] >> (8 * (k % 4))))
						if unsigned {
							x &= 255
						}
						want += x * int32(int8(all[i].b[column][k/4]>>(8*(k%4))))
					}
					if g := int32(got[sumAt(i, row, column)]); g != want {
						t.Fatalf("case %d, row %d, column %d: %d, want %d", i, row, column, g, want)
					}
				}
			}
		}
	}, "fragments")
}

// drawFloat draws a normal number, in every fourth case one from a wide range.
func drawFloat(r *rand.Rand, i int) float32 {
	x := r.NormFloat64()
	if i%4 == 3 {
		x = math.Ldexp(x, r.IntN(60)-30)
	}
	return float32(x)
}

// drawBF16 draws two bfloat16 numbers in a word.
func drawBF16(r *rand.Rand, i int) uint32 {
	half := func() uint32 { return math.Float32bits(drawFloat(r, i)) >> 16 }
	return half()<<16 | half()
}

func valuesBF16(w uint32) []float64 {
	return []float64{float64(math.Float32frombits(w << 16)), float64(math.Float32frombits(w &^ 0xffff))}
}

// drawTF32 draws a tf32 number; in every other case with lower bits set, which products must
// ignore.
func drawTF32(r *rand.Rand, i int) uint32 {
	w := math.Float32bits(drawFloat(r, i))
	if i%2 == 0 {
		w &^= 0x1fff
	}
	return w
}

func valuesTF32(w uint32) []float64 { return []float64{float64(math.Float32frombits(w &^ 0x1fff))} }

func testFloat(t *testing.T, entry string, draw func(*rand.Rand, int) uint32, values func(uint32) []float64) {
	r := rand.New(rand.NewPCG(12, 1))
	all := make([]product, fragmentCases)
	// exact products, their sum with c, and that of the magnitudes
	sums := func(p *product, row, column int) (sum, size float64, k int) {
		c := float64(math.Float32frombits(p.c[row][column]))
		sum, size = c, math.Abs(c)
		for j := range 8 {
			y := values(p.b[column][j])
			for e, x := range values(p.a[row][j]) {
				sum, size, k = sum+x*y[e], size+math.Abs(x*y[e]), k+1
			}
		}
		return sum, size, k
	}
	for i := range all {
		p := &all[i]
		for j := range 8 {
			for row := range 16 {
				p.a[row][j] = draw(r, i)
			}
			for column := range 8 {
				p.b[column][j] = draw(r, i)
			}
		}
		for row := range 16 {
			for column := range 8 {
				c := drawFloat(r, i)
				if i%4 == 1 { // products and sums cancel
					s, _, _ := sums(p, row, column)
					c = float32(-s)
				}
				p.c[row][column] = math.Float32bits(c)
			}
		}
	}
	onKernels(t, func(b *preparer) {
		got := multiply(b, entry, all)
		worst := 0.0
		for i := range all {
			for row := range 16 {
				for column := range 8 {
					want, size, k := sums(&all[i], row, column)
					g := float64(math.Float32frombits(got[sumAt(i, row, column)]))
					off := math.Abs(g-want) / (float64(k+1) * 0x1p-22 * size)
					if !(off <= 1) {
						t.Fatalf("case %d, row %d, column %d: %g, want %g within %g", i, row, column, g, want, float64(k+1)*0x1p-22*size)
					}
					worst = max(worst, off)
				}
			}
		}
		t.Logf("farthest off: %.3f of what is allowed", worst)
	}, "fragments")
}

// TestFragmentsOfShared: ldmatrix.
func TestFragmentsOfShared(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	rows, names := make([]uint32, fragmentCases*32*4), make([]uint32, fragmentCases*32)
	for i := range rows {
		rows[i] = r.Uint32()
	}
	for i := range names {
		names[i] = r.Uint32N(32)
	}
	onKernels(t, func(b *preparer) {
		dr, dn, out := to(b, bytesOfSlice(rows)), to(b, names), room[uint32](b, fragmentCases*14*32)
		b.q.fragmentsLdmatrix(device.Shape{Grid: device.Dim{X: fragmentCases}, Block: device.Dim{X: 32}}, fragmentsLdmatrixArgs{rows: device.View[[4]uint32](dr, 0), names: device.Ptr(dn), out: device.Ptr(out)})
		from(b, dr)
		from(b, dn)
		got := from(b, out)
		for i := range fragmentCases {
			// word w of row g of the matrix whose rows lanes 8*of .. 8*of+7 name
			word := func(of, g, w int) uint32 { return rows[(i*32+int(names[i*32+8*of+g]))*4+w] }
			half := func(of, g, h int) uint32 { return word(of, g, h/2) >> (16 * (h % 2)) & 0xffff }
			reg := 0
			for _, transposed := range []bool{false, true} {
				for _, n := range []int{1, 2, 4} {
					for of := range n {
						for lane := range 32 {
							g, w := lane/4, lane%4
							want := word(of, g, w)
							if transposed {
								want = half(of, 2*w+1, g)<<16 | half(of, 2*w, g)
							}
							if v := got[(i*14+reg)*32+lane]; v != want {
								t.Fatalf("case %d, %d matrices, transposed %v, matrix %d, lane %d: %08x, want %08x", i, n, transposed, of, lane, v, want)
							}
						}
						reg++
					}
				}
			}
		}
	}, "fragments")
}

// TestAsyncCopiesToShared: cp.async of 0 to 16 bytes, with zeros beyond, in two groups.
func TestAsyncCopiesToShared(t *testing.T) {
	const many = 16 // blocks
	const pieces = many * 3 * 128
	r := rand.New(rand.NewPCG(14, 1))
	src, bytes := make([]uint8, 16*pieces), make([]uint32, pieces)
	for i := range src {
		src[i] = uint8(r.Uint32N(255)) // 255 is the content before the copy
	}
	for i := range bytes {
		bytes[i] = r.Uint32N(17)
	}
	onKernels(t, func(b *preparer) {
		ds, dn, out := to(b, src), to(b, bytes), room[uint8](b, len(src))
		b.q.fragmentsCpAsync(device.Shape{Grid: device.Dim{X: many}, Block: device.Dim{X: 128}}, fragmentsCpAsyncArgs{from: device.View[[4]uint32](ds, 0), bytes: device.Ptr(dn), out: device.View[[4]uint32](out, 0)})
		from(b, ds)
		from(b, dn)
		got := from(b, out)
		for at := range pieces {
			of := at
			if at/128%3 > 0 { // read by the next thread
				of = at - at%128 + (at+1)%128
			}
			want := make([]uint8, 16)
			copy(want, src[16*of:16*of+int(bytes[of])])
			if g := got[16*at : 16*at+16]; !slices.Equal(g, want) {
				t.Fatalf("piece %d of block %d, thread %d: % x, want % x (%d bytes)", at/128%3, at/128/3, at%128, g, want, bytes[of])
			}
		}
	}, "fragments")
}

// roundTo rounds x to so many bits of fraction; f decides ties.
func roundTo(x float32, fraction int, f func(float64) float64) float32 {
	v := float64(x)
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return x
	}
	last := max(math.Ilogb(v), -126) - fraction
	return float32(math.Ldexp(f(math.Ldexp(v, -last)), last)) // infinity if it exceeds the greatest float32
}

// TestWords: dot products of four bytes, exact, and roundings to tf32 and bfloat16, including edge
// cases.
func TestWords(t *testing.T) {
	edges := []uint32{
		0, 0x80000000, 1, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, // zero to infinity
		0x3f800fff, 0x3f801000, 0x3f801001, 0x3f803000, 0xbf801000, 0x00001000, 0x7f7ff000, // ties of tf32
		0x3f807fff, 0x3f808000, 0x3f808001, 0x3f818000, 0xbf808000, 0x00008000, 0x7f7f8000, // ties of bfloat16
		0x7fc00000, 0xffc00001, 0x7f800001, // NaN
	}
	r := rand.New(rand.NewPCG(15, 1))
	var a, b []uint32
	var c []int32
	for _, x := range edges {
		for _, y := range edges {
			a, b, c = append(a, x), append(b, y), append(c, int32(r.Uint32()))
		}
	}
	for range 5000 {
		a, b, c = append(a, r.Uint32()), append(b, r.Uint32()), append(c, int32(r.Uint32()))
	}
	n := len(a)
	onKernels(t, func(p *preparer) {
		da, db, dc := to(p, a), to(p, b), to(p, c)
		sums, rounded := room[int32](p, 2*n), room[uint32](p, 2*n)
		p.q.fragmentsWords(device.Shape{Grid: device.Dim{X: blocks(n, 256)}, Block: device.Dim{X: 256}}, fragmentsWordsArgs{
			a: device.Ptr(da), b: device.Ptr(db), c: device.Ptr(dc), sums: device.Ptr(sums), rounded: device.Ptr(rounded), n: uint32(n),
		})
		from(p, da)
		from(p, db)
		from(p, dc)
		gotSums, gotRounded := from(p, sums), from(p, rounded)
		for i := range n {
			signed, unsigned := c[i], c[i]
			var x, y [4]uint8
			binary.LittleEndian.PutUint32(x[:], a[i])
			binary.LittleEndian.PutUint32(y[:], b[i])
			for k := range 4 {
				signed += int32(int8(x[k])) * int32(int8(y[k]))
				unsigned += int32(x[k]) * int32(int8(y[k]))
			}
			if gotSums[i] != signed || gotSums[n+i] != unsigned {
				t.Fatalf("dp4a of %08x and %08x from %d: %d and %d, want %d and %d", a[i], b[i], c[i], gotSums[i], gotSums[n+i], signed, unsigned)
			}
			low, high := math.Float32frombits(a[i]), math.Float32frombits(b[i])
			if low == low { // to_tf32 of NaN is unspecified
				if want := math.Float32bits(roundTo(low, 10, math.Round)); gotRounded[i] != want {
					t.Fatalf("to_tf32(%08x): %08x, want %08x", a[i], gotRounded[i], want)
				}
			}
			half := func(f float32) uint32 {
				if f != f {
					return 0x7fff
				}
				return math.Float32bits(roundTo(f, 7, math.RoundToEven)) >> 16
			}
			if want := half(high)<<16 | half(low); gotRounded[n+i] != want {
				t.Fatalf("pack_bf16(%08x, %08x): %08x, want %08x", a[i], b[i], gotRounded[n+i], want)
			}
		}
	}, "fragments")
}
