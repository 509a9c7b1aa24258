//go:build !noasm && !purego

package peak

import (
	"fmt"
	"testing"

	"thresher/cpu/simd"
)

// BenchmarkProducts multiplies zeros, which x86 does no faster than other
// numbers.
func BenchmarkProducts(b *testing.B) {
	const turns = 1000
	for _, p := range []struct {
		name  string
		level simd.Level
		lanes int
		loop  func(int)
	}{
		{"int8/avx512", simd.AVX512, 64, int8AVX512},
		{"int8/avx2", simd.AVX2, 32, int8AVX2},
		{"float32/avx512", simd.AVX512, 16, floatAVX512},
		{"float32/avx2", simd.AVX2, 8, floatAVX2},
	} {
		b.Run(p.name, func(b *testing.B) {
			if simd.Best() < p.level {
				b.Skipf("this processor lacks %v", p.level)
			}
			for b.Loop() {
				p.loop(turns)
			}
			b.ReportMetric(turns*12*float64(p.lanes)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}

// BenchmarkRead reads one buffer again and again, of sizes that fit L1, L2 and
// L3 of a common server core and of one that fits none.
func BenchmarkRead(b *testing.B) {
	if simd.Best() < simd.AVX2 {
		b.Skip("this processor lacks AVX2")
	}
	for _, kib := range []int{16, 512, 8 << 10, 512 << 10} {
		b.Run(fmt.Sprintf("%dKiB", kib), func(b *testing.B) {
			buffer := make([]byte, kib<<10)
			for i := 0; i < len(buffer); i += 4096 {
				buffer[i] = 1 // or all pages would be the one zero page
			}
			for b.Loop() {
				read(&buffer[0], len(buffer))
			}
			b.ReportMetric(float64(len(buffer))*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
		})
	}
}
