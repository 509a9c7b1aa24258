package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// fewChains returns a product that GemmFew promises, by chains lanes of multiply-adds, fused or not,
// that are added in pairs: sixteen lanes in halves first, then neighbours.
func fewChains(a, b []float32, chains int, fused bool) float32 {
	s := make([]float32, chains)
	for c, x := range a {
		if j := c % chains; fused {
			s[j] = fma(x, b[c], s[j])
		} else {
			s[j] += float32(x * b[c])
		}
	}
	for j := range chains - 8 {
		s[j] += s[8+j]
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// fewHeights and fewCounts are numbers of rows and of queries that reach every tile of GemmFew.
var fewHeights, fewCounts = []int{0, 1, 3, 4, 7, 8, 9, 16, 21}, []int{1, 2, 3, 4, 5, 7, 9}

// TestGemmFew asserts that products keep the stated error, do not depend on the other rows and
// queries, and that nothing outside is read or written.
func TestGemmFew(t *testing.T) {
	for _, kind := range gemmKinds {
		for _, k := range []int{0, 1, 5, 7, 8, 9, 15, 16, 17, 31, 33, 48, 64, 100} {
			r := rand.New(rand.NewPCG(uint64(k), 3))
			draw := func(int, int) float32 { return kind.draw(r) }
			const maxRows, maxQueries = 21, 9
			rows := newGrid(maxRows, k, k+k%3, draw)
			queries := newGrid(maxQueries, k, k+k%5, draw)
			old := newGrid(maxQueries, maxRows, maxRows, draw)
			for _, kern := range Available() {
				var want [maxQueries][maxRows]float32
				for e := range want {
					for i := range want[e] {
						out := newGrid(1, 1, 1, draw)
						kern.GemmFew(out.data, 1, rows.row(i), k, 1, queries.row(e), k, 1, k, false)
						want[e][i] = out.data[0]
						checkFewError(t, kern, want[e][i], rows.row(i), queries.row(e))
					}
				}
				for _, n := range fewHeights {
					for _, m := range fewCounts {
						for _, add := range []bool{false, true} {
							out := newGrid(m, n, n+n%4, func(e, i int) float32 { return old.row(e)[i] })
							kern.GemmFew(out.data, out.ld, rows.data[:max(0, (n-1)*rows.ld+k)], rows.ld, n, queries.data[:(m-1)*queries.ld+k], queries.ld, m, k, add)
							for e := range m {
								for i, got := range out.row(e) {
									w := want[e][i]
									if add {
										w += old.row(e)[i]
									}
									if math.Float32bits(got) != math.Float32bits(w) {
										t.Fatalf("%v %s k %d, row %d of %d, query %d of %d, add %v: %g, alone %g", kern, kind.name, k, i, n, e, m, add, got, w)
									}
								}
							}
							if !out.intact() || !rows.intact() || !queries.intact() {
								t.Fatalf("%v k %d n %d m %d: wrote outside out", kern, k, n, m)
							}
						}
					}
				}
			}
		}
	}
}

// checkFewError compares a product with the bound that GemmFew states for it.
func checkFewError(t *testing.T, kern Kernels, got float32, a, b []float32) {
	t.Helper()
	var sum, size float64
	for c, x := range a {
		p := float64(x) * float64(b[c])
		sum, size = sum+p, size+math.Abs(p)
	}
	k := float64(len(a))
	// The last term is the rounding of the float64 reference.
	if e := math.Abs(float64(got) - sum); !(e <= (math.Floor(k/8)+6)*0x1p-24*size+k*0x1p-150+k*0x1p-52*size) {
		t.Fatalf("%v: a product of %d is off by %g, its terms' size is %g", kern, len(a), e, size)
	}
}

// TestGemmFewRefuses asserts a panic before the kernel runs if it would leave a slice.
func TestGemmFewRefuses(t *testing.T) {
	const n, m, k, ld = 9, 3, 10, 40
	out, rows, queries := make([]float32, (m-1)*ld+n), make([]float32, (n-1)*ld+k), make([]float32, (m-1)*ld+k)
	terms, masks := make([]float32, n), make([]uint64, 1)
	short := func(x []float32) []float32 { return x[: len(x)-1 : len(x)-1] }
	for _, kern := range Available() {
		few := func(out, rows, queries []float32) {
			kern.GemmFew(out, ld, rows, ld, n, queries, ld, m, k, false)
		}
		test := func(scale []float32, masks []uint64) {
			kern.DenseTestColumn(rows[:n], 1, 1, 1, scale, terms, terms, masks)
		}
		few(out, rows, queries)
		test(terms, masks)
		for name, call := range map[string]func(){
			"short out":     func() { few(short(out), rows, queries) },
			"short rows":    func() { few(out, short(rows), queries) },
			"short queries": func() { few(out, rows, short(queries)) },
			"few row terms": func() { test(short(terms), masks) },
			"few masks":     func() { test(terms, nil) },
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

// TestDenseTestColumn asserts the masks that DenseTestRows gives for one query, from all Kernels.
func TestDenseTestColumn(t *testing.T) {
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, math.MaxFloat32}
	for n := range 150 {
		r := rand.New(rand.NewPCG(uint64(n), 5))
		draw := func(int, int) float32 {
			if r.IntN(30) == 0 {
				return odd[r.IntN(len(odd))]
			}
			return float32(r.NormFloat64())
		}
		terms := newGrid(4, n, n+90, draw)
		dots, scale, size, offset := terms.row(0), terms.row(1), terms.row(2), terms.row(3)
		const width = 16
		rows, column := make([]float32, n*width), make([]float32, width)
		for i, v := range dots {
			rows[i*width] = v
		}
		for range 3 {
			margin, factor, tau := draw(0, 0), draw(0, 0), draw(0, 0)
			if n > 0 && r.IntN(2) == 0 { // at the threshold, where a fused product would show
				i := r.IntN(n)
				tau = float32(dots[i]*scale[i]) + float32(margin*size[i]) + float32(offset[i]*factor)
			}
			want := make([]uint64, n)
			margins, factors, taus := append([]float32{margin}, column[1:]...), append([]float32{factor}, column[1:]...), append([]float32{tau}, column[1:]...)
			Generic.DenseTestRows(rows, width, margins, factors, taus, width, scale, size, offset, want)
			for _, kern := range Available() {
				words := (n + 63) / 64
				masks := make([]uint64, words+1)
				for i := range masks {
					masks[i] = 0x5555aaaa5555aaaa
				}
				kern.DenseTestColumn(dots, margin, factor, tau, scale, size, offset, masks)
				if masks[words] != 0x5555aaaa5555aaaa || !terms.intact() {
					t.Fatalf("%v n %d: wrote outside the masks", kern, n)
				}
				for i := range 64 * words {
					got := masks[i/64]>>(i%64)&1 == 1
					if got != (i < n && want[i]&1 == 1) {
						t.Fatalf("%v n %d row %d: passes %v", kern, n, i, got)
					}
				}
			}
		}
	}
}

func TestGemmFewAllocatesNothing(t *testing.T) {
	const n, m, k = 30, 3, 20
	x, masks := make([]float32, n*k), make([]uint64, 1)
	out := make([]float32, m*n)
	for _, kern := range Available() {
		got := testing.AllocsPerRun(10, func() {
			kern.GemmFew(out, n, x, k, n, x, k, m, k, false)
			kern.DenseTestColumn(out[:n], 1, 1, 1, x[:n], x[:n], x[:n], masks)
		})
		if got != 0 {
			t.Errorf("%v: %g allocations", kern, got)
		}
	}
}

// FuzzGemmFew multiplies rows and queries of arbitrary bits: all Kernels must give the sum of eight
// or sixteen chains, fused or not, or a NaN where that is one.
func FuzzGemmFew(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint8(1), uint8(1), uint8(0), uint8(0), false)
	f.Add(uint64(2), uint8(2), uint8(33), uint8(17), uint8(2), uint8(5), true)
	f.Add(uint64(4), uint8(6), uint8(70), uint8(64), uint8(0), uint8(1), true)
	f.Fuzz(func(t *testing.T, seed uint64, m8, k8, n8, gapIn, gapOut uint8, add bool) {
		m, k, n := 1+int(m8)%9, int(k8), int(n8)%80
		r := rand.New(rand.NewPCG(seed, 1))
		any := func(int, int) float32 {
			u := r.Uint32()
			if seed%2 == 0 {
				u = u&0x807fffff | uint32(64+r.IntN(128))<<23 // neither NaN nor extreme
			}
			return math.Float32frombits(u)
		}
		queries := newGrid(m, k, k+int(gapIn), any)
		rows := newGrid(n, k, k+int(gapIn), any)
		old := newGrid(m, n, n, any)
		for _, kern := range Available() {
			out := newGrid(m, n, n+int(gapOut), func(e, i int) float32 { return old.row(e)[i] })
			kern.GemmFew(out.data, out.ld, rows.data, rows.ld, n, queries.data, queries.ld, m, k, add)
			if !out.intact() {
				t.Fatalf("%v: wrote outside", kern)
			}
			for e := range m {
				for i, got := range out.row(e) {
					ok := false
					for _, chains := range []int{8, 16} {
						for _, fused := range []bool{false, true} {
							want := fewChains(rows.row(i), queries.row(e), chains, fused)
							if add {
								want += old.row(e)[i]
							}
							ok = ok || got == want || got != got && want != want
						}
					}
					if !ok {
						t.Fatalf("%v row %d query %d: %g is no sum of chains", kern, i, e, got)
					}
				}
			}
		}
	})
}
