package backend

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"thresher/collection"
)

// panelAtoms is the number of bits in a word of a Filter: a word stands for a panel.
const panelAtoms = collection.PanelAtoms

// Filter says which atoms of a collection may be returned. A request has one, which its
// goals share. The bitmap and the lists are made when first used, so that a filter of few
// atoms takes little memory; callers must not change them. A Filter is safe for concurrent
// use.
type Filter struct {
	order   []uint32 // row number by internal index
	inverse []uint32 // internal index by row number; of RowFilter alone
	count   int      // allowed atoms
	listed  bool     // made by ListFilter

	made    struct{ bits, rowBits, atoms, panels, rows, filled sync.Once }
	bits    []uint64
	rowBits []uint64 // by row number
	atoms   []uint32
	rows    []uint32
	full    []uint32 // panels with an allowed atom
	filled  int      // how many these are

	again atomic.Bool // see Reuse
	mu    sync.Mutex
	kept  []keptValue // the last one at the end
}

// keptValue is what a backend keeps with a filter.
type keptValue struct{ key, value any }

const (
	// keptAtoms: backends keep what they make for a filter that allows at most 1/keptAtoms of the atoms.
	keptAtoms = 64
	// keptValues is how many values a filter keeps.
	keptValues = 2
)

// Reuse says that searches to come will have the filter too, so that what they make for it pays for them all.
func (f *Filter) Reuse() { f.again.Store(true) }

// Keeps reports whether backends keep what they make for the filter: it is used again, and few atoms are allowed, so that
// it is little beside the collection.
func (f *Filter) Keeps() bool { return f.again.Load() && f.count <= len(f.order)/keptAtoms }

// Kept returns the value that was kept for a key; nil for none.
func (f *Filter) Kept(key any) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.kept {
		if k.key == key {
			return k.value
		}
	}
	return nil
}

// Keep keeps a value for a key, in place of the oldest if there are as many as a filter keeps. If there is one of the key, which
// another search made meanwhile, that one stays.
func (f *Filter) Keep(key, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.ContainsFunc(f.kept, func(k keptValue) bool { return k.key == key }) {
		return
	}
	if len(f.kept) == keptValues {
		f.kept = slices.Delete(f.kept, 0, 1)
	}
	f.kept = append(f.kept, keptValue{key, value})
}

// NewFilter returns a filter of one bit per atom in internal order, 1 = may be returned; bits
// beyond the last atom are 0. order is the collection's. The filter keeps both slices.
func NewFilter(order []uint32, b []uint64) *Filter {
	f := &Filter{order: order, bits: b}
	f.made.bits.Do(func() {})
	f.count = countOnes(b)
	return f
}

// RowFilter returns a filter of one bit per row, in the order of row numbers, 1 = may be returned; bits beyond the last
// row are 0. order is the collection's, and inverse has the internal index of each row. The filter keeps all slices.
func RowFilter(order, inverse []uint32, rows []uint64) *Filter {
	f := &Filter{order: order, inverse: inverse, rowBits: rows, count: countOnes(rows)}
	f.made.rowBits.Do(func() {})
	return f
}

// ListFilter returns a filter of the given atoms, by internal index in any order, possibly
// with duplicates. order is the collection's. The filter keeps both slices and sorts atoms.
func ListFilter(order, atoms []uint32) *Filter {
	f := &Filter{order: order, atoms: SortIndexes(atoms, len(order)), listed: true}
	f.made.atoms.Do(func() {})
	f.count = len(f.atoms)
	return f
}

// Len is how many atoms may be returned.
func (f *Filter) Len() int { return f.count }

// MaxSize bounds the bytes that the filter takes once all of it is made, atomBytes being those of a copy of what looks
// read of an atom.
func (f *Filter) MaxSize(atomBytes int) int64 {
	words := (len(f.order) + panelAtoms - 1) / panelAtoms
	size := 16*int64(words) + 8*int64(f.count) + 4*int64(min(words, f.count))
	if f.count <= len(f.order)/keptAtoms {
		size += keptValues * int64(f.count) * int64(atomBytes)
	}
	return size
}

// Filled is the number of panels, of 64 atoms in internal order, with an allowed atom.
func (f *Filter) Filled() int {
	f.made.filled.Do(func() {
		if f.listed {
			for k, i := range f.atoms {
				if k == 0 || i/panelAtoms != f.atoms[k-1]/panelAtoms {
					f.filled++
				}
			}
			return
		}
		for _, w := range f.Bits() {
			if w != 0 {
				f.filled++
			}
		}
	})
	return f.filled
}

// Has reports whether atom i may be returned.
func (f *Filter) Has(i int) bool {
	if f.listed {
		_, ok := slices.BinarySearch(f.atoms, uint32(i))
		return ok
	}
	if f.inverse != nil { // its bits of atoms may not be made yet
		row := f.order[i]
		return f.rowBits[row/panelAtoms]>>(row%panelAtoms)&1 == 1
	}
	return f.bits[i/panelAtoms]>>(i%panelAtoms)&1 == 1
}

// Bits returns one bit per atom in internal order, 1 = may be returned. It is read only.
func (f *Filter) Bits() []uint64 {
	f.made.bits.Do(func() {
		f.bits = make([]uint64, (len(f.order)+panelAtoms-1)/panelAtoms)
		if !f.listed {
			moveOnes(f.bits, f.rowBits, f.inverse)
			return
		}
		for _, i := range f.atoms {
			f.bits[i/panelAtoms] |= 1 << (i % panelAtoms)
		}
	})
	return f.bits
}

// RowBits returns one bit per row, in the order of row numbers, 1 = may be returned. It is read only.
func (f *Filter) RowBits() []uint64 {
	f.made.rowBits.Do(func() {
		f.rowBits = make([]uint64, (len(f.order)+panelAtoms-1)/panelAtoms)
		if !f.listed {
			moveOnes(f.rowBits, f.bits, f.order)
			return
		}
		for _, i := range f.atoms {
			row := f.order[i]
			f.rowBits[row/panelAtoms] |= 1 << (row % panelAtoms)
		}
	})
	return f.rowBits
}

// moveOnes sets in dst, whose bits are 0, the bit to[i] for each bit i that is set in b. Where most are, it clears those
// of the others.
func moveOnes(dst, b []uint64, to []uint32) {
	if 2*countOnes(b) < len(to) {
		for k, w := range b {
			for ; w != 0; w &= w - 1 {
				i := to[k*panelAtoms+bits.TrailingZeros64(w)]
				dst[i/panelAtoms] |= 1 << (i % panelAtoms)
			}
		}
		return
	}
	for k := range dst {
		dst[k] = ^uint64(0) >> (panelAtoms - min(panelAtoms, len(to)-k*panelAtoms))
	}
	for k, w := range b {
		w = ^w & (^uint64(0) >> (panelAtoms - min(panelAtoms, len(to)-k*panelAtoms)))
		for ; w != 0; w &= w - 1 {
			i := to[k*panelAtoms+bits.TrailingZeros64(w)]
			dst[i/panelAtoms] &^= 1 << (i % panelAtoms)
		}
	}
}

// countOnes counts the bits that are set.
func countOnes(b []uint64) (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// Atoms lists the allowed atoms by internal index, ascending. It is read only.
func (f *Filter) Atoms() []uint32 {
	f.made.atoms.Do(func() { f.atoms = appendOnes(make([]uint32, 0, f.count), f.Bits()) })
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
	b, word := f.Bits(), i/panelAtoms
	if word >= len(b) {
		return 0
	}
	return bits.OnesCount64(b[word]>>(i%panelAtoms)) + countOnes(b[word+1:])
}

// Panels lists the panels with an allowed atom, ascending. It is read only.
func (f *Filter) Panels() []uint32 {
	f.made.panels.Do(func() {
		f.full = make([]uint32, 0, f.Filled())
		if !f.listed {
			for p, w := range f.Bits() {
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
		if f.inverse != nil {
			f.rows = appendOnes(make([]uint32, 0, f.count), f.rowBits)
			return
		}
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
