package cpu_test

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/cpu"
	"thresher/simd"
)

// TestDenseRounding: the error bound of the float32 test keeps the best atom even if its
// products lose what makes it the best, for so few queries that they are not packed, for more, and for some of both.
func TestDenseRounding(t *testing.T) {
	for _, m := range []int{1, 2, 3, 8, 12, 21, 40} {
		testDenseRounding(t, m)
	}
}

func testDenseRounding(t *testing.T, m int) {
	const tiny = math.SmallestNonzeroFloat32
	for name, x := range map[string]struct {
		dim   int
		query func(j int) float32
		rows  map[int]func(j int) float32 // the others are 0
		n     int
		best  int64
	}{
		// 1 + 256 products just below half a step of 1: a chain of float32 sums stays at 1
		"a chain of sums": {dim: 257, n: 2, best: 0,
			query: func(j int) float32 {
				if j == 0 {
					return 1
				}
				return float32(math.Exp2(-12.5))
			},
			rows: map[int]func(j int) float32{
				0: func(j int) float32 {
					if j == 0 {
						return 1
					}
					return float32(.999 * math.Exp2(-12.5))
				},
				1: func(j int) float32 {
					if j == 0 {
						return 1 + 0x1p-18
					}
					return 0
				},
			}},
		// the same in each of sixteen lanes, of which every product but the first is lost
		"lanes of sums": {dim: 16 * 17, n: 2, best: 0,
			query: func(j int) float32 {
				if j < 16 {
					return 1
				}
				return float32(math.Exp2(-12.5))
			},
			rows: map[int]func(j int) float32{
				0: func(j int) float32 {
					if j < 16 {
						return 1
					}
					return float32(.999 * math.Exp2(-12.5))
				},
				1: func(j int) float32 {
					if j < 16 {
						return 1 + 0x1p-22
					}
					return 0
				},
			}},
		// products of 1/20 of the least float32 are 0, of 14/20 of it 1
		"products that vanish": {dim: 256, n: 200, best: 150,
			query: func(int) float32 { return 1. / 20 },
			rows: map[int]func(j int) float32{
				0: func(j int) float32 {
					if j == 0 {
						return 14 * tiny
					}
					return 0
				},
				150: func(int) float32 { return tiny },
			}},
	} {
		rows, queries := make([]float32, x.n*x.dim), make([]float32, m*x.dim)
		for i, f := range x.rows {
			for j := range x.dim {
				rows[i*x.dim+j] = f(j)
			}
		}
		goals := make([]backend.Goal, m)
		for e := range goals {
			goals[e] = backend.Goal{K: 1, Floor: math.Inf(-1), Allowed: x.n, Ceiling: math.Inf(1)}
			for j := range x.dim {
				queries[e*x.dim+j] = x.query(j)
			}
		}
		c, err := collection.Build(context.Background(), rows, x.dim, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw})
		if err != nil {
			t.Fatal(err)
		}
		l := backendtest.Ladder{Dense: true}
		for _, kern := range simd.Available() {
			r, err := cpu.New(cpu.Options{Threads: 1, Kernels: &kern}).Load(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			answers, _, err := l.Search(context.Background(), r, backend.Queries{M: m, Dim: x.dim, Data: queries}, goals)
			r.Close()
			if err != nil {
				t.Fatal(err)
			}
			for e := range answers {
				if ids := answers[e].IDs; len(ids) != 1 || ids[0] != x.best {
					t.Errorf("%s, %v, query %d of %d: best %v, it is %d", name, kern, e, m, ids, x.best)
				}
			}
		}
	}
}

// TestDensePending: dense scans answer for more atoms than can be pending, for atoms of
// equal scores, and for all atoms that reach a floor.
func TestDensePending(t *testing.T) {
	for _, m := range []int{1, 3, 9, 19} { // not packed, packed, 16 of them packed
		testDensePending(t, m)
	}
}

func testDensePending(t *testing.T, m int) {
	const n, dim = 5000, 4
	for name, value := range map[string]func(i int) float32{
		"all alike":  func(int) float32 { return 7 },
		"ascending":  func(i int) float32 { return float32(i) },
		"descending": func(i int) float32 { return float32(n - i) },
		"mixed":      func(i int) float32 { return float32(i * 2003 % n) },
	} {
		rows, queries := make([]float32, n*dim), make([]float32, m*dim)
		for i := range n {
			rows[i*dim+i%dim] = value(i)
		}
		for j := range queries {
			queries[j] = float32(1 + j/dim)
		}
		c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{0, 1, 100, 3000, n} {
			goals := make([]backend.Goal, m)
			for e := range goals {
				goals[e] = backend.Goal{K: k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
				if k == 0 {
					goals[e].Floor = 3
				}
			}
			r, err := cpu.New(cpu.Options{Threads: 1}).Load(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			l := backendtest.Ladder{Dense: true}
			answers, _, err := l.Search(t.Context(), r, backend.Queries{M: m, Dim: dim, Data: queries}, goals)
			r.Close()
			if err != nil {
				t.Fatal(err)
			}
			for e := range answers {
				want := make([]int64, 0, n)
				for i := range n {
					if k > 0 || float32(e+1)*value(i) >= 3 {
						want = append(want, int64(i))
					}
				}
				slices.SortStableFunc(want, func(a, b int64) int { return cmp.Compare(value(int(b)), value(int(a))) })
				if k > 0 {
					want = want[:k]
				}
				if !slices.Equal(answers[e].IDs, want) {
					t.Errorf("%s, k %d, query %d: %d answers, first %v; want %d, first %v", name, k, e,
						len(answers[e].IDs), first(answers[e].IDs), len(want), first(want))
				}
			}
		}
	}
}

// first returns the first few of ids.
func first(ids []int64) []int64 { return ids[:min(5, len(ids))] }
