//go:build (!amd64 && !arm64) || noasm || purego

package simd

func (Kernels) signPanel(sums *[PanelLanes]RowSums8, panel []uint8, codes []int8, width int, tables []uint8) {
	signPanelGeneric(sums, panel, codes, width, tables)
}
