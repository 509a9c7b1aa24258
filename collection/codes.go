package collection

import (
	"math"

	"thresher/bandit"
	"thresher/simd"
)

// nearExponent is the greatest exponent of a norm that is not scaled to 1.
const nearExponent = 32

// coder is one goroutine's scratch for coding a panel of atoms.
type coder struct {
	b     *builder
	split *splitter
	rot   []float32 // [D] the rotated rest of one atom
	row   []float32 // memory of a row, if rows are converted
	exp   [PanelAtoms]int
	norms [PanelAtoms]float64 // after scaling by 2^-exp
	// fetches says that rows come from memory, where the order of norms scatters them. Each is prefetched while one
	// of the panel before is coded.
	fetches bool
}

func (b *builder) codeAtoms() error {
	c := b.c
	if b.o.KeepRotated {
		c.Rotated32 = make([]float32, c.N*c.D)
	}
	coders := make([]*coder, b.threads)
	c.computeNormCaps()
	if b.file != nil {
		return b.codeGathered()
	}
	// One goroutine takes several panels, so that the rows it prefetches are its own.
	together := min(max(1, c.N/PanelAtoms/(minShares*b.threads)), maxTogether)
	return b.each(c.N, together*PanelAtoms, func(w, lo, hi int) error {
		if coders[w] == nil {
			coders[w] = newCoder(b)
		}
		for ; lo < hi; lo += PanelAtoms {
			if err := b.ctx.Err(); err != nil {
				return err
			}
			to := min(lo+PanelAtoms, hi)
			coders[w].codeAtoms(lo, to)
			c.fillPanel(lo, to)
			b.progress(to - lo)
		}
		return nil
	})
}

const (
	maxTogether = 16      // panels that a goroutine codes between two looks for more
	minShares   = 8       // each goroutine looks for more at least so often
	cachedRows  = 8 << 20 // size of all rows up to which they are in a cache
)

func newCoder(b *builder) *coder {
	return &coder{b: b, split: newSplitter(b.c.transform, b.c.N), rot: make([]float32, b.c.D), row: b.c.RowMemory(), fetches: len(b.c.Vectors.Bytes()) > cachedRows}
}

// codeAtoms codes atoms lo to hi-1 in internal order.
func (k *coder) codeAtoms(lo, hi int) {
	c := k.b.c
	for from := lo; from < hi; from += k.split.slots {
		to := min(from+k.split.slots, hi)
		for i := from; i < to; i++ {
			k.loadAtom(i, i-from)
		}
		k.split.splitVectors(to - from)
		for i := from; i < to; i++ {
			if next := i + k.split.slots; k.fetches && next < c.N {
				c.PrefetchRow(int(c.Order[next]))
			}
			k.split.rotateRest(k.rot, i-from)
			k.codeAtom(i, i-from)
		}
	}
}

// fillPanel fills the panel that begins with atom lo with the codes of atoms lo to hi-1.
func (c *Collection) fillPanel(lo, hi int) {
	p := lo / PanelAtoms
	kernels.Transpose(c.Panels[p*c.PanelStride():(p+1)*c.PanelStride()], c.Codes[lo*(c.R+c.D):], c.R+c.D, hi-lo, c.R+c.PanelWidth)
}

// loadAtom writes atom i to a slot, scaled by a power of two, which it records.
func (k *coder) loadAtom(i, slot int) {
	row := k.b.c.Order[i]
	e := k.split.loadAtom(slot, k.b.c.RowIn(k.row, int(row)), k.b.c.Centre, k.b.rowNorms[row])
	k.exp[slot], k.norms[slot] = e, math.Ldexp(k.b.rowNorms[row], -e)
}

// loadAtom sets a slot to an atom's row, less the centre if it is not nil, times a power of two that brings its
// norm to [1/2, 1), and returns its exponent. Rows whose norm is near 1 are not scaled: nothing in them
// overflows, and what underflows does not affect the sums of the bounds.
func (s *splitter) loadAtom(slot int, row []float32, centre []float64, norm float64) int {
	_, e := math.Frexp(norm)
	if max(e, -e) <= nearExponent {
		e = 0
	}
	f := math.Ldexp(1, -e)
	if norm == 0 {
		f = 0
	}
	s.loadVector(slot, row, centre, f)
	return e
}

// AtomHeads writes the heads of atoms lo to hi-1, in internal order, to dst, [hi-lo][R]: in float32, where
// HeadScale and codes have them in 8 bits. As they are computed from the rows again, they may differ within Slack
// from those that were coded on another processor. The collection must be coded. tmp may be nil.
func (c *Collection) AtomHeads(dst []float32, lo, hi int, tmp *PrepareScratch) {
	if c.R == 0 {
		return
	}
	if tmp == nil {
		tmp = &PrepareScratch{}
	}
	s := tmp.splitterFor(c, hi-lo)
	unit, memory := make([]float64, s.slots), c.RowMemory()
	for ; lo < hi; lo += s.slots {
		n := min(s.slots, hi-lo)
		for slot := range n {
			row := c.RowIn(memory, int(c.Order[lo+slot]))
			norm := c.WorkingNorm(row)
			unit[slot] = math.Ldexp(c.Metric.Factor(norm), s.loadAtom(slot, row, c.Centre, norm))
		}
		s.computeHeads(n)
		for slot := range n {
			for _, v := range s.head(slot) {
				dst[0] = float32(float64(v) * unit[slot])
				dst = dst[1:]
			}
		}
	}
}

// codeAtom writes the codes and terms of atom i from its slot.
func (k *coder) codeAtom(i, slot int) {
	c := k.b.c
	rot, head := k.rot, k.split.head(slot)
	if c.Rotated32 != nil {
		f := float32(math.Ldexp(k.b.workingFactor(c.Order[i]), k.exp[slot]))
		for j, v := range rot {
			c.Rotated32[i*c.D+j] = v * f
		}
	}
	// The value of one unit of the scaled atom in the working vector.
	unit := math.Ldexp(k.b.workingFactor(c.Order[i]), k.exp[slot])
	code := c.Code(i)
	if norm := k.norms[slot] * unit; norm < tinyNorm {
		k.codeTinyAtom(i, norm, code)
		return
	}

	scale := float64(kernels.MaxAbs(head)) / 127
	quantize(code[:c.R], head, scale)
	// The coded vector is the codes times the stored float32 scale.
	c.HeadScale[i] = float32(scale * unit)
	scale = float64(c.HeadScale[i]) / unit
	co, cc := kernels.CodeMoments(code[:c.R], head)
	h2 := kernels.SumSquares(head)
	c.HeadNorm[i] = Upward(scale * math.Sqrt(cc) * unit * Up)
	c.HeadErr[i] = Upward(math.Sqrt(max(0, h2-2*scale*co+scale*scale*cc)+sumRounding(c.R)*h2) * unit * Up)

	rest := code[c.R:]
	scale = float64(kernels.MaxAbs(rot)) / 127
	quantize(rest, rot, scale)
	rowScale := float32(scale * unit)
	scale = float64(rowScale) / unit
	o2 := kernels.SumSquares(rot)
	hide := sumRounding(c.D) * o2
	// Sums of code times o and of code^2 up to each stage.
	var dot, squares float64
	from := 0
	for j := range c.Stages {
		l := &c.Stages[j]
		if l.Coding != Int8 {
			k.own(i, l, code[:c.R], o2, unit)
			continue
		}
		co, cc := kernels.CodeMoments(rest[from:l.Width], rot[from:l.Width])
		dot, squares, from = dot+co, squares+cc, l.Width
		m := bandit.Moments{A: scale * dot, X2: scale * scale * squares, O2: o2}
		l.Beyond[i] = Upward(math.Sqrt(max(0, o2-2*m.A+m.X2)+hide) * unit * Up)
		l.Scale[i] = rowScale
		if l.Width < c.D { // the whole row has no failure probability: radius zero
			terms := bandit.Linear(m, c.Kappa)
			l.Scale[i] = float32(scale * terms.Scale * unit)
			l.Radius[i] = Upward(terms.UniformRadius(c.Kappa) * unit * Up)
		}
		l.XNorm[i] = Upward(math.Sqrt(squares) * float64(l.Scale[i]) * Up)
	}
}

// own writes the row that a stage has of atom i, whose coded head is given, and its terms.
func (k *coder) own(i int, l *Stage, head []uint8, o2, unit float64) {
	c := k.b.c
	row := l.Rows[i*l.Stride : (i+1)*l.Stride]
	xo, xx := codings[l.Coding].code(row[copy(row, head):][:codings[l.Coding].bytes(c.D)], k.rot)
	terms := bandit.Linear(bandit.Moments{A: xo, X2: xx, O2: o2}, c.Kappa)
	l.Scale[i] = float32(terms.Scale * unit)
	l.Radius[i] = Upward(terms.UniformRadius(c.Kappa) * unit * Up)
	l.XNorm[i] = Upward(math.Sqrt(xx) * float64(l.Scale[i]) * Up)
}

// sumRounding is the relative rounding error of |o - x|^2 as a float64 sum of n terms, relative to
// |o|^2.
func sumRounding(n int) float64 { return float64(n+8) * 0x1p-50 }

// codeTinyAtom gives an atom too small for float32 terms codes of zero and a radius that covers
// all of it.
func (k *coder) codeTinyAtom(i int, norm float64, code []uint8) {
	c := k.b.c
	for j := range code {
		code[j] = simd.Bias
	}
	c.HeadErr[i] = Upward(norm * Up)
	for j := range c.Stages {
		l := &c.Stages[j]
		if l.Coding == Int8 {
			l.Beyond[i] = Upward(norm * Up)
		}
		if l.Coding != Int8 || l.Width < c.D {
			l.Radius[i] = Upward(norm / c.Kappa * Up)
		}
	}
}

// quantize writes codes of x in steps of scale; all zero if scale is too small to divide by.
func quantize(code []uint8, x []float32, scale float64) {
	if scale < 1e-30 {
		for j := range code {
			code[j] = simd.Bias
		}
		return
	}
	kernels.Quantize(code, x, float32(1/scale))
}
