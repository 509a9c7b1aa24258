package simd

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// BenchmarkSigns reports ns a row and GB/s of rows, by instructions/width/place/rows a
// call. Rows have a head of 32 codes and width bits, in the level-2 cache, the level-3
// cache or memory; successive lists of ascending ids with gaps name all rows once. /384
// and /whole are Rows of the head and 384 or width codes, for comparison, on rows of one
// byte a coordinate in as much memory. Kernels alternate at each shape.
func BenchmarkSigns(b *testing.B) {
	const head, most = 32, 4096
	r := rand.New(rand.NewPCG(73, 74))
	memory := make([]uint8, 256<<20)
	for i := range memory {
		memory[i] = uint8(i*7 + i>>9)
	}
	q := RowQuery{make([]int8, head+most), make([]int8, head+most)}
	for c := range q.Hi {
		q.Hi[c], q.Lo[c] = int8(r.IntN(255)-127), int8(r.IntN(256)-128)
	}
	out, rowsOut := make([]SignSums, 2048), make([]RowSums, 2048)
	signs := func(kern Kernels, codes []uint8, stride int, ids []uint32, width int) {
		kern.Signs(out, codes, stride, ids, head, width, &q)
	}
	rows := func(kern Kernels, codes []uint8, stride int, ids []uint32, width int) {
		kern.Rows(rowsOut, codes, stride, ids, head, width, &q)
	}
	for _, width := range []int{768, 1536, 4096} {
		for _, place := range []struct {
			name string
			size int
		}{{"second", 512 << 10}, {"third", 8 << 20}, {"memory", 256 << 20}} {
			for _, list := range []struct{ n, gap int }{{32, 2}, {32, 20}, {2000, 2}, {2000, 20}} {
				for _, kernel := range []struct {
					name       string
					bytes, sum int // bytes of a row, coordinates summed
					run        func(kern Kernels, codes []uint8, stride int, ids []uint32, width int)
				}{{"signs", width / 8, width, signs}, {"384", width, 384, rows}, {"whole", width, width, rows}} {
					stride := (head + kernel.bytes + 63) &^ 63
					lists := gapped(r, place.size/stride, list.n, list.gap)
					if lists == nil {
						continue
					}
					for _, kern := range Available() {
						b.Run(fmt.Sprintf("%s/%v/%d/%s/%dx%d", kernel.name, kern, width, place.name, list.n, list.gap), func(b *testing.B) {
							at := 0
							for b.Loop() {
								kernel.run(kern, memory[:place.size], stride, lists[at], kernel.sum)
								at = (at + 1) % len(lists)
							}
							ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N*list.n)
							b.ReportMetric(ns, "ns/row")
							b.ReportMetric(float64(head+min(kernel.bytes, kernel.sum))/ns, "GB/s")
						})
					}
				}
			}
		}
	}
	runtime.KeepAlive(out)
}

// gapped returns lists of n ascending ids below rows, gap apart on average, as many as
// name about every row once.
func gapped(r *rand.Rand, rows, n, gap int) (lists [][]uint32) {
	for range gap {
		for from := 0; from+(2*gap-1)*n <= rows; from += gap * n {
			list, id := make([]uint32, n), from
			for i := range list {
				id += r.IntN(2*gap - 1)
				list[i] = uint32(id)
				id++
			}
			lists = append(lists, list)
		}
	}
	return lists
}
