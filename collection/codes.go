package collection

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"thresher/bandit"
	"thresher/cpu/simd"
)

const (
	headBlock  = bandit.HeadChunk // coordinates summed in float32 before float64 takes over
	gemmSide   = 192              // columns a gonum product takes without goroutines of its own
	slotFloats = 1 << 22          // floats of rows a goroutine works on at a time
)

// coder is one goroutine's scratch for coding a panel of atoms.
type coder struct {
	b           *builder
	slots       int       // atoms worked on at a time, at most 64
	x           []float32 // [slots][dim] scaled rows, then rests
	part, h32   []float32 // [slots][r]
	h           []float64 // [slots][r]
	rot, tmp    []float32 // [slots][D] rotated rests, [D]
	exp         [PanelAtoms]int
	scaledNorms [PanelAtoms]float64
}

func (b *builder) codes() error {
	c := b.c
	coders := make([]*coder, b.threads)
	return b.each(c.N, PanelAtoms, func(w, lo, hi int) error {
		if coders[w] == nil {
			coders[w] = newCoder(b)
		}
		coders[w].panel(lo, hi)
		return nil
	})
}

// newCoder allocates for a whole panel, or for fewer atoms when rows are so
// long that a panel of them would weigh.
func newCoder(b *builder) *coder {
	c := b.c
	n := min(PanelAtoms, c.N, max(1, slotFloats/c.Dim))
	return &coder{b: b, slots: n,
		x:    make([]float32, n*c.Dim),
		part: make([]float32, n*c.R), h32: make([]float32, n*c.R),
		h:   make([]float64, n*c.R),
		rot: make([]float32, n*c.D), tmp: make([]float32, c.D)}
}

// panel codes atoms lo..hi-1, at most 64, of internal order.
func (k *coder) panel(lo, hi int) {
	c := k.b.c
	for from := lo; from < hi; from += k.slots {
		to := min(from+k.slots, hi)
		for i := from; i < to; i++ {
			k.load(i, i-from)
		}
		if c.R > 0 {
			k.project(to - from)
		}
		k.rotate(to - from)
		for i := from; i < to; i++ {
			k.code(i, i-from)
		}
	}
	width := c.R + c.PanelWidth
	panel := c.Panels[lo/PanelAtoms*c.PanelStride():][:c.PanelStride()]
	for i := lo; i < hi; i++ {
		code := c.Code(i)
		for j := range width {
			panel[j/4*256+(i-lo)*4+j%4] = code[j]
		}
	}
}

// load copies atom i, scaled to a norm in [1/2, 1), to place slot of x. The
// power of two of its working norm is kept.
func (k *coder) load(i, slot int) {
	c := k.b.c
	row := c.Order[i]
	norm := k.b.exact[row]
	dst := k.x[slot*c.Dim : (slot+1)*c.Dim]
	_, e := math.Frexp(norm)
	f := math.Ldexp(1, -e)
	if norm == 0 {
		f = 0
	}
	for j, v := range c.Row(int(row)) {
		dst[j] = float32(float64(v) * f)
	}
	k.exp[slot] = e
	k.scaledNorms[slot] = norm * f
}

// project takes the heads of the first n slots and leaves the rests in x:
// h = U v in float32 blocks added up in float64, o = v - U^T h.
func (k *coder) project(n int) {
	c := k.b.c
	impl := gonum.Implementation{}
	u, r, dim := c.transform.u, c.R, c.Dim
	clear(k.h)
	for from := 0; from < dim; from += headBlock {
		w := min(headBlock, dim-from)
		impl.Sgemm(blas.NoTrans, blas.Trans, n, r, w, 1, k.x[from:], dim, u[from:], dim, 0, k.part, r)
		for i, v := range k.part[:n*r] {
			k.h[i] += float64(v)
		}
	}
	for i, v := range k.h[:n*r] {
		k.h32[i] = float32(v)
	}
	for from := 0; from < dim; from += gemmSide {
		w := min(gemmSide, dim-from)
		impl.Sgemm(blas.NoTrans, blas.NoTrans, n, w, r, -1, k.h32, r, u[from:], dim, 1, k.x[from:], dim)
	}
}

// rotate turns the rests of the first n slots.
func (k *coder) rotate(n int) {
	c := k.b.c
	t := c.transform
	if t.haar != nil {
		for from := 0; from < c.D; from += gemmSide {
			w := min(gemmSide, c.D-from)
			gonum.Implementation{}.Sgemm(blas.NoTrans, blas.Trans, n, w, c.Dim, 1, k.x, c.Dim, t.haar[from*c.D:], c.D, 0, k.rot[from:], c.D)
		}
		return
	}
	for i := range n {
		t.rotate(k.rot[i*c.D:(i+1)*c.D], k.x[i*c.Dim:(i+1)*c.Dim], k.tmp)
	}
}

// code writes the codes and terms of atom i from its slot.
func (k *coder) code(i, slot int) {
	c := k.b.c
	rot := k.rot[slot*c.D : (slot+1)*c.D]
	if c.Rotated32 != nil {
		f := float32(math.Ldexp(k.b.working(c.Order[i]), k.exp[slot]))
		for j, v := range rot {
			c.Rotated32[i*c.D+j] = v * f
		}
	}
	// what one unit of the scaled atom is worth in the working vector
	unit := math.Ldexp(k.b.working(c.Order[i]), k.exp[slot])
	code := c.Code(i)
	if norm := k.scaledNorms[slot] * unit; norm < tinyNorm {
		k.uncoded(i, norm, code)
		return
	}

	head := k.h32[slot*c.R : (slot+1)*c.R]
	scale := float64(simd.MaxAbs(head)) / 127
	quantize(code[:c.R], head, scale)
	// what is coded is what the stored float32 scale makes of the codes
	c.HeadScale[i] = float32(scale * unit)
	scale = float64(c.HeadScale[i]) / unit
	hNorm, hErr := 0.0, 0.0
	for j, v := range head {
		y := scale * float64(int(code[j])-simd.Bias)
		hNorm += y * y
		hErr += (float64(v) - y) * (float64(v) - y)
	}
	c.HeadNorm[i] = upward(math.Sqrt(hNorm) * unit * up)
	c.HeadErr[i] = upward(math.Sqrt(hErr) * unit * up)

	rest := code[c.R:]
	scale = float64(simd.MaxAbs(rot)) / 127
	quantize(rest, rot, scale)
	rowScale := float32(scale * unit)
	scale = float64(rowScale) / unit
	o2 := simd.SumSquares(rot)
	// what float64 sums of D terms can hide from |o - x|^2
	hidden := float64(c.D+8) * 0x1p-50 * o2
	// sums of code times o and of code^2 up to each level
	var dot, squares float64
	from := 0
	for j := range c.Levels {
		l := &c.Levels[j]
		co, cc := simd.CodeMoments(rest[from:l.Width], rot[from:l.Width])
		dot, squares, from = dot+co, squares+cc, l.Width
		m := bandit.Moments{A: scale * dot, X2: scale * scale * squares, O2: o2}
		l.Beyond[i] = upward(math.Sqrt(max(0, o2-2*m.A+m.X2)+hidden) * unit * up)
		l.Scale[i] = rowScale
		if l.Width < c.D { // the whole row has no failure probability, radius zero
			terms := bandit.Linear(m, c.Kappa)
			l.Scale[i] = float32(scale * terms.Scale * unit)
			l.Radius[i] = upward(terms.UniformRadius(c.Kappa) * unit * up)
		}
		l.XNorm[i] = upward(math.Sqrt(squares) * float64(l.Scale[i]) * up)
	}
}

// uncoded gives an atom too small for float32 terms a radius that covers all
// of it and codes of zero.
func (k *coder) uncoded(i int, norm float64, code []uint8) {
	c := k.b.c
	for j := range code {
		code[j] = simd.Bias
	}
	c.HeadErr[i] = upward(norm * up)
	for j := range c.Levels {
		l := &c.Levels[j]
		l.Beyond[i] = upward(norm * up)
		if l.Width < c.D {
			l.Radius[i] = upward(norm / c.Kappa * up)
		}
	}
}

// quantize writes codes of x in steps of scale; all zero when scale is too
// small to divide by.
func quantize(code []uint8, x []float32, scale float64) {
	if scale < 1e-30 {
		for j := range code {
			code[j] = simd.Bias
		}
		return
	}
	simd.Quantize(code, x, float32(1/scale))
}
