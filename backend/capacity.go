package backend

import (
	"fmt"

	"thresher/collection"
)

// Capacity is the greatest sizes that a backend takes: its limits. No plan asks for more, so that a search whose
// request is valid is not refused halfway. A query may want as many atoms as there are.
type Capacity struct {
	// Atoms and Dim bound a collection's atoms and the coordinates of a row.
	Atoms, Dim int
	// Read bounds, for each Representation, the codes or float32 coordinates that a look may read of an
	// atom, head directions and rest coordinates together; 0 if the backend has no such looks.
	Read [len(representations)]int
}

// Unlimited is above what a look at any collection reads of an atom.
const Unlimited = 2 * collection.MaxDim

// PortableCapacity returns that of backends that state none: first looks and signs whose sums fit
// int32, of rows of any width.
func PortableCapacity() Capacity {
	l := Capacity{Atoms: collection.MaxAtoms, Dim: collection.MaxDim}
	for r := range l.Read {
		l.Read[r] = portableRead
	}
	l.Read[SignPanels] = 0
	l.Read[RowCodes], l.Read[Float32] = Unlimited, Unlimited
	return l
}

// portableRead is the number of products of a code of 8 bits and another of 7 whose sum fits int32.
const portableRead = 1 << 16

// Takes reports whether a look at representation r may read head directions and width rest coordinates.
func (l *Capacity) Takes(r Representation, head, width int) bool {
	return r.known() && head+width <= l.Read[r]
}

// Widest is the greatest number of rest coordinates that a look at representation r may read besides
// head directions; negative if there is no such look.
func (l *Capacity) Widest(r Representation, head int) int { return l.Read[r] - head }

// CheckLook returns an error that wraps ErrRuleUnsupported and names the limit if a look may not read so
// many head directions and rest coordinates.
func (l *Capacity) CheckLook(look Look, head int) error {
	switch {
	case l.Takes(look.Rep, head, look.To):
		return nil
	case !look.Rep.known() || l.Read[look.Rep] == 0:
		return fmt.Errorf("%v: %w", look.Rep, ErrRuleUnsupported)
	}
	return fmt.Errorf("%v of %d rest coordinates and %d head directions, at most %d together: %w", look.Rep, look.To, head, l.Read[look.Rep], ErrRuleUnsupported)
}

// CheckSize returns an error that names the limit if a collection of so many atoms and coordinates is too
// large.
func (l *Capacity) CheckSize(atoms, dim int) error {
	switch {
	case atoms > l.Atoms:
		return fmt.Errorf("%d vectors, at most %d", atoms, l.Atoms)
	case dim > l.Dim:
		return fmt.Errorf("%d dimensions, at most %d", dim, l.Dim)
	}
	return nil
}
