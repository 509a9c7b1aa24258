package collection

import (
	"fmt"
	"hash/crc32"
	"math"
	"os"
)

// file is memory in the mapped sections of a file being written.
type file struct {
	f        *os.File
	end      int64
	sections []section
	maps     [][]byte
	inMemory []bool         // by section: held in memory, not mapped, until closeSections
	segment  int64          // bytes that a build works on at a time, see paging.go; 0: all
	held     int64          // bytes of codes that such a build holds in memory until they are in order
	atoms    int            // in all
	squares  []float64      // sums of squares of each row; nil if they were not summed as they were written
	sums     map[int]uint32 // checksums of sections that were summed as they were written
}

func aligned(at, to int64) int64 { return (at + to - 1) / to * to }

func (w *file) bytes(name string, n int64) ([]byte, error) {
	if n < packedBelow && len(w.sections) > 0 { // the first section is already in the file
		b, err := heap{}.bytes(name, n)
		w.addSection(section{Name: name, Bytes: n}, b, true)
		return b, err
	}
	off := aligned(w.end, pageBytes())
	if err := w.f.Truncate(off + n); err != nil {
		return nil, err
	}
	if err := allocate(w.f, off, n); err != nil {
		return nil, err
	}
	b, err := mapFile(w.f, off, n, true)
	if err != nil {
		return nil, err
	}
	w.end = off + n
	w.addSection(section{Name: name, Offset: off, Bytes: n}, b, false)
	return b, nil
}

func (w *file) addSection(s section, b []byte, inMemory bool) {
	w.sections, w.maps, w.inMemory = append(w.sections, s), append(w.maps, b), append(w.inMemory, inMemory)
}

// writeSection appends a section that was in memory to the file.
func (w *file) writeSection(s *section, b []byte) error {
	s.Offset = aligned(w.end, sectionAlign)
	w.end = s.Offset + s.Bytes
	_, err := w.f.WriteAt(b, s.Offset)
	return err
}

// closeSections ends the mapping of every section. If ok, it first computes the checksums and
// writes the sections held in memory.
func (w *file) closeSections(ok bool) error {
	var first error
	for i, b := range w.maps {
		if ok {
			w.sections[i].CRC = w.checksum(i)
		}
		var err error
		switch {
		case !w.inMemory[i]:
			err = unmapFile(w.f, w.sections[i].Offset, b, ok)
		case ok:
			err = w.writeSection(&w.sections[i], b)
		}
		if err != nil && first == nil {
			first = err
		}
	}
	w.maps = nil
	return first
}

// mapped is memory in the sections of an opened file.
type mapped struct {
	all            []byte
	sections       map[string]section
	squaresMissing bool      // the file has no RowSquares
	checks         checks    // what is compared with its checksum
	later          []section // sections that are still to be compared
}

func (m *mapped) bytes(name string, n int64) ([]byte, error) {
	s, ok := m.sections[name]
	if _, before := m.sections[rowNorms]; !ok && name == rowSquares && before {
		m.squaresMissing = true
		return heap{}.bytes(name, n)
	}
	if !ok || s.Bytes != n || s.Offset < headerBytes || s.Offset%sectionAlign != 0 || s.Offset > math.MaxInt64-n || s.Offset+n > int64(len(m.all)) {
		return nil, fmt.Errorf("%w: section missing or not of %d bytes", ErrCorrupt, n)
	}
	b := m.all[s.Offset : s.Offset+n : s.Offset+n]
	if m.checks.leaves(name, n) {
		m.later = append(m.later, s)
	} else if m.checks != checkNothing && crc32.Checksum(b, castagnoli) != s.CRC {
		return nil, errChecksum
	}
	return b, nil
}
