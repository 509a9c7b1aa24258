package simd

import (
	"fmt"
	"testing"
)

// BenchmarkGemmFew reports GB/s of rows read and GMAC/s, of GemmFew and, as "packed", of Gemm at
// the least width that holds the queries.
func BenchmarkGemmFew(b *testing.B) {
	for _, s := range []struct{ n, k int }{{61440, 768}, {20000, 64}, {1000, 768}, {128, 768}, {128, 64}, {128, 128}} {
		rows := make([]float32, s.n*s.k)
		for i := range rows {
			rows[i] = float32(i % 7)
		}
		const tile = 128
		queries, panel, out := make([]float32, 64*s.k), make([]float32, 64*s.k), make([]float32, tile*64)
		for _, m := range []int{1, 2, 4, 7, 8, 12, 16, 24, 32, 40, 48} {
			for _, kern := range Available()[1:] {
				width := 16
				for width < m {
					width *= 2
				}
				for name, f := range map[string]func(rows []float32, n int){
					"few": func(rows []float32, n int) { kern.GemmFew(out, tile, rows, s.k, n, queries, s.k, m, s.k, false) },
					"packed": func(rows []float32, n int) {
						kern.Gemm(out, width, rows, s.k, n, panel, s.k, width, false)
					},
				} {
					b.Run(fmt.Sprintf("%dx%d/m=%d/%v/%s", s.n, s.k, m, kern, name), func(b *testing.B) {
						for b.Loop() {
							for lo := 0; lo < s.n; lo += tile {
								f(rows[lo*s.k:], min(tile, s.n-lo))
							}
						}
						each := b.Elapsed().Seconds() / float64(b.N)
						b.ReportMetric(4*float64(s.n*s.k)/each/1e9, "GB/s")
						b.ReportMetric(float64(m*s.n*s.k)/each/1e9, "GMAC/s")
					})
				}
			}
		}
	}
}
