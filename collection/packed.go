package collection

// packed is a matrix of k rows laid out for simd's Gemm: panels of 64, 32 or 16
// columns, the panel that begins at column j at data[j*k:].
type packed struct {
	k, columns int // columns are a multiple of 16, zero where there are none
	data       []float32
}

// newPacked allocates for k rows and at least n columns.
func newPacked(k, n int) packed {
	n = padded(n)
	return packed{k: k, columns: n, data: make([]float32, k*n)}
}

// padded is n rounded up to the narrowest panel of Gemm.
func padded(n int) int { return (n + 15) &^ 15 }

// width is that of the panel that begins where left columns remain.
func (p *packed) width(left int) int {
	switch {
	case left >= 64:
		return 64
	case left >= 32:
		return 32
	}
	return 16
}

// fill makes n vectors of k entries, ld apart in src, the columns.
func (p *packed) fill(src []float32, ld, n int) {
	for j := 0; j < p.columns; {
		w := p.width(p.columns - j)
		kernels.Pack(p.data[j*p.k:], src[j*ld:], ld, min(w, n-j), p.k, w)
		j += w
	}
}

// fillRows makes k vectors of n entries, ld apart in src, the rows.
func (p *packed) fillRows(src []float32, ld, n int) {
	for j := 0; j < p.columns; {
		w := p.width(p.columns - j)
		for c := range p.k {
			copy(p.data[j*p.k+c*w:][:w], src[c*ld+j:c*ld+n])
		}
		j += w
	}
}

// times multiplies n vectors of w entries, ldr apart, by rows from..from+w-1:
// out, ldo apart, gets a product of all columns for each, or its sum with what
// it holds when add is set.
func (p *packed) times(out []float32, ldo int, vectors []float32, ldr, n, from, w int, add bool) {
	for j := 0; j < p.columns; {
		width := p.width(p.columns - j)
		kernels.Gemm(out[j:], ldo, vectors, ldr, n, p.data[j*p.k+from*width:], w, width, add)
		j += width
	}
}
