package backend

import (
	"math/bits"
	"slices"
	"sync"

	"thresher/collection"
)

// panelAtoms is how many atoms a word of a Filter holds: those of a panel.
const panelAtoms = collection.PanelAtoms

// Filter says which atoms of a collection may be returned. One is made for a request
// and shared between its goals. What it is read by, bits or lists, is made when it is
// first asked for, so that a few atoms of many cost no more than themselves; nobody
// may change it. A Filter is safe for concurrent use.
type Filter struct {
	order  []uint32 // row of an atom
	count  int
	filled int  // panels with an atom
	listed bool // made of a list

	made  struct{ bits, atoms, panels, rows sync.Once }
	bits  []uint64
	atoms []uint32
	rows  []uint32
	full  []uint32 // panels with an atom
}

// NewFilter makes a filter of one bit an atom in internal order, 1 = may be returned;
// there are none beyond the last atom. order is the collection's. Both are the filter's
// from then on.
func NewFilter(order []uint32, b []uint64) *Filter {
	f := &Filter{order: order, bits: b}
	f.made.bits.Do(func() {})
	for _, w := range b {
		if w != 0 {
			f.filled++
			f.count += bits.OnesCount64(w)
		}
	}
	return f
}

// ListFilter makes a filter of the atoms that may be returned, by internal index in
// any order; an atom may be named twice. Both slices are the filter's from then on.
func ListFilter(order, atoms []uint32) *Filter {
	slices.Sort(atoms)
	f := &Filter{order: order, atoms: slices.Compact(atoms), listed: true}
	f.made.atoms.Do(func() {})
	f.count = len(f.atoms)
	for k, i := range f.atoms {
		if k == 0 || i/panelAtoms != f.atoms[k-1]/panelAtoms {
			f.filled++
		}
	}
	return f
}

// Len is how many atoms may be returned.
func (f *Filter) Len() int { return f.count }

// Filled is how many panels, of 64 atoms in internal order, hold one that may be
// returned.
func (f *Filter) Filled() int { return f.filled }

// Has reports whether atom i may be returned.
func (f *Filter) Has(i int) bool {
	if f.listed {
		_, ok := slices.BinarySearch(f.atoms, uint32(i))
		return ok
	}
	return f.bits[i/panelAtoms]>>(i%panelAtoms)&1 == 1
}

// Bits holds one bit an atom in internal order, 1 = may be returned.
func (f *Filter) Bits() []uint64 {
	f.made.bits.Do(func() {
		f.bits = make([]uint64, (len(f.order)+panelAtoms-1)/panelAtoms)
		for _, i := range f.atoms {
			f.bits[i/panelAtoms] |= 1 << (i % panelAtoms)
		}
	})
	return f.bits
}

// Atoms lists those that may be returned by internal index, ascending.
func (f *Filter) Atoms() []uint32 {
	f.made.atoms.Do(func() { f.atoms = ones(f.bits, f.count) })
	return f.atoms
}

// Panels lists those that hold an atom that may be returned, ascending.
func (f *Filter) Panels() []uint32 {
	f.made.panels.Do(func() {
		f.full = make([]uint32, 0, f.filled)
		if !f.listed {
			for p, w := range f.bits {
				if w != 0 {
					f.full = append(f.full, uint32(p))
				}
			}
			return
		}
		for _, i := range f.atoms {
			if p := i / panelAtoms; len(f.full) == 0 || f.full[len(f.full)-1] != p {
				f.full = append(f.full, p)
			}
		}
	})
	return f.full
}

// sortedRows is how many rows are sorted by comparing; the bits of more are set in
// their order.
const sortedRows = 64

// Rows lists the rows that may be returned by number, ascending: as they lie in
// memory.
func (f *Filter) Rows() []uint32 {
	f.made.rows.Do(func() {
		atoms := f.Atoms()
		if len(atoms) <= max(sortedRows, len(f.order)/4096) {
			f.rows = make([]uint32, len(atoms))
			for k, i := range atoms {
				f.rows[k] = f.order[i]
			}
			slices.Sort(f.rows)
			return
		}
		b := make([]uint64, (len(f.order)+panelAtoms-1)/panelAtoms)
		for _, i := range atoms {
			row := f.order[i]
			b[row/panelAtoms] |= 1 << (row % panelAtoms)
		}
		f.rows = ones(b, f.count)
	})
	return f.rows
}

// ones lists the bits that are set, of which there are n.
func ones(b []uint64, n int) []uint32 {
	at := make([]uint32, 0, n)
	for k, w := range b {
		for ; w != 0; w &= w - 1 {
			at = append(at, uint32(k*panelAtoms+bits.TrailingZeros64(w)))
		}
	}
	return at
}
