package simd

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkScan reports GMAC/s, by instructions/head+width/queries. Panels of up to 16
// KiB follow each other through 64 MiB; wider ones are all the same memory.
func BenchmarkScan(b *testing.B) {
	const all = 64 << 20
	r := rand.New(rand.NewPCG(31, 32))
	panels := make([]uint8, all)
	for i := range panels {
		panels[i] = uint8(1 + i%255)
	}
	for _, s := range [][2]int{{32, 32}, {64, 64}, {64, 128}, {0, 768}} {
		size := PanelLanes * (s[0] + s[1])
		end := all - size
		if size > 1<<14 {
			end = 0
		}
		for _, n := range []int{1, 4, 64, 256} {
			c := newScanCase(r, s[0], s[1], 0, n, false)
			masks, values := make([]uint64, n), make([]float32, PanelLanes*n)
			for _, kern := range Available() {
				b.Run(fmt.Sprintf("%v/%d+%d/%d", kern, s[0], s[1], n), func(b *testing.B) {
					var w ScanScratch
					at := 0
					for b.Loop() {
						kern.Scan(&w, panels[at:at+size], s[0], s[1], c.codes, c.stride, c.queries, &c.terms, masks, values)
						if at += size; at > end {
							at = 0
						}
					}
					b.ReportMetric(float64(size)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
				})
			}
		}
	}
}

// BenchmarkTranspose transposes rows in the level-2 cache, by instructions/width.
func BenchmarkTranspose(b *testing.B) {
	for _, width := range []int{128, 832, 1024} {
		rows, panel := make([]uint8, PanelLanes*width), make([]uint8, PanelLanes*width)
		for _, kern := range Available() {
			b.Run(fmt.Sprintf("%v/%d", kern, width), func(b *testing.B) {
				b.SetBytes(int64(len(rows)))
				for b.Loop() {
					kern.Transpose(panel, rows, width, PanelLanes, width)
				}
			})
		}
	}
}

// BenchmarkWholeRows reports GB/s of rows tested 64 at a time through 48 MiB, by
// instructions/queries/way. With 0 queries rows are transposed only; "cut" hides the next
// rows from Transpose, which then cannot prefetch them; "rows" is Rows8 and Test, for a query
// after the other; "scan" is ScanRows. "cached" is ScanRows of the same 64 rows each time.
func BenchmarkWholeRows(b *testing.B) {
	const head, width, all = 64, 768, 48 << 20
	const stride, size = head + width, PanelLanes * (head + width)
	r := rand.New(rand.NewPCG(37, 38))
	rows, panel, sums := make([]uint8, all), make([]uint8, size), make([]RowSums8, PanelLanes)
	for i := range rows {
		rows[i] = uint8(1 + i%255)
	}
	ids := make([]uint32, all/stride)
	for i := range ids {
		ids[i] = uint32(i)
	}
	for _, n := range []int{0, 1, 2, 4, 8, 16, 24, 32, 64, 256} {
		c := newScanCase(r, head, width, 0, n, false)
		masks, values := make([]uint64, n), make([]float32, PanelLanes*n)
		for _, kern := range Available() {
			var w ScanScratch
			scan := func(at, end int) {
				kern.Transpose(panel, rows[at:end], stride, PanelLanes, stride)
				kern.Scan(&w, panel, head, width, c.codes, stride, c.queries, &c.terms, masks, values)
			}
			ways := map[string]func(at int){
				"cut":  func(at int) { scan(at, at+size) },
				"open": func(at int) { scan(at, all) },
			}
			if n > 0 {
				ways["scan"] = func(at int) {
					kern.ScanRows(&w, rows[at:], stride, PanelLanes, head, width, c.codes, c.stride, c.queries, &c.terms, masks, values)
				}
				ways["cached"] = func(int) { ways["scan"](0) }
			}
			if n > 0 && n <= 4 {
				ways["rows"] = func(at int) {
					for q := range n {
						kern.Rows8(sums, rows, stride, ids[at/stride:][:PanelLanes], head, width, c.codes[q*c.stride:])
						masks[q] = kern.Test(sums, &c.terms, &c.queries[q], values[PanelLanes*q:])
					}
				}
			}
			for _, way := range []string{"cut", "open", "rows", "scan", "cached"} {
				if ways[way] == nil {
					continue
				}
				b.Run(fmt.Sprintf("%v/%d/%s", kern, n, way), func(b *testing.B) {
					b.SetBytes(size)
					at := 0
					for b.Loop() {
						ways[way](at)
						if at += size; at+size > all {
							at = 0
						}
					}
				})
			}
		}
	}
}

// BenchmarkSelect selects from 4,096 entries, by instructions/percent selected.
func BenchmarkSelect(b *testing.B) {
	const n = 4096
	r := rand.New(rand.NewPCG(35, 36))
	ids, bounds := make([]uint32, n), make([]float32, n)
	toIDs, toBounds := make([]uint32, n), make([]float32, n)
	for k := range bounds {
		bounds[k] = r.Float32()
	}
	for _, percent := range []int{1, 10, 50} {
		for _, kern := range Available() {
			b.Run(fmt.Sprintf("%v/%d%%", kern, percent), func(b *testing.B) {
				for b.Loop() {
					kern.Select(toIDs, toBounds, ids, bounds, 0, float32(percent)/100)
				}
				b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gentries/s")
			})
		}
	}
}
