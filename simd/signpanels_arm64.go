//go:build !noasm && !purego

package simd

import "unsafe"

func (kern Kernels) signPanel(sums *[PanelLanes]RowSums8, panel []uint8, codes []int8, width int, tables []uint8) {
	if kern == Generic {
		signPanelGeneric(sums, panel, codes, width, tables)
		return
	}
	var all int32
	for _, c := range codes {
		all += int32(c)
	}
	signPanelNEON(&sums[0].Head, unsafe.SliceData(panel), unsafe.SliceData(codes), len(codes), unsafe.SliceData(tables), width/8, Bias*all)
}
