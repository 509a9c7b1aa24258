package collection

import (
	"encoding/binary"
	"math"
	"os"
	"slices"
	"sync"
)

// gatherBytes is how much is written at once of the records of a bucket.
const gatherBytes = 1 << 18

// gathered are the codes and terms of all atoms in the order of atoms, as far as it matters: the records of each bucket
// of consecutive atoms lie together. Those of the first buckets are in memory, as many as may be, the others in a place of
// the file that is cut off later. They are made in the order of rows, which are read once and in order, and put in their
// place a bucket at a time: else either rows would be read or codes be written at random.
type gathered struct {
	b      *builder
	f      *os.File
	off    int64       // where the first bucket begins, or would
	atoms  int         // of a bucket
	arrays codedArrays // of the collection
	record int         // bytes of an atom
	atomOf []uint32    // of each row

	mu       sync.Mutex
	held     []byte  // the records of the first buckets, one bucket after the other
	first    int     // bucket that is not held
	at       []int64 // where the next records of each bucket go: in the file, or in held
	memory   []byte  // [buckets][room] of those that are not held; nil: records are so large that they are written one by one
	room     int
	filled   []int   // of each bucket's memory
	dropped  []int64 // until where each bucket was dropped,
	before   []int64 // and until where it is next: what was written since then is still on its way to the disk
	written  int64   // since then
	dropping drops
	block    []byte // the bucket that was read last
}

// codeGathered codes all atoms of a file that is written in segments, in the order of their rows, and places them. Meanwhile
// the rows are passed by the pilot, too.
func (b *builder) codeGathered() error {
	w := b.file
	b.pass = b.newPilotPass(b.pilotArms())
	behind := newSweep(w.f, b.c.N, w.segment, false, w.perAtom()...)
	defer behind.end() // also after an error: the sections stay mapped until then
	g, err := b.newGathered(w, behind.each)
	if err != nil {
		return err
	}
	if err := g.codeRows(); err != nil {
		return err
	}
	for lo, hi := 0, 0; lo < b.c.N; lo = hi {
		hi = min(lo+g.atoms, b.c.N)
		behind.entering(lo, hi)
		if err := g.place(lo, hi); err != nil {
			return err
		}
		behind.passed(lo, hi)
		b.progress(hi/2 - lo/2)
	}
	w.keepSums(behind)
	return w.f.Truncate(g.off)
}

// newGathered returns room for the records of all atoms at the end of a file, in buckets of so many.
func (b *builder) newGathered(w *file, atoms int) (*gathered, error) {
	c := b.c
	g := &gathered{b: b, f: w.f, off: aligned(w.end+1<<20, pageBytes()), atoms: atoms, arrays: c.codedArrays()}
	g.record = g.arrays.bytes()
	buckets := (c.N + atoms - 1) / atoms
	g.first = min(int(w.held/(int64(atoms)*int64(g.record))), buckets)
	if g.first > 0 {
		_, n := g.bucket(0)
		g.held, _ = heap{}.bytes("", min(int64(g.first)*n, int64(c.N)*int64(g.record)))
	}
	if rest := int64(c.N)*int64(g.record) - int64(len(g.held)); rest > 0 {
		if err := allocate(w.f, g.off+int64(len(g.held)), rest); err != nil {
			return nil, err
		}
	}
	g.atomOf = make([]uint32, c.N)
	for i, r := range c.Order {
		g.atomOf[r] = uint32(i)
	}
	g.at = make([]int64, buckets)
	for k := range g.at {
		if g.at[k] = int64(k*atoms) * int64(g.record); k >= g.first {
			g.at[k] += g.off
		}
	}
	written := buckets - g.first
	g.room = max(1, min(gatherBytes, int(2*w.segment)/max(1, written))/g.record) * g.record
	g.filled = make([]int, written)
	if int64(written)*int64(g.record) <= 2*w.segment {
		g.memory = make([]byte, written*g.room)
	}
	g.dropped, g.before = slices.Clone(g.at), slices.Clone(g.at)
	return g, nil
}

// codeRows writes the records of all rows to the buckets of their atoms.
func (g *gathered) codeRows() error {
	b, c := g.b, g.b.c
	behind := b.rowSweep()
	defer behind.end()
	defer g.dropping.wait()
	coders := make([]*rowCoder, b.threads)
	err := b.each(c.N, behind.chunk(pilotRows, b.threads), func(w, lo, hi int) error {
		if coders[w] == nil {
			coders[w] = b.newRowCoder()
		}
		b.pass.tile(w, lo, hi)
		for from := lo; from < hi; from += PanelAtoms {
			to := min(from+PanelAtoms, hi)
			coders[w].code(from, to)
			if err := g.add(coders[w], from, to); err != nil {
				return err
			}
		}
		behind.passed(lo, hi)
		b.progress((hi - hi/2) - (lo - lo/2))
		return nil
	})
	if err != nil {
		return err
	}
	for k, n := range g.filled {
		if n > 0 {
			if err := g.write(g.first+k, g.memory[k*g.room:][:n]); err != nil {
				return err
			}
		}
	}
	g.dropping.wait()
	g.drop(g.dropped, g.at)
	g.memory = nil
	g.block = make([]byte, min(g.atoms, c.N)*g.record)
	expectRandomReads(g.f)
	g.fetch(0)
	return nil
}

// add adds the records of rows lo to hi-1, which k has coded, to their buckets.
func (g *gathered) add(k *rowCoder, lo, hi int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for row := lo; row < hi; row++ {
		atom := g.atomOf[row]
		bucket := int(atom) / g.atoms
		if bucket < g.first {
			k.arrays.appendRecord(g.held[g.at[bucket]:g.at[bucket]], atom, row-lo)
			g.at[bucket] += int64(g.record)
			continue
		}
		if g.memory == nil {
			k.record = k.arrays.appendRecord(k.record[:0], atom, row-lo)
			if err := g.write(bucket, k.record); err != nil {
				return err
			}
			continue
		}
		room := g.memory[(bucket-g.first)*g.room:][:g.room]
		filled := &g.filled[bucket-g.first]
		k.arrays.appendRecord(room[*filled:*filled], atom, row-lo)
		if *filled += g.record; *filled == g.room {
			if err := g.write(bucket, room); err != nil {
				return err
			}
			*filled = 0
		}
	}
	return nil
}

// write writes records of bucket k, and has what is written dropped now and then.
func (g *gathered) write(k int, records []byte) error {
	if _, err := g.f.WriteAt(records, g.at[k]); err != nil {
		return err
	}
	startWriting(g.f, g.at[k], int64(len(records)))
	g.at[k] += int64(len(records))
	if g.written += int64(len(records)); g.written >= g.b.file.segment {
		to := slices.Clone(g.before)
		g.dropping.begin(func() { g.drop(g.dropped, to) })
		copy(g.before, g.at)
		g.written = 0
	}
	return nil
}

// drop drops what was written of each bucket from dropped to to, which dropped is then.
func (g *gathered) drop(dropped, to []int64) {
	for k := g.first; k < len(to); k++ {
		to := to[k]
		if from := g.off + int64(k*g.atoms)*int64(g.record); to > dropped[k] {
			from = max(from, dropped[k]-gatherBytes) &^ (pageBytes() - 1) // the file system keeps pages together
			dropPages(g.f, from, aligned(to, pageBytes())-from, nil)
			dropped[k] = to
		}
	}
}

// bucket returns where the records of the bucket that begins with atom lo are.
func (g *gathered) bucket(lo int) (off, bytes int64) {
	return g.off + int64(lo)*int64(g.record), int64(min(g.atoms, g.b.c.N-lo)) * int64(g.record)
}

// fetch begins to read the bucket that begins with atom lo, if there is one in the file.
func (g *gathered) fetch(lo int) {
	if lo < g.b.c.N && lo/g.atoms >= g.first {
		off, n := g.bucket(lo)
		startReadingFile(g.f, off, n)
	}
}

// records returns the records of the bucket that begins with atom lo, until the next call.
func (g *gathered) records(lo int) ([]byte, error) {
	off, n := g.bucket(lo)
	if lo/g.atoms < g.first {
		return g.held[off-g.off:][:n], nil
	}
	g.held = nil // all of it is in place
	if _, err := g.f.ReadAt(g.block[:n], off); err != nil {
		return nil, err
	}
	dropPages(g.f, off, n, nil)
	return g.block[:n], nil
}

// place fills the sections of the bucket of atoms lo to hi-1.
func (g *gathered) place(lo, hi int) error {
	b, c := g.b, g.b.c
	block, err := g.records(lo)
	if err != nil {
		return err
	}
	g.fetch(hi)
	err = b.each(hi-lo, pilotRows, func(_, from, to int) error {
		for ; from < to; from++ {
			g.arrays.place(block[from*g.record:][:g.record])
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.each(hi-lo, PanelAtoms, func(_, from, to int) error {
		c.fillPanel(lo+from, lo+to)
		return nil
	})
}

// rowCoder codes a panel of consecutive rows.
type rowCoder struct {
	b      *builder // of all rows
	coder  *coder
	block  *Collection // the rows, as its atoms
	arrays codedArrays // of block
	record []byte
}

// panelHeap is memory for what is coded of a few atoms.
type panelHeap struct{ heap }

func (m panelHeap) bytes(name string, n int64) ([]byte, error) {
	switch name {
	case "panels", "head-directions", "rotation":
		return nil, nil
	}
	return m.heap.bytes(name, n)
}

func (b *builder) newRowCoder() *rowCoder {
	c := b.c
	block := &Collection{N: PanelAtoms, Dim: c.Dim, Metric: c.Metric, Basis: c.Basis, Seed: c.Seed, D: c.D, R: c.R, Kappa: c.Kappa, transform: &transform{D: c.D, r: c.R}}
	block.layout(panelHeap{}, c.Elem(), true, fileVersion) // a heap returns no error
	block.Centre, block.Origin, block.transform = c.Centre, c.Origin, c.transform
	for i := range block.Order {
		block.Order[i] = uint32(i)
	}
	k := &coder{b: &builder{c: block}, split: newSplitter(c.transform, c.N), rot: make([]float32, c.D), row: c.RowMemory()}
	return &rowCoder{b: b, coder: k, block: block, arrays: block.codedArrays()}
}

// code codes rows lo to hi-1, at most PanelAtoms.
func (k *rowCoder) code(lo, hi int) {
	block := k.block
	block.N = hi - lo
	block.Vectors = k.b.c.Vectors.Slice(lo, hi)
	block.Rows = block.Vectors.Float32s()
	k.coder.b.rowNorms = k.b.rowNorms[lo:hi]
	k.arrays.clear() // of atoms that are too small some are left at zero
	k.coder.codeAtoms(0, hi-lo)
}

// codedArrays are the arrays of a collection that coding an atom fills: its terms and codes. A record is the number of an
// atom, its terms and its codes.
type codedArrays struct {
	terms [][]float32 // [N] or more
	rows  []codedRows
}

// codedRows are codes of atoms, so many bytes each.
type codedRows struct {
	b      []uint8
	stride int
}

func (c *Collection) codedArrays() codedArrays {
	a := codedArrays{[][]float32{c.HeadScale, c.HeadNorm, c.HeadErr}, []codedRows{{c.Codes, c.R + c.D}}}
	for k := range c.Stages {
		l := &c.Stages[k]
		a.terms = append(a.terms, l.Scale, l.Radius, l.XNorm)
		if l.Coding == Int8 {
			a.terms = append(a.terms, l.Beyond)
		} else {
			a.rows = append(a.rows, codedRows{l.Rows, l.Stride})
		}
	}
	return a
}

// bytes returns the size of a record.
func (a *codedArrays) bytes() int {
	n := 4 + 4*len(a.terms)
	for _, rows := range a.rows {
		n += rows.stride
	}
	return n
}

// clear sets all to zero.
func (a *codedArrays) clear() {
	for _, terms := range a.terms {
		clear(terms)
	}
	for _, rows := range a.rows {
		clear(rows.b)
	}
}

// appendRecord appends the record of an atom, which has number i in the arrays.
func (a *codedArrays) appendRecord(dst []byte, atom uint32, i int) []byte {
	dst = binary.NativeEndian.AppendUint32(dst, atom)
	for _, terms := range a.terms {
		dst = binary.NativeEndian.AppendUint32(dst, math.Float32bits(terms[i]))
	}
	for _, rows := range a.rows {
		dst = append(dst, rows.b[i*rows.stride:][:rows.stride]...)
	}
	return dst
}

// place puts what a record has of an atom in its place.
func (a *codedArrays) place(record []byte) {
	i := int(binary.NativeEndian.Uint32(record))
	record = record[4:]
	for _, terms := range a.terms {
		terms[i] = math.Float32frombits(binary.NativeEndian.Uint32(record))
		record = record[4:]
	}
	for _, rows := range a.rows {
		copy(rows.b[i*rows.stride:][:rows.stride], record)
		record = record[rows.stride:]
	}
}
