package backend

import (
	"math/bits"
	"slices"
	"sync"

	"thresher/collection"
)

// panelAtoms is the number of bits in a word of a Filter: a word stands for a panel.
const panelAtoms = collection.PanelAtoms

// Filter says which atoms of a collection may be returned. A request has one, which its
// goals share. The bitmap and the lists are made when first used, so that a filter of few
// atoms takes little memory; callers must not change them. A Filter is safe for concurrent
// use.
type Filter struct {
	order  []uint32 // row number by internal index
	count  int      // allowed atoms
	filled int      // panels with an allowed atom
	listed bool     // made by ListFilter

	made  struct{ bits, atoms, panels, rows sync.Once }
	bits  []uint64
	atoms []uint32
	rows  []uint32
	full  []uint32 // panels with an allowed atom
}

// NewFilter returns a filter of one bit per atom in internal order, 1 = may be returned; bits
// beyond the last atom are 0. order is the collection's. The filter keeps both slices.
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

// ListFilter returns a filter of the given atoms, by internal index in any order, possibly
// with duplicates. order is the collection's. The filter keeps both slices and sorts atoms.
func ListFilter(order, atoms []uint32) *Filter {
	f := &Filter{order: order, atoms: SortIndexes(atoms, len(order)), listed: true}
	f.made.atoms.Do(func() {})
	f.count = len(f.atoms)
	for k, i := range f.atoms {
		if k == 0 || i/panelAtoms != f.atoms[k-1]/panelAtoms {
			f.filled++
		}
	}
	return f
}

// KeepRows makes rows what Rows returns, so that it need not sort: the numbers of the allowed rows, ascending. The
// filter keeps the slice. It must not be called once others use the filter.
func (f *Filter) KeepRows(rows []uint32) {
	f.rows = rows
	f.made.rows.Do(func() {})
}

// Len is how many atoms may be returned.
func (f *Filter) Len() int { return f.count }

// Filled is the number of panels, of 64 atoms in internal order, with an allowed atom.
func (f *Filter) Filled() int { return f.filled }

// Has reports whether atom i may be returned.
func (f *Filter) Has(i int) bool {
	if f.listed {
		_, ok := slices.BinarySearch(f.atoms, uint32(i))
		return ok
	}
	return f.bits[i/panelAtoms]>>(i%panelAtoms)&1 == 1
}

// Bits returns one bit per atom in internal order, 1 = may be returned. It is read only.
func (f *Filter) Bits() []uint64 {
	f.made.bits.Do(func() {
		f.bits = make([]uint64, (len(f.order)+panelAtoms-1)/panelAtoms)
		for _, i := range f.atoms {
			f.bits[i/panelAtoms] |= 1 << (i % panelAtoms)
		}
	})
	return f.bits
}

// Atoms lists the allowed atoms by internal index, ascending. It is read only.
func (f *Filter) Atoms() []uint32 {
	f.made.atoms.Do(func() { f.atoms = appendOnes(make([]uint32, 0, f.count), f.bits) })
	return f.atoms
}

// LenFrom is how many atoms from atom i on may be returned.
func (f *Filter) LenFrom(i int) int {
	if f.listed {
		from, _ := slices.BinarySearch(f.atoms, uint32(i))
		return len(f.atoms) - from
	}
	if i <= 0 {
		return f.count
	}
	n, word := 0, i/panelAtoms
	if word < len(f.bits) {
		n = bits.OnesCount64(f.bits[word] >> (i % panelAtoms))
		for _, w := range f.bits[word+1:] {
			n += bits.OnesCount64(w)
		}
	}
	return n
}

// Panels lists the panels with an allowed atom, ascending. It is read only.
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

// Rows lists the allowed rows by number, ascending, which is their order in memory. It is
// read only.
func (f *Filter) Rows() []uint32 {
	f.made.rows.Do(func() {
		rows := make([]uint32, f.count)
		for k, i := range f.Atoms() {
			rows[k] = f.order[i]
		}
		f.rows = SortIndexes(rows, len(f.order))
	})
	return f.rows
}

// fewIndexes is the number of indexes up to which SortIndexes compares them.
const fewIndexes = 64

// SortIndexes sorts indexes below n, in place, removes duplicates and returns those left.
func SortIndexes(indexes []uint32, n int) []uint32 { return new(IndexSorter).Sort(indexes, n) }

// IndexSorter is memory for SortIndexes, of n/8 bytes, for whoever sorts again and again. Its zero value is
// ready. It is not safe for concurrent use.
type IndexSorter struct {
	bits []uint64 // zero between calls
}

// Sort is SortIndexes. Many indexes are sorted by setting bits, which takes time linear in n/64 and their
// number.
func (s *IndexSorter) Sort(indexes []uint32, n int) []uint32 {
	if len(indexes) <= max(fewIndexes, n/4096) {
		slices.Sort(indexes)
		return slices.Compact(indexes)
	}
	words := (n + panelAtoms - 1) / panelAtoms
	if len(s.bits) < words {
		s.bits = make([]uint64, words)
	}
	b := s.bits[:words]
	for _, i := range indexes {
		b[i/panelAtoms] |= 1 << (i % panelAtoms)
	}
	sorted := indexes[:0]
	for k, w := range b {
		if w == 0 {
			continue
		}
		b[k] = 0
		for ; w != 0; w &= w - 1 {
			sorted = append(sorted, uint32(k*panelAtoms+bits.TrailingZeros64(w)))
		}
	}
	return sorted
}

// appendOnes appends to list the indexes of the bits that are set.
func appendOnes(list []uint32, b []uint64) []uint32 {
	for k, w := range b {
		for ; w != 0; w &= w - 1 {
			list = append(list, uint32(k*panelAtoms+bits.TrailingZeros64(w)))
		}
	}
	return list
}
