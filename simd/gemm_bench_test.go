package simd

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkGemm reports GMAC/s; Kernels alternate at each k x width x n.
func BenchmarkGemm(b *testing.B) {
	for _, s := range []struct{ k, width, n int }{{768, 64, 4096}, {768, 48, 4096}, {768, 32, 4096}, {768, 16, 4096}, {64, 64, 4096}, {64, 48, 4096}, {256, 64, 64}} {
		r := rand.New(rand.NewPCG(1, 2))
		draw := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			return x
		}
		rows, panel, out := draw(s.n*s.k), draw(s.k*s.width), make([]float32, s.n*s.width)
		for _, kern := range Available() {
			b.Run(fmt.Sprintf("%v/%dx%dx%d", kern, s.k, s.width, s.n), func(b *testing.B) {
				for b.Loop() {
					kern.Gemm(out, s.width, rows, s.k, s.n, panel, s.k, s.width, false)
				}
				b.ReportMetric(float64(s.k*s.width*s.n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
			})
		}
	}
}

// BenchmarkPack reports GB/s of panel written.
func BenchmarkPack(b *testing.B) {
	for _, s := range []struct{ k, width int }{{768, 64}, {512, 16}} {
		src, panel := make([]float32, s.k*s.width), make([]float32, s.k*s.width)
		for _, kern := range Available() {
			b.Run(fmt.Sprintf("%v/%dx%d", kern, s.k, s.width), func(b *testing.B) {
				for b.Loop() {
					kern.Pack(panel, src, s.k, s.width, s.k, s.width)
				}
				b.ReportMetric(4*float64(s.k*s.width)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
			})
		}
	}
}

// BenchmarkDenseTest reports rows a microsecond, for tiles of 128 rows.
func BenchmarkDenseTest(b *testing.B) {
	const n = 128
	for _, width := range PanelWidths {
		dots, x, masks := make([]float32, n*width), make([]float32, n), make([]uint64, n)
		for _, kern := range Available() {
			b.Run(fmt.Sprintf("%v/%d", kern, width), func(b *testing.B) {
				for b.Loop() {
					kern.DenseTestRows(dots, width, x[:width], x[:width], x[:width], width, x, x, x, masks)
				}
				b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "rows/us")
			})
		}
	}
}
