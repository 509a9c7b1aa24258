package cpu

import (
	"fmt"
	"math"

	"thresher/backend"
	"thresher/bandit"
	"thresher/collection"
	"thresher/cpu/simd"
)

// bound is a look on codes made ready for one query: the terms of the
// collection it reads and the query's factors of each. The upper bound of atom
// i from the integer products dh (head) and dr (rest) is
//
//	estimate = HeadScale_i headStep dh + scale_i restStep dr + offset_i
//	radius   = radius_i radiusFactor
//	rounding = HeadNorm_i hn + HeadErr_i he + xnorm_i xn + Norm_i nn
//	           + wholeErr_i we
//
// docs/guarantee.md derives each. random says whether radius can fail.
type bound struct {
	look                 backend.Look
	level                int
	scale, radius, xnorm []float32
	radiusFactor         float64
	hn, he, xn, nn, we   float64
	random               bool
	codes                *codes
	radiusLevel, xnLevel *collection.Level // where the panel's maxima are
	maxRadius            int               // column of radiusLevel.Max
	wholeErr             []float32
	wholeLevel           *collection.Level
	offsetFactor         float64
}

// reach is the Student reach of a look, the same for all queries.
func reach(c *collection.Collection, l backend.Look) float64 {
	if l.Rule != backend.Student || l.To == c.D {
		return 0
	}
	return bandit.Reach(l.Alpha, c.Kappa, c.D)
}

// newBound readies look l, of the given reach, on codes k of the query.
func (s *state) newBound(l backend.Look, reach float64, k *codes) (bound, error) {
	c := s.c
	if l.Rule != backend.Student && l.Rule != backend.Cauchy {
		return bound{}, fmt.Errorf("rule %d on codes: %w", l.Rule, backend.ErrRuleUnsupported)
	}
	level := c.Level(l.To)
	if level < 0 || l.From != 0 {
		return bound{}, fmt.Errorf("look at coordinates %d to %d of codes kept at %v", l.From, l.To, widths(c))
	}
	whole := &c.Levels[len(c.Levels)-1]
	at := &c.Levels[level]
	b := bound{look: l, level: level, codes: k, offsetFactor: math.Ldexp(1, -s.exp)}
	p := &s.prep
	rest := p.RestNorm
	switch {
	case l.To == c.D:
		// x codes all of o: |o - x| |q_rest| is all that is left open
		b.scale, b.radius, b.xnorm, b.radiusFactor = whole.Scale, whole.Beyond, whole.XNorm, rest
		b.xnLevel, b.radiusLevel, b.maxRadius = whole, whole, 2
	case l.Rule == backend.Student:
		b.scale, b.radius, b.xnorm = at.Scale, at.Radius, at.XNorm
		b.radiusFactor = reach * rest
		b.xnLevel, b.radiusLevel, b.maxRadius = at, at, 1
		b.random = true
	default:
		// beyond the prefix by its norms, within it by the whole code's error
		seen := math.Sqrt(simd.SumSquares(p.Rest[:l.To])) * up
		b.scale, b.radius, b.xnorm = whole.Scale, at.Beyond, whole.XNorm
		b.radiusFactor = math.Sqrt(simd.SumSquares(p.Rest[l.To:])) * up
		b.xnLevel, b.radiusLevel, b.maxRadius = whole, at, 2
		b.wholeErr, b.wholeLevel, b.we = whole.Beyond, whole, seen
	}
	// rounding of the query's codes, and of the float32 evaluation in slop
	b.hn = k.headErr + slop*(p.HeadNorm+k.headErr)
	b.he = p.HeadNorm
	b.xn = k.restErr + slop*(rest+k.restErr) + c.CodeSlack*rest
	b.nn = c.Slack*p.Norm + c.CodeSlack*rest
	return b, nil
}

func widths(c *collection.Collection) []int {
	w := make([]int, len(c.Levels))
	for i := range c.Levels {
		w[i] = c.Levels[i].Width
	}
	return w
}

// rounding bounds atom i's rounding.
func (b *bound) rounding(c *collection.Collection, i int) float64 {
	e := least + b.hn*float64(c.HeadNorm[i]) + b.he*float64(c.HeadErr[i]) + b.xn*float64(b.xnorm[i]) + b.nn*float64(c.Norm[i]) +
		slop*b.radiusFactor*float64(b.radius[i])
	if b.we > 0 {
		e += b.we * float64(b.wholeErr[i])
	}
	if c.Offset != nil {
		e -= slop * b.offsetFactor * float64(c.Offset[i])
	}
	return e
}

// panelRounding bounds the rounding of every atom of panel p.
func (b *bound) panelRounding(c *collection.Collection, p int) float64 {
	t := c.PanelMax(p)
	e := least + b.hn*float64(t.HeadNorm) + b.he*float64(t.HeadErr) + b.xn*float64(b.xnLevel.Max[3*p]) + b.nn*float64(t.Norm) +
		slop*b.radiusFactor*float64(b.radiusLevel.Max[3*p+b.maxRadius]) + slop*b.offsetFactor*float64(t.OffsetSize)
	if b.we > 0 {
		e += b.we * float64(b.wholeLevel.Max[3*p+2])
	}
	return e
}

// of bounds atom i from its integer products: the score lies below upper, and
// estimate is the middle.
func (b *bound) of(s *state, i int, dh, dr int64) (estimate, upper float64) {
	c := s.c
	estimate = float64(c.HeadScale[i])*b.codes.headStep*float64(dh) + float64(b.scale[i])*b.codes.restStep*float64(dr)
	if c.Offset != nil {
		estimate += float64(c.Offset[i]) * b.offsetFactor
	}
	return estimate, estimate + float64(b.radius[i])*b.radiusFactor + b.rounding(c, i)
}

// row bounds atom i from its codes.
func (b *bound) row(s *state, i int) (estimate, upper float64) {
	c := s.c
	code := c.Code(i)
	dh := simd.RowDot(code[:c.R], b.codes.head, b.codes.headBias)
	dr := simd.RowDot(code[c.R:c.R+b.look.To], b.codes.rest[:b.look.To], b.codes.restBias[b.level])
	return b.of(s, i, dh, dr)
}

// width is the number of codes an atom is looked at with.
func (b *bound) width(c *collection.Collection) int { return c.R + b.look.To }
