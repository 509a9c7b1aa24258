package looks

import (
	"fmt"

	"thresher/backend"
	"thresher/collection"
	"thresher/simd"
)

// Kind is how a look bounds the coordinates that it does not read.
type Kind uint8

const (
	// Whole reads a code of all coordinates, and bounds its error with certainty.
	// docs/guarantee.md, int8 codes and certain.
	Whole Kind = iota
	// Student is the linear test, which fails with probability Alpha. docs/guarantee.md,
	// the linear test.
	Student
	// Cauchy bounds the coordinates beyond a prefix by their norms, and those within it by
	// the error of their codes, with certainty. docs/guarantee.md, certain.
	Cauchy
)

// QueryCodes says which integer codes of a query a look multiplies, which determines the
// query's rounding error. docs/guarantee.md, int8 codes.
type QueryCodes uint8

const (
	// Codes8 are codes of 8 bits, for panels.
	Codes8 QueryCodes = iota
	// Codes16 are codes of 16 bits, for rows.
	Codes16
	// CodesHigh are codes of 16 bits for the head and their high bytes for the rest, for
	// signs.
	CodesHigh
)

// The greatest magnitudes of a query's codes.
const (
	MaxCode8  = 127
	MaxCode16 = simd.MaxRow
)

// codesOf are the query codes for each representation.
var codesOf = [...]QueryCodes{backend.Panels: Codes8, backend.RowCodes: Codes16, backend.Signs: CodesHigh, backend.Mixed: Codes8, backend.SignPanels: Codes8}

// Terms are the terms that a look reads of each atom in addition to its codes, in internal
// order. The slices belong to the collection; Offset and WholeErr may be nil.
type Terms struct {
	HeadScale, HeadNorm, HeadErr, Norm, Offset []float32
	Scale, Radius, XNorm, WholeErr             []float32
}

// Compiled is a backend.Look with all that depends on the collection and not on the query.
type Compiled struct {
	backend.Look
	Stage      int // of the collection's Stages
	Kind       Kind
	QueryCodes QueryCodes
	AtomBytes  int     // bytes of codes read of an atom: a code or eight signs each
	Reach      float64 // of Student: the multiple of the radius that its alpha requires
	Terms
	// Slack and CodeSlack are the collection's.
	Slack, CodeSlack float64
	Signs            *collection.SignPanels // of looks at panels of signs
	Strips           []Strip                // of looks at panels
	Sides            []Side                 // set by Set.LayOut
}

// FullWidth reports whether the look reads all int8 codes, after which only the float32 row says more.
func (t *Compiled) FullWidth() bool { return t.Kind == Whole && t.QueryCodes != CodesHigh }

// Random reports whether the look's bound can fail.
func (t *Compiled) Random() bool { return t.Kind == Student }

// compile compiles look l for the collection; signs are those that it reads, if any. s.mu is held.
func (s *Set) compile(l backend.Look, signs *collection.SignPanels) (*Compiled, error) {
	c := s.c
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
	t.Kind = kindOf(c, l, t.Stage)
	switch {
	case l.Rep == backend.SignPanels:
		if l.To > min(c.D, simd.MaxSignPanel) {
			return nil, fmt.Errorf("signs of %d of %d coordinates, at most %d: %w", l.To, c.D, simd.MaxSignPanel, backend.ErrRuleUnsupported)
		}
		t.Signs = signs
		t.Reach = s.reachOf(l.Alpha)
		t.Scale, t.Radius, t.XNorm = t.Signs.Scale, t.Signs.Radius, t.Signs.XNorm
	case t.Stage == last:
		// x codes the whole rest o, and <o - x, q_rest> is at most |o - x| |q_rest|
		t.Radius = at.Beyond
	case l.Rule == backend.Student:
		t.Radius, t.Reach = at.Radius, s.reachOf(l.Alpha)
	case at.Coding == collection.Signs:
		of := s.signTerms()
		t.Radius, t.Scale, t.XNorm = of.Radius, of.Scale, of.XNorm
	default:
		t.Radius = at.Beyond
		t.Scale, t.XNorm, t.WholeErr = whole.Scale, whole.XNorm, whole.Beyond
	}
	return t, nil
}

// kindOf returns how look l, which ends at a stage of c, bounds the coordinates that it does not read.
func kindOf(c *collection.Collection, l backend.Look, stage int) Kind {
	switch {
	case l.Rep == backend.SignPanels:
		return Student
	case stage == len(c.Stages)-1:
		return Whole
	case l.Rule == backend.Student:
		return Student
	case c.Stages[stage].Coding == collection.Signs:
		return Whole
	}
	return Cauchy
}

// contiguous reports whether a look at rows reads the terms of each atom from one place: all but Cauchy looks at prefixes.
func contiguous(q QueryCodes, k Kind) bool { return q != Codes8 && k != Cauchy }

// widths lists the widths of c's stages.
func widths(c *collection.Collection) []int {
	w := make([]int, len(c.Stages))
	for i := range c.Stages {
		w[i] = c.Stages[i].Width
	}
	return w
}
