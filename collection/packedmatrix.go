package collection

// packed is a matrix of k rows in the layout of simd's Gemm: panels of 64, 32 or 16 columns;
// the panel that starts at column j is at data[j*k:].
type packed struct {
	rows, columns int // columns is a multiple of 16; unset columns are zero
	data          []float32
}

// newPacked allocates for k rows and at least n columns.
func newPacked(k, n int) packed {
	n = padded(n)
	return packed{rows: k, columns: n, data: make([]float32, k*n)}
}

// padded rounds n up to a multiple of Gemm's narrowest panel.
func padded(n int) int { return (n + 15) &^ 15 }

// width returns the width of the panel that starts where left columns remain.
func (p *packed) width(left int) int {
	switch {
	case left >= 64:
		return 64
	case left >= 32:
		return 32
	}
	return 16
}

// fillColumns sets the columns to n vectors of k entries, ld apart in src.
func (p *packed) fillColumns(src []float32, ld, n int) {
	for j := 0; j < p.columns; {
		w := p.width(p.columns - j)
		kernels.Pack(p.data[j*p.rows:], src[j*ld:], ld, min(w, n-j), p.rows, w)
		j += w
	}
}

// fillRows sets the rows to k vectors of n entries, ld apart in src.
func (p *packed) fillRows(src []float32, ld, n int) {
	for j := 0; j < p.columns; {
		w := p.width(p.columns - j)
		for c := range p.rows {
			copy(p.data[j*p.rows+c*w:][:w], src[c*ld+j:c*ld+n])
		}
		j += w
	}
}

// multiply multiplies n vectors of w entries, ldr apart, by rows from to from+w-1. Each vector
// gives a row of all columns in out, ldo apart; with add set the products are added to out.
func (p *packed) multiply(out []float32, ldo int, vectors []float32, ldr, n, from, w int, add bool) {
	for j := 0; j < p.columns; {
		width := p.width(p.columns - j)
		kernels.Gemm(out[j:], ldo, vectors, ldr, n, p.data[j*p.rows+from*width:], w, width, add)
		j += width
	}
}
