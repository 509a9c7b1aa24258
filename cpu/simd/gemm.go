package simd

// PanelWidths are the widths a packed panel of Gemm may have.
var PanelWidths = [...]int{16, 32, 64}

// Pack writes n <= width vectors of k entries, ld apart, into a panel:
// panel[c*width+j] = src[j*ld+c], zero for j >= n.
func (l Level) Pack(panel, src []float32, ld, n, k, width int) {
	packGeneric(panel, src, ld, n, k, width)
}

func packGeneric(panel, src []float32, ld, n, k, width int) {
	panel = panel[:k*width]
	clear(panel)
	for j := range n {
		for c, v := range src[j*ld:][:k] {
			panel[c*width+j] = v
		}
	}
}

// Gemm multiplies n rows of k entries, ldr apart, by a packed panel:
//
//	out[i*ldo+j] (+)= sum_c rows[i*ldr+c] panel[c*width+j],  j < width
//
// adding to out when add is set. Each entry is one chain of k products and sums
// (fused or not) in the order of c, then the addition to out: its error is
// below (k+1) 2^-24 sum_c |rows_ic panel_cj| (+ 2^-24 |out|), and it is the same for
// every n. width is one of PanelWidths.
func (l Level) Gemm(out []float32, ldo int, rows []float32, ldr, n int, panel []float32, k, width int, add bool) {
	gemmGeneric(out, ldo, rows, ldr, n, panel, k, width, add)
}

func gemmGeneric(out []float32, ldo int, rows []float32, ldr, n int, panel []float32, k, width int, add bool) {
	for i := range n {
		row, dst := rows[i*ldr:][:k], out[i*ldo:][:width]
		for j := 0; j < width; j += 8 {
			var s [8]float32
			for c, x := range row {
				p := (*[8]float32)(panel[c*width+j:])
				for e := range s {
					s[e] += x * p[e]
				}
			}
			for e, v := range s {
				if add {
					v += dst[j+e]
				}
				dst[j+e] = v
			}
		}
	}
}

// DenseTest returns the mask of the queries whose score may reach their
// threshold: bit j is set unless
//
//	dots[j]*scale + margin[j]*size + offset*factor[j] < tau[j]
//
// in float32, each operation rounded, for j < width, one of PanelWidths. NaN sets the bit.
func (l Level) DenseTest(dots, margin, factor, tau []float32, width int, scale, size, offset float32) uint64 {
	return denseTestGeneric(dots, margin, factor, tau, width, scale, size, offset)
}

func denseTestGeneric(dots, margin, factor, tau []float32, width int, scale, size, offset float32) uint64 {
	dots, margin, factor, tau = dots[:width], margin[:width], factor[:width], tau[:width]
	var mask uint64
	for j, v := range dots {
		// Conversions keep the products unfused: the same mask on every machine.
		if !(float32(v*scale)+float32(margin[j]*size)+float32(offset*factor[j]) < tau[j]) {
			mask |= 1 << j
		}
	}
	return mask
}

// DenseTestRows is DenseTest of len(masks) rows, ld apart in dots, each with a
// scale, a size and an offset of its own: masks[i] receives row i's mask.
func (l Level) DenseTestRows(dots []float32, ld int, margin, factor, tau []float32, width int, scale, size, offset []float32, masks []uint64) {
	denseTestRowsGeneric(dots, ld, margin, factor, tau, width, scale, size, offset, masks)
}

func denseTestRowsGeneric(dots []float32, ld int, margin, factor, tau []float32, width int, scale, size, offset []float32, masks []uint64) {
	for i := range masks {
		masks[i] = denseTestGeneric(dots[i*ld:], margin, factor, tau, width, scale[i], size[i], offset[i])
	}
}
