//go:build (amd64 || arm64) && !noasm && !purego

package peak

import (
	"fmt"
	"testing"

	"thresher/simd"
)

// loop is one that multiplies.
type loop struct {
	name     string
	kernels  simd.Kernels // that it needs
	products int          // of a turn
	run      func(turns int)
}

// BenchmarkProducts multiplies zeros, which take as long as other numbers.
func BenchmarkProducts(b *testing.B) {
	const turns = 1000
	for _, l := range loops() {
		b.Run(l.name, func(b *testing.B) {
			if simd.Best() < l.kernels {
				b.Skipf("this processor lacks %v", l.kernels)
			}
			for b.Loop() {
				l.run(turns)
			}
			b.ReportMetric(turns*float64(l.products)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}

// BenchmarkRead reads one buffer again and again, of sizes that fit L1, L2 and
// L3 of a common server core and of one that fits none.
func BenchmarkRead(b *testing.B) {
	if simd.Best() == simd.Generic {
		b.Skip("this processor lacks vectors")
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
