package simd

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// BenchmarkFloat reports GB/s of floats read, by kernel/instructions/length.
func BenchmarkFloat(b *testing.B) {
	const most = 4096
	r := rand.New(rand.NewPCG(31, 32))
	x, y := normals(r, most, false), normals(r, most, false)
	q, sign := make([]float64, most), make([]float32, most)
	bytes, shorts := make([]uint8, most), make([]int16, most)
	for i := range q {
		q[i], sign[i] = r.NormFloat64(), float32(1-2*r.IntN(2))
	}
	perm := make([]uint32, most)
	for i := range perm {
		perm[i] = uint32(r.IntN(most))
	}
	kernels := []struct {
		name string
		run  func(kern Kernels, n int) float64
	}{
		{"Dot", func(kern Kernels, n int) float64 { return kern.Dot(x[:n], q[:n]) }},
		{"SumSquares", func(kern Kernels, n int) float64 { return kern.SumSquares(x[:n]) }},
		{"SquaredDistance", func(kern Kernels, n int) float64 { return kern.SquaredDistance(x[:n], q[:n]) }},
		{"DotSquares", func(kern Kernels, n int) float64 { return both(kern.DotSquares(x[:n], y[:n])) }},
		{"MaxAbs", func(kern Kernels, n int) float64 { return float64(kern.MaxAbs(x[:n])) }},
		{"Quantize", func(kern Kernels, n int) float64 { kern.Quantize(bytes[:n], x[:n], 30); return 0 }},
		{"QuantizeError", func(kern Kernels, n int) float64 {
			_, e := kern.QuantizeError(shorts[:n], x[:n], 7000, 32767, 1./7000)
			return e
		}},
		{"CodeMoments", func(kern Kernels, n int) float64 { return both(kern.CodeMoments(bytes[:n], x[:n])) }},
		{"FWHTScale", func(kern Kernels, n int) float64 { kern.FWHTScale(y[:n], sign[:n], min(n, 256), 1./16); return 0 }},
		{"Permute", func(kern Kernels, n int) float64 { kern.Permute(y[:n], x, perm[:n]); return 0 }},
		{"DotGather", func(kern Kernels, n int) float64 { return both(kern.DotGather(x, perm[:n], q[:n])) }},
	}
	var sum float64
	for _, k := range kernels {
		for _, kern := range Available() {
			for _, n := range []int{32, 256, 1024, 4096} {
				b.Run(fmt.Sprintf("%s/%v/%d", k.name, kern, n), func(b *testing.B) {
					for b.Loop() {
						sum += k.run(kern, n)
					}
					b.ReportMetric(4*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
				})
			}
		}
	}
	runtime.KeepAlive(sum) // keeps the compiler from dropping the computation
}

func both(a, b float64) float64 { return a + b }

// BenchmarkFloatDots and BenchmarkFloatDistances take 64 random rows a call, in ascending order, from
// a matrix that fits a second-level cache, one that fits a third-level cache, and one of 128 MB.
func BenchmarkFloatDots(b *testing.B) { benchmarkRows(b, Kernels.Dots) }

func BenchmarkFloatDistances(b *testing.B) { benchmarkRows(b, Kernels.SquaredDistances) }

func benchmarkRows(b *testing.B, kernel func(kern Kernels, out []float64, rows []float32, ld int, ids []uint32, q []float64)) {
	const list, lists = 64, 128
	m := make([]float32, 32<<20)
	for i := range m {
		m[i] = float32(i % 7)
	}
	q, out := make([]float64, 4096), make([]float64, list)
	r := rand.New(rand.NewPCG(33, 34))
	for _, kern := range Available() {
		for _, floats := range []int{128 << 10, 2 << 20, 32 << 20} {
			for _, n := range []int{32, 128, 768, 4096} {
				b.Run(fmt.Sprintf("%v/%dKB/%d", kern, floats>>8, n), func(b *testing.B) {
					ids := make([]uint32, lists*list)
					for i := range ids {
						ids[i] = uint32(r.IntN(floats / n))
					}
					for ids := range slices.Chunk(ids, list) {
						slices.Sort(ids)
					}
					for i := 0; b.Loop(); i++ {
						kernel(kern, out, m[:floats], n, ids[i%lists*list:][:list], q[:n])
					}
					b.ReportMetric(4*float64(n)*list*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
				})
			}
		}
	}
}
