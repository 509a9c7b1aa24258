//go:build !noasm && !purego

package simd

import "unsafe"

func (kern Kernels) signPanel(sums *[PanelLanes]RowSums8, panel []uint8, codes []int8, width int, tables []uint8) {
	atoms, code, table := unsafe.SliceData(panel), unsafe.SliceData(codes), unsafe.SliceData(tables)
	switch kern {
	case AVX512:
		signPanelAVX512(&sums[0].Head, atoms, code, len(codes), table, width/8)
	case AVX2:
		signPanelAVX2(&sums[0].Head, atoms, code, len(codes), table, width/8)
	default:
		signPanelGeneric(sums, panel, codes, width, tables)
	}
}
