//go:build !noasm && !purego

package simd

import (
	"slices"
	"unsafe"
)

func (kern Kernels) pack(panel, src []float32, ld, n, k, width int) {
	if kern == Generic || n < 8 || k < 4 || n > width {
		packGeneric(panel, src, ld, n, k, width)
		return
	}
	if n < width {
		clear(panel)
	}
	for j := 0; j < n; j += 8 {
		j := min(j, n-8) // the last block overlaps the one before
		_ = src[(j+7)*ld:][:k]
		packNEON(&panel[j], width, &src[j*ld], ld, k/4)
		if k%4 > 0 {
			packNEON(&panel[(k-4)*width+j], width, &src[j*ld+k-4], ld, 1)
		}
	}
}

// rowsNEON is the number of rows multiplied by 16 columns before the next 16 columns:
// that many stay in the level-2 cache. It is a multiple of the kernel's 6.
const rowsNEON = 24

func (kern Kernels) gemm(out []float32, ldo int, rows []float32, ldr, n int, panel []float32, k, width int, add bool) {
	// The portable code takes any width.
	if kern == Generic || !slices.Contains(PanelWidths[:], width) {
		gemmGeneric(out, ldo, rows, ldr, n, panel, k, width, add)
		return
	}
	for i := 0; i < n; i += rowsNEON {
		for j := 0; j < width; j += 16 {
			gemm16NEON(&out[i*ldo+j], ldo, unsafe.SliceData(rows[i*ldr:]), ldr, min(rowsNEON, n-i),
				unsafe.SliceData(panel[min(j, len(panel)):]), width, k, add) // k may be 0
		}
	}
}

func (kern Kernels) denseTestRows(dots []float32, ld int, margin, factor, tau, scale, size, offset []float32, masks []uint64) {
	width, n := len(margin), len(masks)
	if kern == Generic || !slices.Contains(PanelWidths[:], width) {
		denseTestRowsGeneric(dots, ld, margin, factor, tau, scale, size, offset, masks)
		return
	}
	clear(masks)
	for j := 0; j < width; j += 16 {
		bits := (*uint16)(unsafe.Add(unsafe.Pointer(&masks[0]), j/8))
		denseNEON(&dots[j], ld, &margin[j], &factor[j], &tau[j], &scale[0], &size[0], &offset[0], n, bits)
	}
}

func (Kernels) gemmFew(out []float32, ldo int, rows []float32, ldr, n int, queries []float32, ldq, m, k int, add bool) {
	gemmFewGeneric(out, ldo, rows, ldr, n, queries, ldq, m, k, add)
}

func (Kernels) denseTestColumn(dots []float32, margin, factor, tau float32, scale, size, offset []float32, masks []uint64) int {
	return 0
}

// listsColumn reports whether there is assembly for ListColumn.
func (Kernels) listsColumn() bool { return false }

func listColumn([]uint32, []float32, uint64, []float32, int, float32, float32, []float32, []float32, []float32, uint32) (n int, odd uint64) {
	return 0, 0
}
