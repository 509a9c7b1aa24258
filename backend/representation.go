package backend

import (
	"fmt"
	"slices"

	"thresher/collection"
)

// Representation says in which form a look reads the atoms. All that depends on it is in one
// table, which the methods below read; backends choose kernels by it.
type Representation uint8

const (
	// Panels reads int8 codes of the head and the first rest coordinates, 64 atoms
	// interleaved: the first look at all atoms.
	Panels Representation = iota
	// RowCodes reads int8 codes row by row: later looks at survivors.
	RowCodes
	// Float32 reads float32 coordinates in the collection's random order
	// (rotated, or permuted when the basis is raw), without a head.
	Float32
	// Signs reads the signs of all rest coordinates, one bit each, and int8 codes of the
	// head, row by row: later looks at survivors.
	Signs
	// Mixed reads int8 codes in which the head and the first rest coordinates are mixed, and
	// MixedTerms more that hold the terms of the atom, so that the sign of one sum decides a
	// pair: the first look at all atoms. Backends that have no such codes, or none of the
	// collection, read panels instead, whose bounds are not greater.
	Mixed
	// SignPanels reads the signs of the first rest coordinates, one bit each, and int8 codes of the
	// head, 64 atoms interleaved: the first look at all atoms, for few queries. A look reads twice as
	// many signs as the stage that is about as sharp has codes.
	SignPanels
)

// MixedTerms is the number of codes that hold the terms of an atom in a look at Mixed, and
// MixedMost the greatest number of the others.
const MixedTerms, MixedMost = 32, 160

// mixedMin and mixedPart are the least number of mixed codes besides those of terms, and what it is a multiple of.
const mixedMin, mixedPart = 64, 32

// MixedWidth is the number of mixed codes of an atom, besides those of its terms, for a look at head directions and width
// rest coordinates; 0 if there would be more than MixedMost.
func MixedWidth(head, width int) int {
	if n := max(mixedMin, (head+width+mixedPart-1)/mixedPart*mixedPart); n <= MixedMost {
		return n
	}
	return 0
}

// representations is the table of all representations.
var representations = [...]struct {
	name string // in certificates, and in plans if it always reads all coordinates
	// first: the looks are at all atoms; otherwise at survivors.
	first bool
	// rules are those whose bounds are defined for it.
	rules []Rule
	// whole: once all coordinates are read, only rounding is uncertain, and a deterministic
	// bound covers it.
	whole bool
	// bits is the size of a rest coordinate. Looks on codes also read int8 codes of the
	// head.
	bits int
	// coded is true of looks that read the collection's stages of a coding.
	coded  bool
	coding collection.Coding
	// cost is that of a look per atom and query, in ns, at head directions and width rest
	// coordinates. panelWidth is that of the collection. 0: the backend has no
	// such looks.
	cost func(c *Costs, head, width, panelWidth int) float64
	// perCode is how many coordinates a look reads for each code of its stage, if not one.
	perCode int
}{
	Panels: {name: "panels", first: true, rules: []Rule{Student, Cauchy}, whole: true, bits: 8,
		coded: true, coding: collection.Int8,
		cost: func(c *Costs, head, width, panelWidth int) float64 {
			code := c.Scan
			if width > panelWidth {
				code = c.Wide
			}
			if code == 0 {
				return 0
			}
			return c.Test + code*float64(head+width)
		}},
	RowCodes: {name: "codes", rules: []Rule{Student, Cauchy}, whole: true, bits: 8,
		coded: true, coding: collection.Int8,
		cost: func(c *Costs, head, width, _ int) float64 { return c.Visit + c.Code*float64(head+width) }},
	Float32: {name: "float32", rules: []Rule{Student, Cauchy, Martingale, MeanRadius}, whole: true, bits: 32},
	Signs: {name: "signs", rules: []Rule{Student, Cauchy}, bits: 1,
		coded: true, coding: collection.Signs,
		cost: func(c *Costs, head, width, _ int) float64 {
			if c.Sign == 0 {
				return 0
			}
			return c.Visit + c.Code*float64(head) + c.Sign*float64(width)
		}},
	Mixed: {name: "mixed", first: true, rules: []Rule{Student}, whole: true, bits: 8,
		coded: true, coding: collection.Int8,
		cost: func(c *Costs, head, width, _ int) float64 {
			if n := MixedWidth(head, width); n > 0 {
				return c.Mixed * float64(n+MixedTerms)
			}
			return 0
		}},
	SignPanels: {name: "sign panels", first: true, rules: []Rule{Student}, bits: 1,
		coded: true, coding: collection.Int8, perCode: signsPerCode,
		cost: func(c *Costs, head, width, _ int) float64 {
			if c.Lookup == 0 {
				return 0
			}
			return signTests*c.Test + c.Scan*float64(head) + c.Lookup*float64(width)
		}},
}

// signsPerCode is how many signs a look at SignPanels reads for each code of its stage. Signs are as sharp as codes of 2/pi
// of them.
const signsPerCode = 2

// signTests is what a look at SignPanels takes for an atom, codes aside, as a multiple of Costs.Test: sums are stored and
// then tested. Measured 1.9 to 2.1.
const signTests = 2

// Reads is how many rest coordinates a look reads at a stage of so many.
func (r Representation) Reads(width int) int { return width * max(1, representations[r].perCode) }

func (r Representation) known() bool { return int(r) < len(representations) }

// String is the name in certificates and plans.
func (r Representation) String() string {
	if r.known() {
		return representations[r].name
	}
	return fmt.Sprintf("Representation(%d)", uint8(r))
}

// ForFirstLook reports whether the looks are at all atoms; otherwise they are at survivors.
func (r Representation) ForFirstLook() bool { return r.known() && representations[r].first }

// Coded reports whether the looks read int8 codes of the head and the rest coordinates of
// one of the collection's Stages.
func (r Representation) Coded() bool { return r.known() && representations[r].coded }

// Takes reports whether a look may use a rule.
func (r Representation) Takes(rule Rule) bool {
	return r.known() && slices.Contains(representations[r].rules, rule)
}

// CertainWhole reports whether a look at all coordinates, by Student or Cauchy, has a
// deterministic bound.
func (r Representation) CertainWhole() bool { return r.known() && representations[r].whole }

// AtomBytes is how many bytes a look at head directions and width rest coordinates reads of
// an atom. A byte is one pull: a code or eight signs. r is Coded.
func (r Representation) AtomBytes(head, width int) int {
	return head + width*representations[r].bits/8
}

// Stage is the index of the stage of c that a look at width rest coordinates reads, or
// -1 if there is none. r is Coded.
func (r Representation) Stage(c *collection.Collection, width int) int {
	coding := representations[r].coding
	return slices.IndexFunc(c.Stages, func(l collection.Stage) bool { return l.Coding == coding && r.Reads(l.Width) == width })
}

// StoredIn reports whether c has a stage of this representation. r is Coded.
func (r Representation) StoredIn(c *collection.Collection) bool {
	return slices.ContainsFunc(c.Stages, func(l collection.Stage) bool { return r.Stage(c, r.Reads(l.Width)) >= 0 })
}

// Codes are the rows that looks at survivors read, stride bytes apart. r is Coded and not
// ForFirstLook, and it is StoredIn c.
func (r Representation) Codes(c *collection.Collection) (codes []uint8, stride int) {
	if coding := representations[r].coding; coding != collection.Int8 {
		l := &c.Stages[c.StageOf(coding)]
		return l.Rows, l.Stride
	}
	return c.Codes, c.R + c.D
}

// Cost is the cost of a look per atom and query, in ns, at head directions and width rest
// coordinates, of which panels hold the first panelWidth; 0 if the backend has no such looks.
// Costs.Far is not included. r is Coded.
func (r Representation) Cost(c *Costs, head, width, panelWidth int) float64 {
	return representations[r].cost(c, head, width, panelWidth)
}

// LaterLook returns the representation that a look at survivors reads at a stage.
func LaterLook(l *collection.Stage) Representation {
	for r := range Representation(len(representations)) {
		if r.Coded() && !r.ForFirstLook() && representations[r].coding == l.Coding {
			return r
		}
	}
	panic("backend: no representation of stages of coding " + fmt.Sprint(l.Coding))
}
