package looks

import (
	"fmt"

	"thresher/backend"
	"thresher/bandit"
	"thresher/collection"
	"thresher/simd"
)

// Kind is how a look bounds what it has not read.
type Kind uint8

const (
	// Whole reads all codes of a row; what they are off by bounds the rest with
	// certainty. docs/guarantee.md, int8 codes.
	Whole Kind = iota
	// Student is the linear test, which fails with the look's Alpha. docs/guarantee.md,
	// the linear test.
	Student
	// Cauchy bounds what is beyond a prefix by norms, with certainty, and what is
	// within it by the error of its codes. docs/guarantee.md, certain.
	Cauchy
)

// QueryCodes says which integer codes of a query a look multiplies, and so what the query's
// rounding costs. docs/guarantee.md, int8 codes.
type QueryCodes uint8

const (
	// Codes8 are of 8 bits: of panels.
	Codes8 QueryCodes = iota
	// Codes16 are of 16 bits: of rows.
	Codes16
	// CodesHigh are of 16 bits for the head, and their high halves for the rest: of
	// signs.
	CodesHigh
)

// The greatest magnitudes of a query's codes.
const (
	MaxCode8  = 127
	MaxCode16 = simd.MaxRow
)

// codesOf are the codes by which each representation is multiplied.
var codesOf = [...]QueryCodes{backend.Panels: Codes8, backend.RowCodes: Codes16, backend.Signs: CodesHigh}

// Terms are what a look reads of each atom besides codes, in internal order. The
// slices are the collection's; Offset and WholeErr may be nil.
type Terms struct {
	HeadScale, HeadNorm, HeadErr, Norm, Offset []float32
	Scale, Radius, XNorm, WholeErr             []float32
}

// Compiled is a backend.Look made ready for a collection: all that does not depend on
// the query.
type Compiled struct {
	backend.Look
	Stage      int // of the collection's Stages
	Kind       Kind
	QueryCodes QueryCodes
	AtomBytes  int     // codes an atom is looked at with; eight signs count as one
	Reach      float64 // of Student: how many radii its alpha costs
	Terms
	// Slack and CodeSlack are the collection's.
	Slack, CodeSlack float64
	Strips           []Strip // of looks at panels
	Sides            []Side  // once Set.Side has made them
}

// Random reports whether the look's bound can fail.
func (t *Compiled) Random() bool { return t.Kind == Student }

// compile says how look l is taken, or why it is not.
func compile(c *collection.Collection, l backend.Look) (*Compiled, error) {
	switch {
	case !l.Rep.Coded():
		return nil, fmt.Errorf("codes of representation %v: %w", l.Rep, backend.ErrRuleUnsupported)
	case !l.Rep.StoredIn(c):
		return nil, fmt.Errorf("%v of a collection that has none: %w", l.Rep, backend.ErrRuleUnsupported)
	case !l.Rep.Takes(l.Rule):
		return nil, fmt.Errorf("rule %d on %v: %w", l.Rule, l.Rep, backend.ErrRuleUnsupported)
	}
	t := &Compiled{Look: l, Stage: l.Rep.Stage(c, l.To), QueryCodes: codesOf[l.Rep], AtomBytes: l.Rep.AtomBytes(c.R, l.To), Slack: c.Slack, CodeSlack: c.CodeSlack}
	if t.Stage < 0 || l.From != 0 {
		return nil, fmt.Errorf("look at coordinates %d to %d of codes kept at %v", l.From, l.To, widths(c))
	}
	last := len(c.Stages) - 1
	at, whole := &c.Stages[t.Stage], &c.Stages[last]
	t.Terms = Terms{HeadScale: c.HeadScale, HeadNorm: c.HeadNorm, HeadErr: c.HeadErr, Norm: c.Norm, Offset: c.Offset,
		Scale: at.Scale, XNorm: at.XNorm}
	switch {
	case t.Stage == last:
		// the code is of all of the rest o: |o - x| |q_rest| is all that is left open
		t.Kind, t.Radius = Whole, at.Beyond
	case l.Rule == backend.Student:
		t.Kind, t.Radius, t.Reach = Student, at.Radius, bandit.Reach(l.Alpha, c.Kappa, c.D)
	default:
		t.Kind, t.Radius = Cauchy, at.Beyond
		t.Scale, t.XNorm, t.WholeErr = whole.Scale, whole.XNorm, whole.Beyond
	}
	return t, nil
}

func widths(c *collection.Collection) []int {
	w := make([]int, len(c.Stages))
	for i := range c.Stages {
		w[i] = c.Stages[i].Width
	}
	return w
}
