package cpu

import (
	"fmt"
	"math"

	"thresher/backend"
	"thresher/bandit"
	"thresher/collection"
	"thresher/simd"
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
	*terms
	steps
	radiusFactor       float64
	hn, he, xn, nn, we float64
	offsetFactor       float64
	rf, all            float64 // radiusFactor with its slop, hn + xn + nn: factors of side
}

// terms are what a look reads of the collection, the same for all queries.
type terms struct {
	look                 backend.Look
	level                int
	reach                float64 // Student reach
	random               bool
	whole                bool // all of the rest, by its int8 codes
	scale, radius, xnorm []float32
	wholeErr             []float32 // of Cauchy's looks at prefixes, or nil
	side                 []side    // of looks at rows, but for Cauchy's at prefixes
	strips               []strip
}

// side holds what a look at an atom's row needs besides the codes, side by side:
// survivors are few and far apart, and seven arrays are seven cache misses.
type side struct {
	headScale, scale, radius, headErr, offset float32
	size                                      float32 // greatest of HeadNorm, XNorm and Norm
	_                                         [2]float32
}

// sides returns them of a level for all atoms; the resident keeps them. r.mu is
// held.
func (r *resident) sides(level int) []side {
	if r.side == nil {
		r.side = make([][]side, len(r.c.Levels))
	}
	if r.side[level] == nil {
		c, l := r.c, &r.c.Levels[level]
		radius := l.Radius
		if level == len(c.Levels)-1 {
			radius = l.Beyond
		}
		all := make([]side, c.N)
		for i := range all {
			all[i] = side{headScale: c.HeadScale[i], scale: l.Scale[i], radius: radius[i], headErr: c.HeadErr[i],
				size: max(c.HeadNorm[i], l.XNorm[i], c.Norm[i])}
			if c.Offset != nil {
				all[i].offset = c.Offset[i]
			}
		}
		r.side[level] = all
	}
	return r.side[level]
}

// stripPanels is how many panels share their maxima in a scan.
const stripPanels = 8

// strip holds the greatest terms of stripPanels panels, and the mean radius.
type strip struct {
	headNorm, headErr, xnorm, norm, radius, offset, wholeErr float64
	meanRadius                                               float64
}

type stripKey struct {
	level int
	rule  backend.Rule
}

// termsKept is how many looks' terms a resident keeps; plans are few.
const termsKept = 64

// termsKey is what terms depend on.
type termsKey struct {
	rep      backend.Representation
	rule     backend.Rule
	from, to int
	alpha    float64
}

// terms readies look l, once for all batches that take it.
func (r *resident) terms(l backend.Look) (*terms, error) {
	key := termsKey{l.Rep, l.Rule, l.From, l.To, l.Alpha}
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, ok := r.looks[key]
	if !ok {
		var err error
		if kept, err = r.newTerms(l); err != nil {
			return nil, err
		}
		if len(r.looks) >= termsKept || r.looks == nil {
			r.looks = make(map[termsKey]*terms)
		}
		r.looks[key] = kept
	}
	t := *kept
	t.look = l
	return &t, nil
}

func (r *resident) newTerms(l backend.Look) (*terms, error) {
	c := r.c
	if l.Rule != backend.Student && l.Rule != backend.Cauchy {
		return nil, fmt.Errorf("rule %d on codes: %w", l.Rule, backend.ErrRuleUnsupported)
	}
	level := c.Level(l.To)
	if l.Rep == backend.Signs {
		level = c.SignLevel()
		if level < 0 || l.Rule != backend.Student {
			return nil, fmt.Errorf("rule %d on signs: %w", l.Rule, backend.ErrRuleUnsupported)
		}
	}
	if level < 0 || l.From != 0 || l.To != c.Levels[level].Width {
		return nil, fmt.Errorf("look at coordinates %d to %d of codes kept at %v", l.From, l.To, widths(c))
	}
	whole, at := &c.Levels[len(c.Levels)-1], &c.Levels[level]
	t := &terms{look: l, level: level, whole: level == len(c.Levels)-1}
	switch {
	case t.whole:
		// x codes all of o: |o - x| |q_rest| is all that is left open
		t.scale, t.radius, t.xnorm = whole.Scale, whole.Beyond, whole.XNorm
	case l.Rule == backend.Student:
		t.scale, t.radius, t.xnorm = at.Scale, at.Radius, at.XNorm
		t.reach = bandit.Reach(l.Alpha, c.Kappa, c.D)
		t.random = true
	default:
		// beyond the prefix by its norms, within it by the whole code's error
		t.scale, t.radius, t.xnorm, t.wholeErr = whole.Scale, at.Beyond, whole.XNorm, whole.Beyond
	}
	switch {
	case l.Rep == backend.Panels:
		t.strips = r.summary(t)
	case t.wholeErr == nil:
		t.side = r.sides(level)
	}
	return t, nil
}

// width is the number of codes an atom is looked at with; eight signs count as one.
func (t *terms) width(c *collection.Collection) int {
	if t.look.Rep == backend.Signs {
		return c.R + t.look.To/8
	}
	return c.R + t.look.To
}

// summary returns the strips of a look, which the resident keeps. r.mu is held.
func (r *resident) summary(t *terms) []strip {
	key := stripKey{t.level, t.look.Rule}
	if t.whole {
		key.rule = backend.Cauchy
	}
	if r.strips == nil {
		r.strips = map[stripKey][]strip{}
	}
	if r.strips[key] == nil {
		r.strips[key] = t.strip(r.c)
	}
	return r.strips[key]
}

func (t *terms) strip(c *collection.Collection) []strip {
	most := func(x []float32, lo, hi int) float64 {
		var m float32
		for _, v := range x[lo:hi] {
			m = max(m, v)
		}
		return float64(m)
	}
	out := make([]strip, (c.PanelCount()+stripPanels-1)/stripPanels)
	for i := range out {
		lo, hi := i*stripPanels*64, min((i+1)*stripPanels*64, c.N)
		s := &out[i]
		s.headNorm, s.headErr = most(c.HeadNorm, lo, hi), most(c.HeadErr, lo, hi)
		s.xnorm, s.norm, s.radius = most(t.xnorm, lo, hi), most(c.Norm, lo, hi), most(t.radius, lo, hi)
		if c.Offset != nil {
			for _, v := range c.Offset[lo:hi] {
				s.offset = max(s.offset, math.Abs(float64(v)))
			}
		}
		if t.wholeErr != nil {
			s.wholeErr = most(t.wholeErr, lo, hi)
		}
		for _, v := range t.radius[lo:hi] {
			s.meanRadius += float64(v)
		}
		s.meanRadius /= float64(hi - lo)
	}
	return out
}

// bound is t for one query, whose codes are worth k.
func (s *state) bound(t *terms, k steps) bound {
	c, p := s.c, &s.prep
	rest := p.RestNorm
	b := bound{terms: t, steps: k, offsetFactor: math.Ldexp(1, -s.exp)}
	switch {
	case t.whole:
		b.radiusFactor = rest
	case t.random:
		b.radiusFactor = t.reach * rest
	default:
		b.radiusFactor = math.Sqrt(s.k.SumSquares(p.Rest[t.look.To:])) * up
		b.we = math.Sqrt(s.k.SumSquares(p.Rest[:t.look.To])) * up
	}
	// rounding of the query's codes, and of the float32 evaluation in slop
	b.hn = k.headErr + slop*(p.HeadNorm+k.headErr)
	b.he = p.HeadNorm
	b.xn = k.restErr + slop*(rest+k.restErr) + c.CodeSlack*rest
	b.nn = c.Slack*p.Norm + c.CodeSlack*rest
	b.rf, b.all = (1+slop)*b.radiusFactor, b.hn+b.xn+b.nn
	return b
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

// stripRounding bounds the rounding of every atom of a strip.
func (b *bound) stripRounding(t *strip) float64 {
	return least + b.hn*t.headNorm + b.he*t.headErr + b.xn*t.xnorm + b.nn*t.norm +
		slop*(b.radiusFactor*t.radius+b.offsetFactor*t.offset) + b.we*t.wholeErr
}

// of bounds atom i from its integer products: the score lies below upper, and
// estimate is the middle.
func (b *bound) of(c *collection.Collection, i int, dh, dr float64) (estimate, upper float64) {
	estimate = float64(c.HeadScale[i])*b.headStep*dh + float64(b.scale[i])*b.restStep*dr
	if c.Offset != nil {
		estimate += float64(c.Offset[i]) * b.offsetFactor
	}
	return estimate, estimate + float64(b.radius[i])*b.radiusFactor + b.rounding(c, i)
}

// row bounds atom i from its row's sums with the 16-bit codes.
func (s *state) row(b *bound, i int, t *simd.RowSums) (estimate, upper float64) {
	dh := 256*float64(t.HeadHi) + float64(t.HeadLo) - s.rows.headBias
	dr := 256*float64(t.RestHi) + float64(t.RestLo) - s.rows.levels[b.level]
	if b.side == nil {
		return b.of(s.c, i, dh, dr)
	}
	return b.beside(i, dh, dr)
}

// signs bounds atom i from the sums of its signs with the high halves of the 16-bit
// codes: those with a bit count twice, less all.
func (s *state) signs(b *bound, i int, t *simd.SignSums) (estimate, upper float64) {
	dh := 256*float64(t.HeadHi) + float64(t.HeadLo) - s.rows.headBias
	return b.beside(i, dh, 2*float64(t.Rest)-s.rows.highs)
}

// beside is of by the terms that stand side by side.
func (b *bound) beside(i int, dh, dr float64) (estimate, upper float64) {
	p := &b.side[i]
	estimate = float64(p.headScale)*b.headStep*dh + float64(p.scale)*b.restStep*dr + float64(p.offset)*b.offsetFactor
	return estimate, estimate + float64(p.radius)*b.rf + float64(p.headErr)*b.he + float64(p.size)*b.all - slop*b.offsetFactor*float64(p.offset) + least
}

// fetch reads something of the terms that stand side by side for each of ids, all at
// once: one by one, each would be waited for.
func (b *bound) fetch(ids []uint32) (sum float32) {
	if b.side == nil {
		return 0
	}
	for _, i := range ids {
		sum += b.side[i].size
	}
	return sum
}

// wideRow is row where a row's sums do not fit int32.
func (s *state) wideRow(b *bound, i int) (estimate, upper float64) {
	c, q := s.c, &s.rows.codes
	code := c.Code(i)
	product := func(from, to int) (sum float64) {
		for ; from < to; from += simd.MaxScan {
			n := min(to-from, simd.MaxScan)
			var t [1]simd.RowSums
			s.k.Rows(t[:], code[from:], len(code), []uint32{0}, 0, n, &simd.RowQuery{Hi: q.Hi[from:], Lo: q.Lo[from:]})
			sum += 256*float64(t[0].RestHi) + float64(t[0].RestLo)
		}
		return sum
	}
	return b.of(c, i, product(0, c.R)-s.rows.headBias, product(c.R, c.R+b.look.To)-s.rows.levels[b.level])
}

// up32 is the least float32 not below x.
func up32(x float64) float32 {
	f := float32(x)
	if float64(f) < x {
		f = math.Nextafter32(f, math.MaxFloat32)
	}
	return f
}
