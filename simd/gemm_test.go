package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// foreign fills the memory of a grid outside its rows. It is a NaN, so that a sum that
// reads it shows it.
var foreign = math.Float32frombits(0x7fc0beef)

// grid holds rows of width floats, ld apart, in data, which ends with the last row and
// is surrounded by foreign memory.
type grid struct {
	all, data       []float32
	rows, width, ld int
}

func newGrid(rows, width, ld int, at func(i, j int) float32) grid {
	const band = 70
	size := max(0, (rows-1)*ld+width)
	g := grid{all: make([]float32, size+2*band), rows: rows, width: width, ld: ld}
	for i := range g.all {
		g.all[i] = foreign
	}
	g.data = g.all[band : band+size : band+size]
	for i := range rows {
		for j, row := 0, g.row(i); j < width; j++ {
			row[j] = at(i, j)
		}
	}
	return g
}

func (g grid) row(i int) []float32 { return g.data[i*g.ld:][:g.width] }

// intact reports whether the memory around and between the rows is unchanged.
func (g grid) intact() bool {
	n := 0
	for _, v := range g.all {
		if math.Float32bits(v) == math.Float32bits(foreign) {
			n++
		}
	}
	return n == len(g.all)-g.rows*g.width
}

// fma returns x y + z rounded once: the float64 sum is rounded to odd, which makes the
// second rounding exact since float64 has more than two digits more than float32.
func fma(x, y, z float32) float32 {
	p, c := float64(x)*float64(y), float64(z)
	s := p + c
	b := s - p
	if e := p - (s - b) + (c - b); e != 0 && math.Abs(s) < math.MaxFloat64 {
		if u := math.Float64bits(s); u&1 == 0 {
			if (e > 0) == (s > 0) {
				u++
			} else {
				u--
			}
			s = math.Float64frombits(u)
		}
	}
	return float32(s)
}

// chain returns the product that Gemm promises, fused or not, without the addition to out.
func chain(row []float32, panel []float32, width, j int, fused bool) float32 {
	var s float32
	for c, x := range row {
		if p := panel[c*width+j]; fused {
			s = fma(x, p, s)
		} else {
			s += float32(x * p)
		}
	}
	return s
}

// gemmKinds are the kinds of entries of rows and panels under test.
var gemmKinds = []struct {
	name string
	draw func(r *rand.Rand) float32
}{
	{"normal", func(r *rand.Rand) float32 { return float32(r.NormFloat64()) }},
	{"integer", func(r *rand.Rand) float32 { return float32(r.IntN(257) - 128) }},
	{"wild", func(r *rand.Rand) float32 {
		return float32(math.Ldexp(r.NormFloat64(), r.IntN(140)-100))
	}},
	{"cancelling", func(r *rand.Rand) float32 {
		return float32(1-2*r.IntN(2)) * (1 + float32(r.IntN(3)-1)*0x1p-23)
	}},
}

// TestGemm asserts that each entry is, bit for bit, one chain in the order of c, fused
// in all entries or in none, for every n; that it keeps the stated error; and that
// nothing outside is read or written.
func TestGemm(t *testing.T) {
	heights := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 23, 24, 25, 31, 50}
	for _, kind := range gemmKinds {
		for _, width := range PanelWidths {
			for _, k := range []int{0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 19, 31, 33, 64, 67} {
				r := rand.New(rand.NewPCG(uint64(k), uint64(width)))
				draw := func(int, int) float32 { return kind.draw(r) }
				const most = 50
				rows := newGrid(most, k, k+k%3, draw)
				panel := newGrid(k, width, width, draw)
				old := newGrid(most, width, width, draw)
				var want [2][most][64]float32 // not fused, fused
				for i := range most {
					for j := range width {
						want[0][i][j] = chain(rows.row(i), panel.data, width, j, false)
						want[1][i][j] = chain(rows.row(i), panel.data, width, j, true)
						checkError(t, want[1][i][j], rows.row(i), panel.data, width, j)
						checkError(t, want[0][i][j], rows.row(i), panel.data, width, j)
					}
				}
				for _, n := range heights {
					for _, kern := range Available() {
						for _, add := range []bool{false, true} {
							out := newGrid(n, width, width+n%4, func(i, j int) float32 { return old.row(i)[j] })
							kern.Gemm(out.data, out.ld, rows.data[:max(0, (n-1)*rows.ld+k)], rows.ld, n, panel.data, k, width, add)
							var differ [2]int
							for i := range n {
								for j, got := range out.row(i) {
									for f := range want {
										w := want[f][i][j]
										if add {
											w += old.row(i)[j]
										}
										if math.Float32bits(got) != math.Float32bits(w) {
											differ[f]++
										}
									}
								}
							}
							if min(differ[0], differ[1]) > 0 {
								t.Fatalf("%v %s width %d k %d n %d add %v: %d entries differ from the chain, %d from the fused one",
									kern, kind.name, width, k, n, add, differ[0], differ[1])
							}
							if !out.intact() || !rows.intact() || !panel.intact() {
								t.Fatalf("%v width %d k %d n %d: wrote outside out", kern, width, k, n)
							}
						}
					}
				}
			}
		}
	}
}

// checkError compares a chain with the bound Gemm states for it.
func checkError(t *testing.T, got float32, row, panel []float32, width, j int) {
	t.Helper()
	var sum, size float64
	for c, x := range row {
		p := float64(x) * float64(panel[c*width+j])
		sum, size = sum+p, size+math.Abs(p)
	}
	k := float64(len(row))
	// The last term is the rounding of the float64 reference.
	if e := math.Abs(float64(got) - sum); !(e <= k*0x1p-24*size+k*0x1p-150+k*0x1p-52*size) {
		t.Fatalf("a chain of %d is off by %g, its terms' size is %g", len(row), e, size)
	}
}

// TestGemmRefuses asserts a panic before the kernel runs if it would leave a slice.
func TestGemmRefuses(t *testing.T) {
	const n, k, width, ld = 9, 10, 32, 40
	out, rows, panel := make([]float32, (n-1)*ld+width), make([]float32, (n-1)*ld+k), make([]float32, k*width)
	masks := make([]uint64, n)
	short := func(x []float32) []float32 { return x[: len(x)-1 : len(x)-1] }
	for _, kern := range Available() {
		gemm := func(out, rows, panel []float32) { kern.Gemm(out, ld, rows, ld, n, panel, k, width, false) }
		dense := func(dots, column, row []float32) {
			kern.DenseTestRows(dots, ld, column, column, column, width, row, row, row, masks)
		}
		column, row := make([]float32, width), make([]float32, n)
		gemm(out, rows, panel)
		dense(out, column, row)
		kern.Pack(panel, rows, ld, n, k, width)
		for name, call := range map[string]func(){
			"short out":                 func() { gemm(short(out), rows, panel) },
			"short rows":                func() { gemm(out, short(rows), panel) },
			"short panel":               func() { gemm(out, rows, short(panel)) },
			"short dots":                func() { dense(short(out), column, row) },
			"few column terms":          func() { dense(out, short(column), row) },
			"few row terms":             func() { dense(out, column, short(row)) },
			"short packed panel":        func() { kern.Pack(short(panel), rows, ld, n, k, width) },
			"short vectors":             func() { kern.Pack(panel, short(rows), ld, n, k, width) },
			"more vectors than columns": func() { kern.Pack(panel, make([]float32, 40*ld), ld, 40, k, width) },
			"rows going back":           func() { kern.Gemm(out, ld, rows, -1, n, panel, k, width, false) },
			"negative k":                func() { kern.Gemm(out, ld, rows, ld, n, panel, -1, width, false) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%v: accepted: %s", kern, name)
					}
				}()
				call()
			}()
		}
	}
}

func TestPack(t *testing.T) {
	for _, kern := range Available() {
		for _, width := range PanelWidths {
			for _, k := range []int{0, 1, 5, 7, 8, 9, 15, 16, 23, 40, 67} {
				for n := range width + 1 {
					src := newGrid(n, k, k+n%3, func(i, j int) float32 { return float32(1 + i*k + j) })
					panel := newGrid(k, width, width, func(int, int) float32 { return -1 })
					kern.Pack(panel.data, src.data, src.ld, n, k, width)
					for c := range k {
						for j, got := range panel.row(c) {
							want := float32(0)
							if j < n {
								want = src.row(j)[c]
							}
							if got != want {
								t.Fatalf("%v width %d k %d n %d: entry %d of vector %d is %g, want %g", kern, width, k, n, c, j, got, want)
							}
						}
					}
					if !panel.intact() || !src.intact() {
						t.Fatalf("%v width %d k %d n %d: wrote outside the panel", kern, width, k, n)
					}
				}
			}
		}
	}
}

// TestDenseTest asserts the same masks from all Kernels: at the threshold, one rounding
// from it (where a fused product would show), and for NaN and infinities.
func TestDenseTest(t *testing.T) {
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, math.MaxFloat32}
	for _, width := range PanelWidths {
		for n := range 20 {
			r := rand.New(rand.NewPCG(uint64(n), uint64(width)))
			draw := func(int, int) float32 {
				if r.IntN(30) == 0 {
					return odd[r.IntN(len(odd))]
				}
				return float32(r.NormFloat64())
			}
			dots := newGrid(n, width, width+n%5, draw)
			columns, terms := newGrid(3, width, width+90, draw), newGrid(3, n, n+90, draw)
			want := make([]uint64, n)
			var bits int
			for j := range width {
				// Each column's threshold is the value of one of the rows, or a float next to it.
				i := 0
				if n > 0 {
					i = r.IntN(n)
				}
				value := func(i int) float32 {
					// The conversions keep compilers from fusing products with sums.
					s := float32(dots.row(i)[j]*terms.row(0)[i]) + float32(columns.row(0)[j]*terms.row(1)[i])
					return s + float32(columns.row(1)[j]*terms.row(2)[i])
				}
				tau := &columns.row(2)[j]
				if n > 0 && r.IntN(10) > 0 {
					*tau = value(i)
					if r.IntN(2) == 0 {
						*tau = math.Nextafter32(*tau, float32(math.Inf(1)))
					}
				}
				for i := range n {
					if v := value(i); v >= *tau || v != v || *tau != *tau {
						want[i] |= 1 << j
						bits++
					}
				}
			}
			if n > 4 && (bits < n*width/10 || bits > n*width*9/10) {
				t.Fatalf("width %d n %d: %d bits set, the data test little", width, n, bits)
			}
			for _, kern := range Available() {
				masks := make([]uint64, n+2)
				for i := range masks {
					masks[i] = 0x5555aaaa5555aaaa
				}
				kern.DenseTestRows(dots.data, dots.ld, columns.row(0), columns.row(1), columns.row(2), width,
					terms.row(0), terms.row(1), terms.row(2), masks[1:n+1])
				if masks[0] != 0x5555aaaa5555aaaa || masks[n+1] != masks[0] || !dots.intact() {
					t.Fatalf("%v width %d n %d: wrote outside the masks", kern, width, n)
				}
				for i, m := range masks[1 : n+1] {
					if m != want[i] {
						t.Fatalf("%v width %d row %d of %d: mask %x, want %x", kern, width, i, n, m, want[i])
					}
				}
			}
		}
	}
}

func TestGemmAllocatesNothing(t *testing.T) {
	const n, k, width = 10, 20, 32
	x, panel, masks := make([]float32, n*width), make([]float32, k*width), make([]uint64, n)
	for _, kern := range Available() {
		got := testing.AllocsPerRun(10, func() {
			kern.Pack(panel, x, k, 16, k, width)
			kern.Gemm(x, width, panel, k, n, panel, k, width, false)
			kern.DenseTestRows(x, width, panel, panel, panel, width, x, x, x, masks)
		})
		if got != 0 {
			t.Errorf("%v: %g allocations", kern, got)
		}
	}
}

// FuzzGemm packs vectors of arbitrary bits and multiplies rows by them: all Kernels
// must give the chain, fused or not, or a NaN where that is one.
func FuzzGemm(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint8(1), uint8(1), uint8(0), uint8(0), false)
	f.Add(uint64(2), uint8(1), uint8(33), uint8(17), uint8(2), uint8(5), true)
	f.Add(uint64(3), uint8(2), uint8(70), uint8(64), uint8(0), uint8(1), true)
	f.Fuzz(func(t *testing.T, seed uint64, w, k8, n8, gapIn, gapOut uint8, add bool) {
		width, k, n := PanelWidths[int(w)%len(PanelWidths)], int(k8), int(n8)%80
		r := rand.New(rand.NewPCG(seed, 1))
		any := func(int, int) float32 {
			u := r.Uint32()
			if seed%2 == 0 {
				u = u&0x807fffff | uint32(64+r.IntN(128))<<23 // neither NaN nor extreme
			}
			return math.Float32frombits(u)
		}
		src := newGrid(int(seed)&math.MaxInt%(width+1), k, k+int(gapIn), any)
		rows := newGrid(n, k, k+int(gapIn), any)
		old := newGrid(n, width, width, any)
		for _, kern := range Available() {
			panel := newGrid(k, width, width, any)
			kern.Pack(panel.data, src.data, src.ld, src.rows, k, width)
			out := newGrid(n, width, width+int(gapOut), func(i, j int) float32 { return old.row(i)[j] })
			kern.Gemm(out.data, out.ld, rows.data, rows.ld, n, panel.data, k, width, add)
			if !out.intact() || !panel.intact() {
				t.Fatalf("%v: wrote outside", kern)
			}
			for i := range n {
				for j, got := range out.row(i) {
					fused, plain := chain(rows.row(i), panel.data, width, j, true), chain(rows.row(i), panel.data, width, j, false)
					if add {
						fused, plain = fused+old.row(i)[j], plain+old.row(i)[j]
					}
					if got != fused && got != plain && (got == got || fused == fused && plain == plain) {
						t.Fatalf("%v row %d column %d: %g, want %g or %g", kern, i, j, got, fused, plain)
					}
				}
			}
		}
	})
}
