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
	case kern == AVX512 && width == 48:
		gemm48AVX512(&out[0], ldo, unsafe.SliceData(rows), ldr, n, unsafe.SliceData(panel), k, add)
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

const (
	// fewBytes is the size of the rows that groups of queries read in turn from the level-1 cache.
	fewBytes = 16 << 10
	// fewAhead is the least number of bytes that GemmFew prefetches ahead; a tile of rows, if longer.
	fewAhead = 16 << 10
)

func (kern Kernels) gemmFew(out []float32, ldo int, rows []float32, ldr, n int, queries []float32, ldq, m, k int, add bool) {
	if kern == Generic || k == 0 {
		gemmFewGeneric(out, ldo, rows, ldr, n, queries, ldq, m, k, add)
		return
	}
	block := n
	if m > 4 || kern == AVX2 && m > 2 {
		block = max(8, fewBytes/4/k&^7)
	}
	for lo := 0; lo < n; lo += block {
		some, ahead := min(block, n-lo), max(fewAhead, 4*8*ldr)
		for e := 0; e < m; ahead = 0 { // the first group prefetches for all
			to, from, q := &out[e*ldo+lo], &rows[lo*ldr], &queries[e*ldq]
			switch {
			case kern == AVX512 && m-e >= 4:
				gemmFew4AVX512(to, ldo, from, ldr, some, q, ldq, k, ahead, add)
				e += 4
			case kern == AVX512 && m-e >= 2:
				gemmFew2AVX512(to, ldo, from, ldr, some, q, ldq, k, ahead, add)
				e += 2
			case kern == AVX512:
				gemmFew1AVX512(to, ldo, from, ldr, some, q, ldq, k, ahead, add)
				e++
			case m-e >= 2:
				gemmFew2AVX2(to, ldo, from, ldr, some, q, ldq, k, ahead, add)
				e += 2
			default:
				gemmFew1AVX2(to, ldo, from, ldr, some, q, ldq, k, ahead, add)
				e++
			}
		}
	}
}

// denseTestColumn tests the first rows and returns how many.
func (kern Kernels) denseTestColumn(dots []float32, margin, factor, tau float32, scale, size, offset []float32, masks []uint64) int {
	blocks := len(dots) / 16
	if kern == Generic || blocks == 0 {
		return 0
	}
	bits := (*uint16)(unsafe.Pointer(&masks[0]))
	if kern == AVX512 {
		denseColumnAVX512(&dots[0], &scale[0], &size[0], &offset[0], blocks, margin, factor, tau, bits)
	} else {
		denseColumnAVX2(&dots[0], &scale[0], &size[0], &offset[0], blocks, margin, factor, tau, bits)
	}
	return 16 * blocks
}

// listsColumn reports whether there is assembly for ListColumn.
func (kern Kernels) listsColumn() bool { return kern == AVX512 }

func listColumn(ids []uint32, bounds []float32, mask uint64, dots []float32, ld int, margin, factor float32,
	scale, size, offset []float32, base uint32) (n int, odd uint64) {
	return listAVX512(&ids[0], &bounds[0], mask, &dots[0], ld, margin, factor, &scale[0], &size[0], &offset[0], base)
}
