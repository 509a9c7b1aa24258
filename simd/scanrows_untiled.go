//go:build !amd64 || noasm || purego

package simd

// tiledQueries is zero: rows are transposed, whatever the number of queries.
func (Kernels) tiledQueries() int { return 0 }

func (Kernels) scanTiles(*ScanScratch, []uint8, int, int, int, []int8, int, []ScanQuery, *PanelTerms, []uint64, []float32) {
	panic("no kernel multiplies rows as they are")
}
