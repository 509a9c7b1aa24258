//go:build !noasm && !purego

package simd

import (
	"slices"
	"unsafe"
)

// kernelWidth reports whether the assembly takes a width; the portable code takes any.
func kernelWidth(width int) bool { return slices.Contains(PanelWidths[:], width) }

func (kern Kernels) pack(panel, src []float32, ld, n, k, width int) {
	if kern == Generic || n < 8 || k < 8 || n > width {
		packGeneric(panel, src, ld, n, k, width)
		return
	}
	if n < width {
		clear(panel)
	}
	for j := 0; j < n; j += 8 {
		j := min(j, n-8) // the last block overlaps the one before
		_ = src[(j+7)*ld:][:k]
		packAVX2(&panel[j], width, &src[j*ld], ld, k/8)
		packAVX2(&panel[(k-8)*width+j], width, &src[j*ld+k-8], ld, 1)
	}
}

// rowsAVX2 is the number of rows multiplied by 16 columns before the next 16 columns:
// that many stay in the level-2 cache. It is a multiple of the kernel's 6.
const rowsAVX2 = 24

func (kern Kernels) gemm(out []float32, ldo int, rows []float32, ldr, n int, panel []float32, k, width int, add bool) {
	switch {
	case kern == AVX512 && width == 64:
		gemm64AVX512(&out[0], ldo, unsafe.SliceData(rows), ldr, n, unsafe.SliceData(panel), k, add)
	case kern == AVX512 && width == 32:
		gemm32AVX512(&out[0], ldo, unsafe.SliceData(rows), ldr, n, unsafe.SliceData(panel), k, add)
	case kern == AVX512 && width == 16:
		gemm16AVX512(&out[0], ldo, unsafe.SliceData(rows), ldr, n, unsafe.SliceData(panel), k, add)
	case kern == AVX2 && kernelWidth(width):
		for i := 0; i < n; i += rowsAVX2 {
			for j := 0; j < width; j += 16 {
				gemm16AVX2(&out[i*ldo+j], ldo, unsafe.SliceData(rows[i*ldr:]), ldr, min(rowsAVX2, n-i),
					unsafe.SliceData(panel[min(j, len(panel)):]), width, k, add) // k may be 0
			}
		}
	default:
		gemmGeneric(out, ldo, rows, ldr, n, panel, k, width, add)
	}
}

func (kern Kernels) denseTestRows(dots []float32, ld int, margin, factor, tau, scale, size, offset []float32, masks []uint64) {
	width, n := len(margin), len(masks)
	if kern == Generic || !kernelWidth(width) {
		denseTestRowsGeneric(dots, ld, margin, factor, tau, scale, size, offset, masks)
		return
	}
	clear(masks)
	for j := 0; j < width; j += 16 {
		bits := (*uint16)(unsafe.Add(unsafe.Pointer(&masks[0]), j/8))
		if kern == AVX512 {
			denseAVX512(&dots[j], ld, &margin[j], &factor[j], &tau[j], &scale[0], &size[0], &offset[0], n, bits)
		} else {
			denseAVX2(&dots[j], ld, &margin[j], &factor[j], &tau[j], &scale[0], &size[0], &offset[0], n, bits)
		}
	}
}
