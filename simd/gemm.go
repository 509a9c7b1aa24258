package simd

// PanelStep is what the widths of packed panels are multiples of.
const PanelStep = 16

// PanelWidths are the widths, in vectors, that a packed panel of Gemm may have.
var PanelWidths = [...]int{PanelStep, 2 * PanelStep, 3 * PanelStep, 4 * PanelStep}

// Pack transposes n <= width vectors of k entries, ld floats apart, into a panel:
// panel[c*width+j] = src[j*ld+c], and zero for n <= j < width.
func (kern Kernels) Pack(panel, src []float32, ld, n, k, width int) {
	kern.pack(panel[:k*width], src, ld, n, k, width)
}

func packGeneric(panel, src []float32, ld, n, k, width int) {
	clear(panel)
	for j := range n {
		for c, v := range src[j*ld:][:k] {
			panel[c*width+j] = v
		}
	}
}

// Gemm multiplies n rows of k entries, ldr floats apart, by a packed panel:
//
//	out[i*ldo+j] (+)= sum_c rows[i*ldr+c] panel[c*width+j],  j < width
//
// With add set it adds to out, otherwise it overwrites. Each entry is one chain of k
// multiply-adds (all fused or none) in the order of c, for every n alike; its error is
// below k 2^-24 sum_c |rows_ic panel_cj| + k 2^-150. The addition to out rounds once
// more. width is one of PanelWidths; out shares no memory with the other slices.
//
// The panel is read again for every six or eight rows. That costs a few per cent at
// most while its 4 k width bytes fill at most half the level-2 cache: k <= 1024 at
// width 64 for 512 KiB. The kernels prefetch rows ahead, also those after the last,
// where the next call is expected to continue; out should be in a cache.
func (kern Kernels) Gemm(out []float32, ldo int, rows []float32, ldr, n int, panel []float32, k, width int, add bool) {
	if n <= 0 {
		return
	}
	_, _, _ = out[(n-1)*ldo:][:width], rows[(n-1)*ldr:][:k], panel[:k*width]
	kern.gemm(out, ldo, rows, ldr, n, panel, k, width, add)
}

// gemmGeneric sums four columns of two rows at a time, so that the sums stay in registers.
func gemmGeneric(out []float32, ldo int, rows []float32, ldr, n int, panel []float32, k, width int, add bool) {
	for i := 0; i < n; i += 2 {
		last := min(i+1, n-1) // if the last row has no partner it is its own
		a, b := rows[i*ldr:][:k], rows[last*ldr:][:k]
		for j := 0; j < width; j += 4 {
			var a0, a1, a2, a3, b0, b1, b2, b3 float32
			for c, x := range a {
				p, y := (*[4]float32)(panel[c*width+j:]), b[c]
				a0, a1, a2, a3 = a0+x*p[0], a1+x*p[1], a2+x*p[2], a3+x*p[3]
				b0, b1, b2, b3 = b0+y*p[0], b1+y*p[1], b2+y*p[2], b3+y*p[3]
			}
			put4((*[4]float32)(out[i*ldo+j:]), a0, a1, a2, a3, add)
			if last > i {
				put4((*[4]float32)(out[last*ldo+j:]), b0, b1, b2, b3, add)
			}
		}
	}
}

func put4(to *[4]float32, a, b, c, d float32, add bool) {
	if add {
		a, b, c, d = a+to[0], b+to[1], c+to[2], d+to[3]
	}
	*to = [4]float32{a, b, c, d}
}

// DenseTestRows tests len(masks) rows of products, ld floats apart, against the
// queries' thresholds. Bit j of masks[i], for j < width, is clear if
//
//	dots[i*ld+j]*scale[i] + margin[j]*size[i] + offset[i]*factor[j] < tau[j]
//
// in float32 with every operation rounded, and set otherwise, also for a NaN. width is
// one of PanelWidths; masks are the same with every instruction set.
func (kern Kernels) DenseTestRows(dots []float32, ld int, margin, factor, tau []float32, width int, scale, size, offset []float32, masks []uint64) {
	n := len(masks)
	if n == 0 {
		return
	}
	_ = dots[(n-1)*ld:][:width]
	kern.denseTestRows(dots, ld, margin[:width], factor[:width], tau[:width], scale[:n], size[:n], offset[:n], masks)
}

func denseTestRowsGeneric(dots []float32, ld int, margin, factor, tau, scale, size, offset []float32, masks []uint64) {
	factor, tau = factor[:len(margin)], tau[:len(margin)]
	for i := range masks {
		row, scale, size, offset := dots[i*ld:][:len(margin)], scale[i], size[i], offset[i]
		var mask uint64
		for j, v := range row {
			// The conversions keep compilers from fusing products with sums.
			if !(float32(v*scale)+float32(margin[j]*size)+float32(offset*factor[j]) < tau[j]) {
				mask |= 1 << j
			}
		}
		masks[i] = mask
	}
}
