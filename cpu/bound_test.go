package cpu

import (
	"context"
	"math"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/simd"
)

// TestBoundsCharge gives bounds one source of error at a time, those that
// docs/guarantee.md derives, and wants it charged in all three forms: an atom's
// own, that of a strip, and that of terms that stand side by side.
func TestBoundsCharge(t *testing.T) {
	type given struct {
		headNorm, headErr, xnorm, norm, wholeErr, radius, offset float32 // the atom's
		query                                                    collection.Query
		steps                                                    steps
		slack, codeSlack                                         float64
	}
	for name, x := range map[string]struct {
		given
		want float64
	}{
		"nothing":                                {given{}, least},
		"codes of the query's head":              {given{headNorm: 3, steps: steps{headErr: .1}}, .3},
		"codes of the atom's head":               {given{headErr: 3, query: collection.Query{HeadNorm: .1}}, .3},
		"codes of the query's rest":              {given{xnorm: 3, steps: steps{restErr: .1}}, .3},
		"codes of the atom's rest":               {given{wholeErr: 3, query: collection.Query{Rest: []float32{.1, 0}}}, .3},
		"rotation and head":                      {given{norm: 3, slack: .1, query: collection.Query{Norm: 2}}, .6},
		"the law's own rotation, by the code":    {given{xnorm: 3, codeSlack: .1, query: collection.Query{RestNorm: 2}}, .6},
		"the law's own rotation, by the atom":    {given{norm: 3, codeSlack: .1, query: collection.Query{RestNorm: 2}}, .6},
		"float32 of the head's product":          {given{headNorm: 3, query: collection.Query{HeadNorm: 2}}, 6 * slop},
		"float32 of the rest's product":          {given{xnorm: 3, query: collection.Query{RestNorm: 2}}, 6 * slop},
		"float32 of the radius":                  {given{radius: 3, query: collection.Query{RestNorm: 2}}, 6 * slop},
		"float32 of the offset":                  {given{offset: -6}, 6 * slop},
		"codes of the query's head, far too few": {given{headNorm: 3, steps: steps{headErr: 1 << 20}}, 3 << 20 * (1 + slop)},
		"codes of the query's rest, far too few": {given{xnorm: 3, steps: steps{restErr: 1 << 20}}, 3 << 20 * (1 + slop)},
	} {
		one := func(v float32) []float32 { return []float32{v} }
		level := collection.Level{Width: 1, Scale: one(0), Radius: one(x.radius), XNorm: one(x.xnorm), Beyond: one(0)}
		c := &collection.Collection{N: 1, D: 2, Slack: x.slack, CodeSlack: x.codeSlack,
			HeadScale: one(0), HeadNorm: one(x.headNorm), HeadErr: one(x.headErr), Norm: one(x.norm), Offset: one(x.offset),
			Levels: []collection.Level{level, {Width: 2}}}
		if x.query.Rest == nil {
			x.query.Rest = make([]float32, 2)
		}
		s := &state{c: c, k: simd.Generic, prep: x.query}
		look := &terms{look: backend.Look{To: 1}, reach: 1, random: true, scale: level.Scale, radius: level.Radius, xnorm: level.XNorm}
		if x.wholeErr > 0 { // of a look that cannot fail
			look.random, look.wholeErr = false, one(x.wholeErr)
		}
		b := s.bound(look, x.steps)
		check := func(form string, got float64) {
			if !(got >= x.want*(1-1e-12)) {
				t.Errorf("%s: %g charged by %s, want %g", name, got, form, x.want)
			}
		}
		fail := b.radiusFactor * float64(x.radius)
		estimate, upper := b.of(c, 0, 0, 0)
		check("the atom", upper-estimate-fail)
		strips := look.strip(c)
		check("the strip", b.stripRounding(&strips[0]))
		if look.wholeErr == nil {
			b.side = (&resident{c: c}).sides(0)
			estimate, upper = b.beside(0, 0, 0)
			check("terms side by side", upper-estimate-fail)
		}
	}
}

// TestHighHalves holds what looks at signs charge for leaving the low halves of a
// query's codes away against what that takes from the query.
func TestHighHalves(t *testing.T) {
	s := &begun(t, 100, 800, 1).states[0]
	if s.c.SignLevel() < 0 {
		t.Fatal("no signs are kept: the test shows nothing")
	}
	s.fine(&scratch{})
	var lost, sum float64
	for j, w := range s.prep.Rest {
		hi := float64(s.rows.codes.Hi[s.c.R+j])
		off := float64(w) - s.rows.high.restStep*hi
		lost, sum = lost+off*off, sum+hi
	}
	if lost = math.Sqrt(lost); !(lost <= s.rows.high.restErr) || s.rows.high.restErr > 1.1*lost {
		t.Errorf("the high halves are off by %g, %g is charged", lost, s.rows.high.restErr)
	}
	if s.rows.highs != sum {
		t.Errorf("the high halves add up to %g, not %g", sum, s.rows.highs)
	}
}

// TestOffsets holds offsets of atoms whose squares vanish in float32 against the
// true ones, which lie between them and their widths, and what bounds on given
// coordinates charge for the sums behind offsets of long rows.
func TestOffsets(t *testing.T) {
	const n, dim = 40, 32 // an atom and its opposite: the centre is at 0
	rows := backendtest.Gaussian(backendtest.Rand(1), n, dim)
	for i := range rows[:n/2*dim] {
		rows[i] *= float32(math.Pow(10, -20-float64(i/dim)/4))
		rows[n/2*dim+i] = -rows[i]
	}
	c, err := collection.Build(context.Background(), rows, dim, &collection.Options{Metric: collection.Euclidean})
	if err != nil {
		t.Fatal(err)
	}
	s := &state{c: c, exp: -16}
	vanished := 0
	for i := range n {
		var squares float64
		for _, v := range c.Row(int(c.Order[i])) {
			squares += float64(v) * float64(v)
		}
		off, want := s.offset(i), -math.Ldexp(squares/2, -s.exp)
		if off == 0 {
			vanished++
		}
		if !(off >= want*(1-1e-12) && off-s.offsetWidth(i) <= want*(1-1e-12)) {
			t.Errorf("atom %d: offset %g, of width %g, it is %g", i, off, s.offsetWidth(i), want)
		}
	}
	if vanished == 0 || vanished == n {
		t.Errorf("%d of %d offsets vanished: the test shows nothing", vanished, n)
	}

	long := &state{c: &collection.Collection{Dim: 1 << 21, Norm: []float32{1 << 20}, Offset: []float32{-1 << 39}}}
	if got, want := long.exactSlack(0), 0x1p21*0x1p-53*0x1p39; got < want {
		t.Errorf("%g charged for the sums of a long row, of which its offset can lack %g", got, want)
	}
}
