package simd

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkRows reports ns a row and GB/s of codes, by
// kernel/instructions/head+width/rows/share of rows visited. Rows are 832 bytes apart,
// in the level-2 cache, the level-3 cache or memory; successive lists of ids name all
// rows about once. Kernels alternate at each shape.
func BenchmarkRows(b *testing.B) {
	const stride, most = 832, 200_000
	r := rand.New(rand.NewPCG(71, 72))
	codes := make([]uint8, stride*most)
	for i := range codes {
		codes[i] = uint8(i*7 + i>>9)
	}
	q := RowQuery{make([]int8, stride), make([]int8, stride)}
	for c := range q.Hi {
		q.Hi[c], q.Lo[c] = int8(r.IntN(255)-127), int8(r.IntN(256)-128)
	}
	out, out8 := make([]RowSums, most), make([]RowSums8, most)
	for _, s := range []struct{ head, width, rows, percent int }{
		{64, 768, 1000, 1}, {64, 768, 1000, 10}, {64, 768, 20_000, 1}, {64, 768, 20_000, 10}, {64, 768, most, 1}, {64, 768, most, 10},
		{32, 256, 1000, 1}, {32, 256, 1000, 10}, {32, 256, 20_000, 1}, {32, 256, 20_000, 10}, {32, 256, most, 1}, {32, 256, most, 10},
	} {
		var lists [][]uint32
		for range 100 / s.percent {
			var kern []uint32
			for i := range s.rows {
				if r.IntN(100) < s.percent {
					kern = append(kern, uint32(i))
				}
			}
			lists = append(lists, kern)
		}
		m := codes[:stride*s.rows]
		for _, kernel := range []struct {
			name string
			run  func(kern Kernels, ids []uint32)
		}{
			{"16", func(kern Kernels, ids []uint32) { kern.Rows(out, m, stride, ids, s.head, s.width, &q) }},
			{"8", func(kern Kernels, ids []uint32) { kern.Rows8(out8, m, stride, ids, s.head, s.width, q.Hi) }},
		} {
			for _, kern := range Available() {
				b.Run(fmt.Sprintf("%s/%v/%d+%d/%d/%d%%", kernel.name, kern, s.head, s.width, s.rows, s.percent), func(b *testing.B) {
					n, at := 0, 0
					for b.Loop() {
						kernel.run(kern, lists[at])
						n += len(lists[at])
						at = (at + 1) % len(lists)
					}
					ns := float64(b.Elapsed().Nanoseconds()) / float64(n)
					b.ReportMetric(ns, "ns/row")
					b.ReportMetric(float64(s.head+s.width)/ns, "GB/s")
				})
			}
		}
	}
}
