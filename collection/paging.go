package collection

import (
	"hash/crc32"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"thresher/dataset"
)

// A build into a file larger than the memory that it may take (Options.Memory) goes through the file a segment at a
// time: it reads and writes in the order of the bytes, and has what it is done with written and dropped from memory.
// Else the system would drop pages that are needed next, and a build would take as long as its random reads do.
const (
	segmentShare = 64      // segments in the memory of a build
	minSegment   = 1 << 19 // bytes
	maxSegment   = 1 << 26
	// folioBytes is how many pages a file system keeps together at most, and drops only together: what is written
	// in large pieces is kept in large ones.
	folioBytes = 2 << 20
)

// segmentOf returns the bytes of a segment of a build that may take so much memory, 0 for no segments. A few segments are in
// memory at any time: one that is worked on and the next, which is being read, of rows; and of what is written one that is worked
// on, one on its way to the disk, and one that waits until it is dropped.
func segmentOf(memory int64) int64 {
	if memory <= 0 {
		return 0
	}
	return min(max(memory/segmentShare, minSegment), maxSegment) &^ (pageBytes() - 1)
}

// lateFor returns after how many bytes of rows the pages of a file are dropped while its rows are written: at once
// or never where the source knows how many there will be, else when they take half of the memory.
func (o *Options) lateFor(src Source) int64 {
	if o.memory() == 0 {
		return math.MaxInt64
	}
	known, ok := src.(interface{ Len() int64 })
	if !ok || known.Len() < 0 {
		return o.Memory / 2
	}
	own := *o
	if t, ok := src.(dataset.TypedReader); ok && t.Elem().Narrow() {
		own.Elem = t.Elem()
	}
	if Size(known.Len(), src.Dim(), &own) > o.Memory {
		return 0
	}
	return math.MaxInt64
}

// rowFile writes the rows of a file in order. From late bytes on, what was written leaves memory.
type rowFile struct {
	f             *os.File
	at, from      int64 // where the next byte goes; from where on pages were not dropped
	segment, late int64
	crc           uint32
	dim           int       // of rows whose squares are summed; 0: they are not
	squares       []float64 // of each row
	drops         drops
}

// sumSquares has the squares of each row summed while it is written, so that its norm needs no pass over the file, if the
// file is dropped as it is written and rows are kept as float32. For Euclidean distance norms are relative to a centre, which is not known yet.
func (w *rowFile) sumSquares(src Source, o *Options) {
	if w.late == math.MaxInt64 || o.Metric.Differences() || o.elemOf(src) != dataset.ElemFloat32 {
		return
	}
	w.dim = src.Dim()
	if known, ok := src.(interface{ Len() int64 }); ok && known.Len() > 0 {
		w.squares = make([]float64, 0, min(known.Len(), MaxAtoms))
	}
}

func (w *rowFile) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	w.crc = crc32.Update(w.crc, castagnoli, b[:n])
	if w.dim > 0 && err == nil {
		rows := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
		for ; len(rows) > 0; rows = rows[w.dim:] {
			w.squares = append(w.squares, kernels.SumSquares(rows[:w.dim]))
		}
	}
	w.at += int64(n)
	for w.segment > 0 && w.at > w.late && w.at-w.from >= 2*w.segment {
		startWriting(w.f, w.from+w.segment, w.segment)
		before := min(max(w.segment, folioBytes), w.from)
		off, n := w.from-before, before+w.segment
		w.drops.begin(func() { dropPages(w.f, off, n, nil) })
		w.from += w.segment
	}
	return n, err
}

// sweep follows a pass over n rows or atoms through parts of a file: it fetches what is read next, and drops the
// pages behind. A nil sweep does nothing.
type sweep struct {
	f     *os.File
	reads bool // else the parts are written
	parts []part
	n     int
	each  int            // rows or atoms of a segment
	done  []atomic.Int64 // of each segment
	drops drops
	sums  sums // of parts that are written
}

// sums are the checksums of parts, over the segments that are done with from the first on.
type sums struct {
	mu       sync.Mutex
	finished []bool // segments
	next     int    // the first that is not
}

// drops drops segments while the next are worked on, one at a time: a disk is waited for only if it writes more slowly
// than a build computes.
type drops struct {
	mu      sync.Mutex
	pending sync.WaitGroup
}

// begin calls drop in a goroutine of its own, once that of the call before has ended.
func (d *drops) begin(drop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending.Wait()
	d.pending.Go(drop)
}

// wait waits for the last drop.
func (d *drops) wait() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending.Wait()
}

// part is a part of a file and its mapping.
type part struct {
	off     int64
	b       []byte
	section int    // its number
	crc     uint32 // of the first summed bytes
	summed  int
}

// newSweep returns a sweep of parts, in segments of so many bytes in all.
func newSweep(f *os.File, n int, segment int64, reads bool, parts ...part) *sweep {
	var all int64
	for _, p := range parts {
		all += int64(len(p.b))
	}
	if segment == 0 || all == 0 {
		return nil
	}
	each := max(PanelAtoms, int(segment*int64(n)/all)/PanelAtoms*PanelAtoms)
	s := &sweep{f: f, reads: reads, parts: parts, n: n, each: each, done: make([]atomic.Int64, (n+each-1)/each)}
	s.sums.finished = make([]bool, len(s.done))
	for _, p := range parts {
		expectRandom(p.b) // else the system may fetch many segments
	}
	s.fetch(0)
	return s
}

// fetch begins to read segment k, if there is one and it is read.
func (s *sweep) fetch(k int) {
	if s.reads && k < len(s.done) {
		s.eachPart(k, func(_ *os.File, _ int64, b []byte) { startReading(b) })
	}
}

// entering has the system enter the pages of atoms lo to hi-1, which are written next: together, for one by one each is
// a fault that looks for its place in the file.
func (s *sweep) entering(lo, hi int) {
	if s == nil || s.reads {
		return
	}
	for i := range s.parts {
		p := &s.parts[i] // not a copy, with its sums, which change meanwhile
		at := func(i int) int { return int(float64(len(p.b)) * float64(i) / float64(s.n)) }
		from := at(lo) &^ int(pageBytes()-1)
		startReading(p.b[from:at(hi)])
	}
}

// chunk returns how many rows or atoms a goroutine takes at a time, at most so many, so that all are in a segment.
func (s *sweep) chunk(most, threads int) int {
	if s == nil {
		return most
	}
	return max(1, min(most, s.each/(2*threads)))
}

// passed says that rows or atoms lo to hi-1 are done with. A segment is read, or written, while the one beside it is
// worked on.
func (s *sweep) passed(lo, hi int) {
	for s != nil && lo < hi {
		k := lo / s.each
		to := min(hi, (k+1)*s.each)
		done := s.done[k].Add(int64(to - lo))
		if done == int64(to-lo) { // the first of the segment
			s.fetch(k + 1)
		}
		if done == int64(min(s.n, (k+1)*s.each)-k*s.each) {
			s.finish(k)
		}
		lo = to
	}
}

// finish says that segment k is done with.
func (s *sweep) finish(k int) {
	if s.reads {
		s.drop(k)
		return
	}
	s.sum(k)
	s.eachPart(k, func(f *os.File, off int64, b []byte) { startWriting(f, off, int64(len(b))) })
	s.drops.begin(func() { s.drop(k) })
}

// sum adds what was written of segment k, once all before it are done with, to the checksums of the parts, while it is in
// memory.
func (s *sweep) sum(k int) {
	s.sums.mu.Lock()
	defer s.sums.mu.Unlock()
	s.sums.finished[k] = true
	for s.sums.next < len(s.done) && s.sums.finished[s.sums.next] {
		s.sums.next++
	}
	// Parts have a row for each atom, or for each of the last panel, too: of a part that has none more is done than that.
	atoms, padded := s.sums.next*s.each, (s.n+PanelAtoms-1)/PanelAtoms*PanelAtoms
	for i := range s.parts {
		p := &s.parts[i]
		to := len(p.b)
		if s.sums.next < len(s.done) {
			to = max(p.summed, int(float64(len(p.b))*float64(atoms)/float64(padded))-1)
		}
		p.crc = crc32.Update(p.crc, castagnoli, p.b[p.summed:to])
		p.summed = to
	}
}

// end drops what is left.
func (s *sweep) end() {
	if s != nil {
		s.drops.wait()
		for k := range s.done {
			s.drop(k)
		}
	}
}

// drop drops segment k. The file system keeps pages together, and drops none of those that reach beyond what it is
// told: hence that before it, too.
func (s *sweep) drop(k int) {
	s.eachPart(k, func(f *os.File, off int64, b []byte) {
		before := min(max(int64(len(b)), folioBytes), off&^(pageBytes()-1))
		dropPages(f, off-before, before+int64(len(b)), b)
	})
}

// eachPart calls f for the whole pages of segment k in each part.
func (s *sweep) eachPart(k int, f func(file *os.File, off int64, b []byte)) {
	page := pageBytes()
	for i := range s.parts {
		p := &s.parts[i] // not a copy, with its sums, which change meanwhile
		place := func(i int) int64 {
			return int64(float64(len(p.b))*float64(min(i, s.n))/float64(s.n)) &^ (page - 1)
		}
		lo, hi := place(k*s.each), place((k+1)*s.each)
		if (k+1)*s.each >= s.n {
			hi = int64(len(p.b))
		}
		if lo < hi {
			f(s.f, p.off+lo, p.b[lo:hi])
		}
	}
}

// perAtom are the sections that are written in the order of atoms by those who code them. Of the others a build
// needs any part at any time, but for the rows.
func (w *file) perAtom() (parts []part) {
	tables := []string{"rows", "order", "norm", "offset", "centre", originSection, rowSquares, "head-directions", "rotation"}
	for i, s := range w.sections {
		if !w.inMemory[i] && !slices.Contains(tables, s.Name) {
			parts = append(parts, part{off: s.Offset, b: w.maps[i], section: i})
		}
	}
	return parts
}

// rows is the section of rows.
func (w *file) rows() part { return part{off: w.sections[0].Offset, b: w.maps[0]} }

// fetchRows has the system begin to read a sample of the rows, which would else be read one after the other.
func (w *file) fetchRows(rows []uint32) {
	rows = slices.Clone(rows)
	b := w.rows().b
	startReadingRows(b, len(b)/w.atoms, rows)
}

// fetchAtoms has the system begin to read the codes and terms of a sample of atoms.
func (w *file) fetchAtoms(atoms []uint32) {
	atoms = slices.Clone(atoms)
	for _, p := range w.perAtom() {
		if w.sections[p.section].Name != "panels" { // of which a forecast reads none
			startReadingRows(p.b, len(p.b)/w.atoms, atoms)
		}
	}
}

// keepSums keeps the checksums of the parts that a sweep has passed whole.
func (w *file) keepSums(s *sweep) {
	if s == nil {
		return
	}
	for _, p := range s.parts {
		if p.summed == len(p.b) {
			w.sums[p.section] = p.crc
		}
	}
}

// dropRows drops the pages of all rows, of which a phase of a build may read samples next.
func (w *file) dropRows() {
	rows := w.rows()
	dropPages(w.f, rows.off, int64(len(rows.b)), rows.b)
	expectRandom(rows.b)
}

// checksum returns that of section i, unless it was summed as it was written by reading it, and then drops its pages if the file is
// written in segments.
func (w *file) checksum(i int) (crc uint32) {
	s, b := w.sections[i], w.maps[i]
	sum, known := w.sums[i]
	switch {
	case known:
		return sum
	case w.segment == 0 || w.inMemory[i]:
		return crc32.Checksum(b, castagnoli)
	}
	expectRandom(b)
	half := max(w.segment/2&^(pageBytes()-1), pageBytes())
	block := func(off int64) []byte { return b[min(off, int64(len(b))):min(off+half, int64(len(b)))] }
	startReading(block(0))
	for off := int64(0); off < int64(len(b)); off += half {
		startReading(block(off + half))
		block := block(off)
		crc = crc32.Update(crc, castagnoli, block)
		dropPages(w.f, s.Offset+off, int64(len(block)), block)
	}
	return crc
}
