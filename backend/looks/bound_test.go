package looks

import (
	"testing"

	"thresher/backend"
	"thresher/collection"
)

// TestBoundsCharge gives bounds one source of error of docs/guarantee.md at a time, and checks
// that all three forms include it: those of an atom, of a strip, and of interleaved terms.
func TestBoundsCharge(t *testing.T) {
	type given struct {
		headNorm, headErr, xnorm, norm, wholeErr, radius, offset float32 // the atom's
		query                                                    collection.Query
		steps                                                    Steps
		slack, codeSlack                                         float64
	}
	for name, x := range map[string]struct {
		given
		want float64
	}{
		"nothing":                                {given{}, Least},
		"codes of the query's head":              {given{headNorm: 3, steps: Steps{HeadErr: .1}}, .3},
		"codes of the atom's head":               {given{headErr: 3, query: collection.Query{HeadNorm: .1}}, .3},
		"codes of the query's rest":              {given{xnorm: 3, steps: Steps{RestErr: .1}}, .3},
		"codes of the atom's rest":               {given{wholeErr: 3, query: collection.Query{Rest: []float32{.1, 0}}}, .3},
		"rotation and head":                      {given{norm: 3, slack: .1, query: collection.Query{Norm: 2}}, .6},
		"the law's own rotation, by the code":    {given{xnorm: 3, codeSlack: .1, query: collection.Query{RestNorm: 2}}, .6},
		"the law's own rotation, by the atom":    {given{norm: 3, codeSlack: .1, query: collection.Query{RestNorm: 2}}, .6},
		"float32 of the head's product":          {given{headNorm: 3, query: collection.Query{HeadNorm: 2}}, 6 * Slop},
		"float32 of the rest's product":          {given{xnorm: 3, query: collection.Query{RestNorm: 2}}, 6 * Slop},
		"float32 of the radius":                  {given{radius: 3, query: collection.Query{RestNorm: 2}}, 6 * Slop},
		"float32 of the offset":                  {given{offset: -6}, 6 * Slop},
		"codes of the query's head, far too few": {given{headNorm: 3, steps: Steps{HeadErr: 1 << 20}}, 3 << 20 * (1 + Slop)},
		"codes of the query's rest, far too few": {given{xnorm: 3, steps: Steps{RestErr: 1 << 20}}, 3 << 20 * (1 + Slop)},
	} {
		one := func(v float32) []float32 { return []float32{v} }
		if x.query.Rest == nil {
			x.query.Rest = make([]float32, 2)
		}
		look := &Compiled{Look: backend.Look{To: 1}, Kind: Student, Reach: 1, Slack: x.slack, CodeSlack: x.codeSlack,
			Terms: Terms{HeadScale: one(0), HeadNorm: one(x.headNorm), HeadErr: one(x.headErr), Norm: one(x.norm), Offset: one(x.offset),
				Scale: one(0), Radius: one(x.radius), XNorm: one(x.xnorm)}}
		if x.wholeErr > 0 { // only Cauchy looks have it
			look.Kind, look.WholeErr = Cauchy, one(x.wholeErr)
		}
		b := look.Bound(&x.query, x.steps)
		check := func(form string, got float64) {
			if !(got >= x.want*(1-1e-12)) {
				t.Errorf("%s: %g charged by %s, want %g", name, got, form, x.want)
			}
		}
		fail := b.RadiusFactor * float64(x.radius)
		estimate, upper := b.Of(0, 0, 0)
		check("the atom", upper-estimate-fail)
		check("the strip", b.StripRounding(&look.strips(1)[0]))
		side := look.Side(0)
		estimate, upper = b.OfSide(&side, 0, 0)
		check("terms side by side", upper-estimate-fail)
	}
}
