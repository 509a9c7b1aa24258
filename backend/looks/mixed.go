package looks

import (
	"context"
	"math"
	"slices"

	"thresher/backend"
	"thresher/bandit"
	"thresher/collection"
	"thresher/simd"
)

// Mixed are codes of a collection for one look by Student's rule, by which the sign of one sum decides a pair
// (docs/guarantee.md, mixed codes). With u the head of an atom and x~ the scaled codes of the rest that the look
// reads, g and w those of the query, M orthogonal and c > 0,
//
//	y = M [u, c x~],   z = M [g, w/c],   <y, z> = <u, g> + <x~, w>.
//
// M spreads head and rest over all coordinates, so that one step codes both: Y = y/s in 8 bits by a step s of each atom, and
// Z = z/s' by one of each query. An atom may be dropped if
//
//	<Y, Z> + (l h |w| + error - tau) / (s s') < 0
//
// with the radius l h |w| and the errors of codes and float32. The second part is a sum of four products of a factor
// of the atom and one of the query, and MixedTerms more codes of both hold it: see digits. So one product of codes, which
// starts from zero, decides by its sign.
type Mixed struct {
	Width int // codes of y, a multiple of 32; backend.MixedTerms more follow them
	// Codes are those of the atoms, [N][Width+MixedTerms], in internal order, and Step their steps, positive.
	Codes []int8
	Step  []float32
	// Matrix and inverse take a query's head and rest to z: z_i = sum_j Matrix[j][i] p_j, [Width][Width]
	// with p its head, the first coordinates of its rest times Rest, and zeros.
	Matrix []float32
	Rest   float64 // 1/c
	// Limit is, for each product, how great the query's factor may be: Limit times its step.
	Limit [MixedProducts]float64
	// Norms is the greatest of an atom's norms (Side.Size) as a multiple of its factor of the product BySize.
	Norms float64
	Slack float64 // error of <y, z> by M and float32, relative to |y||z|

	look *Compiled
}

// The products whose sum the codes of terms hold, by the factor of the atom; each is over the atom's step.
const (
	ByThreshold   = iota // 1; by Least - tau
	ByRadius             // the radius; by l |w|
	BySize               // |y|, or a 64th of the norm if that is more; by the error of Z, and errors relative to norms
	ByError              // |y - s Y|; by |s' Z|
	MixedProducts        // their number
)

// MixedRepeats is how many equal coordinates hold the whole parts of each product; two more hold what is left of either factor.
var MixedRepeats = [MixedProducts]int{ByThreshold: 17, ByRadius: 4, BySize: 1, ByError: 1}

// ChargeUnit is the last code of every atom. That of a query, times it, is what the codes of terms may lose.
const ChargeUnit = 16

var kernels = simd.Best()

const (
	// minShare bounds steps from below, as a share of one of the greatest in a sample: of smaller atoms a step would be so small that
	// the factor 1/s left little room for those of others. Measured: of .5, .7, .85 and 1 .7 left the fewest pairs. The giants greater than it, at most maxGiants and one in giantsOf, do not
	// make the codes of all others coarse.
	minShare            = .7
	maxGiants, giantsOf = 64, 32
	// sampledPanels is the number of panels in that sample, piecePanels that of a goroutine's piece.
	sampledPanels, piecePanels = 64, 32
	// sizeOfNorm is the least factor BySize as a share of the norm. A small head and few codes would make the ratio Norms large.
	sizeOfNorm = 1. / 64
	// lostLeast is an error of y and z in units in which vectors have norms near 1; it exceeds what underflow of their coordinates takes.
	lostLeast = 1e-30
	// maxExponent bounds the exponent of the greatest norm for which there are mixed codes: steps are normal numbers.
	maxExponent = 64
)

// MixedWidth is the Width of look t's mixed codes of c, 0 if it can have none: if it is no look by Student's rule, there are offsets, or
// it would have too many (backend.MixedWidth).
func (t *Compiled) MixedWidth(c *collection.Collection) int {
	if t.Kind != Student || t.Offset != nil {
		return 0
	}
	return backend.MixedWidth(c.R, t.To)
}

// Mix computes the mixed codes for look t of c. They are nil if MixedWidth is 0, if the collection has nothing but zeros, or if its norms
// are too far from 1. c may be a part of a collection, whose atoms are those of whole from first on; only whole's rows are read. It takes time
// for every row, on so many threads, and N (Width + 68) bytes. The error is ctx's.
func (t *Compiled) Mix(ctx context.Context, c, whole *collection.Collection, first, threads int) (*Mixed, error) {
	width := t.MixedWidth(c)
	_, e := math.Frexp(float64(slices.Max(c.Norm[:c.N])))
	if width == 0 || max(e, -e) > maxExponent {
		return nil, nil
	}
	m := &Mixed{Width: width, Codes: make([]int8, c.N*(width+backend.MixedTerms)), Step: make([]float32, c.N), Matrix: collection.OrthogonalMatrix(width),
		Slack: 4 * bandit.AccumulateError(width+4) * math.Sqrt(float64(width)), look: t}
	x := mixing{Mixed: m, c: c, whole: whole, first: first, threads: threads, unit: math.Ldexp(1, -e), balance: t.balance(c), factors: make([][MixedProducts]float64, c.N)}
	m.Rest = 1 / x.balance
	if x.minStep = x.sampleStep(); x.minStep < LeastStep {
		return nil, nil
	}
	if err := x.eachPiece(ctx, x.codeAtoms); err != nil {
		return nil, err
	}
	if !x.limits() {
		return nil, nil
	}
	if err := x.eachPiece(ctx, x.codeTerms); err != nil {
		return nil, err
	}
	return m, nil
}

// eachPiece calls f for pieces of the atoms, each some whole panels but the last, until ctx ends.
func (x *mixing) eachPiece(ctx context.Context, f func(lo, hi int)) error {
	return backend.EachPiece(x.threads, x.c.N, piecePanels*collection.PanelAtoms, func(lo, hi int) error {
		f(lo, hi)
		return ctx.Err()
	}, nil)
}

// balance is c: coding loses least if atoms, and queries like them, have head and rest in the same proportion in y and z.
func (t *Compiled) balance(c *collection.Collection) float64 {
	rows, scaled := 0., 0.
	for i, s := range c.Stages[len(c.Stages)-1].Scale[:c.N] {
		if t.Scale[i] > 0 {
			rows, scaled = rows+float64(s), scaled+float64(t.Scale[i])
		}
	}
	if b := math.Sqrt(rows / scaled); b > 1e-6 && b < 1e6 {
		return b
	}
	return 1
}

// mixing is what Mix computes codes from. Vectors are in units in which the greatest norm is near 1.
type mixing struct {
	*Mixed
	c, whole *collection.Collection
	first    int
	threads  int
	unit     float64 // from the collection's scores to these units: a power of two
	balance  float64
	minStep  float64
	factors  [][MixedProducts]float64 // of each atom, over its step
}

// mixer is memory for one panel at a time.
type mixer struct {
	*mixing
	prepare  collection.PrepareScratch
	heads    []float32 // [PanelAtoms][R]
	parts, y []float32 // [PanelAtoms][Width]
	panel    []float32 // a panel of the matrix for simd.Gemm
}

func (x *mixing) newMixer() *mixer {
	const n = collection.PanelAtoms
	return &mixer{mixing: x, heads: make([]float32, n*x.c.R), parts: make([]float32, n*x.Width), y: make([]float32, n*x.Width), panel: make([]float32, 32*x.Width)}
}

// mixPanel sets y for the atoms of the panel that begins at lo, and returns their number.
func (w *mixer) mixPanel(lo int) (n int) {
	c, t, k := w.c, w.look, w.Width
	n = min(collection.PanelAtoms, c.N-lo)
	w.whole.AtomHeads(w.heads, w.first+lo, w.first+lo+n, &w.prepare)
	clear(w.parts)
	for a := range n {
		part := w.parts[a*k:]
		for j, v := range w.heads[a*c.R : (a+1)*c.R] {
			part[j] = float32(float64(v) * w.unit)
		}
		scale := w.balance * w.unit * float64(t.Scale[lo+a])
		for j, code := range c.Code(lo + a)[c.R : c.R+t.To] {
			part[c.R+j] = float32(scale * (float64(code) - simd.Bias))
		}
	}
	const lanes = 32
	for from := 0; from < k; from += lanes {
		for j := range k {
			copy(w.panel[j*lanes:(j+1)*lanes], w.Matrix[j*k+from:])
		}
		kernels.Gemm(w.y[from:], k, w.parts, k, n, w.panel, k, lanes, false)
	}
	return n
}

// sampleStep is the least step of an atom, from panels spread over the collection. The first has the longest atoms.
func (x *mixing) sampleStep() float64 {
	w := x.newMixer()
	panels := (x.c.N + collection.PanelAtoms - 1) / collection.PanelAtoms
	var greatest []float32
	for s := range min(panels, sampledPanels) {
		for a := range w.mixPanel(s * panels / min(panels, sampledPanels) * collection.PanelAtoms) {
			greatest = append(greatest, kernels.MaxAbs(w.y[a*x.Width:(a+1)*x.Width]))
		}
	}
	slices.Sort(greatest)
	return minShare * float64(greatest[len(greatest)-1-min(maxGiants, len(greatest)/giantsOf)]) / MaxCode8
}

// codeAtoms codes y of atoms lo to hi-1, and computes their factors.
func (x *mixing) codeAtoms(lo, hi int) {
	w := x.newMixer()
	for ; lo < hi; lo += collection.PanelAtoms {
		n := w.mixPanel(lo)
		for a := range n {
			w.codeAtom(lo+a, w.y[a*w.Width:(a+1)*w.Width])
		}
	}
}

// codeAtom codes y of atom i.
func (x *mixing) codeAtom(i int, y []float32) {
	t := x.look
	step := float64(float32(max(x.minStep, float64(kernels.MaxAbs(y))/MaxCode8)))
	codes := x.Codes[i*(x.Width+backend.MixedTerms):]
	squares, errors := 0., 0.
	for k, v := range y {
		code := max(-MaxCode8, min(MaxCode8, math.RoundToEven(float64(v)/step)))
		codes[k] = int8(code)
		d := float64(v) - code*step
		squares, errors = squares+float64(v)*float64(v), errors+d*d
	}
	x.Step[i] = float32(step / x.unit)
	x.factors[i] = [MixedProducts]float64{
		ByThreshold: x.unit,
		ByRadius:    (1 + Slop) * float64(t.Radius[i]) * x.unit,
		BySize:      max(math.Sqrt(squares)*collection.Up, sizeOfNorm*float64(t.Norm[i])*x.unit),
		ByError:     math.Sqrt(errors)*collection.Up + lostLeast,
	}
	for r := range x.factors[i] {
		x.factors[i][r] /= step
	}
}

// limits sets Limit and Norms from the factors of all atoms, and reports whether queries can be coded by them.
func (x *mixing) limits() bool {
	var most [MixedProducts]float64
	for i := range x.factors {
		f := &x.factors[i]
		for r := range f {
			most[r] = max(most[r], f[r])
		}
		if norms := x.look.Side(i).Size; norms > 0 {
			x.Norms = max(x.Norms, float64(norms)/(f[BySize]*float64(x.Step[i])))
		}
	}
	for r, n := range MixedRepeats {
		if x.Limit[r] = MaxCode8 * MaxCode8 * float64(n) / max(most[r], LeastStep); math.IsNaN(x.Limit[r]) || math.IsInf(x.Limit[r], 0) {
			return false
		}
	}
	x.Norms *= collection.Up
	// What rounding to Z loses, at most half a step in each coordinate, must leave room in both products that it is part of.
	return min(x.Limit[BySize], x.Limit[ByError]) >= x.roundingNorm()+1
}

// roundingNorm is the greatest norm of the rounding errors of Z in units of the step.
func (m *Mixed) roundingNorm() float64 { return math.Sqrt(float64(m.Width)) / 2 * collection.Up }

// codeTerms writes the codes of the terms of atoms lo to hi-1.
func (x *mixing) codeTerms(lo, hi int) {
	for i := lo; i < hi; i++ {
		codes := x.Codes[i*(x.Width+backend.MixedTerms)+x.Width:]
		at := 0
		for r, n := range MixedRepeats {
			// Scaled so that n times the product of both sides' scaled factors is the product of their factors.
			whole, left := digits(min(MaxCode8, x.factors[i][r]*x.Limit[r]/(MaxCode8*float64(n))), n)
			for range n {
				codes[at] = whole
				at++
			}
			codes[at], codes[at+1] = fourth(whole), left
			at += 2
		}
		codes[at] = ChargeUnit
	}
}

// digits divides a factor between -127 and 127 into its nearest whole number and what is left of it, 4 n times as great and
// rounded, which is to be multiplied by a fourth of the other side's whole number. With a = A + da and b = B + db,
//
//	n a b = n A B + (A/4) (4 n db) + (4 n da) (B/4) + n da db.
func digits(v float64, n int) (whole, left int8) {
	w := math.RoundToEven(v)
	return int8(w), int8(math.RoundToEven(4 * float64(n) * (v - w)))
}

// fourth is a fourth of a whole number, rounded.
func fourth(whole int8) int8 { return int8(math.RoundToEven(float64(whole) / 4)) }
