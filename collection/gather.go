package collection

import (
	"cmp"
	"os"
	"slices"

	"thresher/dataset"
)

// gatherBytes is how much is written at once of the rows of a bucket.
const gatherBytes = 1 << 18

// gathered are the rows of a file in the order of atoms, as far as it matters: those of each bucket of consecutive
// atoms lie together, in the order of row numbers. They are in a place of the file that is cut off later. Without
// them the rows of consecutive atoms, which lie anywhere, would be read at random.
type gathered struct {
	b       *builder
	f       *os.File
	off     int64 // where the first bucket begins
	atoms   int   // of a bucket
	row     int   // bytes of a row
	block   []byte
	vectors dataset.Vectors // the rows of the bucket that was read last
	lo      int             // its first atom
	places  []uint32        // of its atoms in vectors
}

// gather writes the rows of a file to buckets at its end, each of about a segment.
func (b *builder) gather(w *file) (*gathered, error) {
	c, row := b.c, b.c.Dim*b.c.Elem().Size()
	g := &gathered{b: b, f: w.f, off: aligned(w.end+1<<20, pageBytes()), row: row}
	// Atoms in segments of the codes' own, so that a sweep ends with a bucket.
	g.atoms = max(PanelAtoms, int(w.segment)/row/PanelAtoms*PanelAtoms)
	buckets := (c.N + g.atoms - 1) / g.atoms
	if err := allocate(w.f, g.off, int64(c.N)*int64(row)); err != nil {
		return nil, err
	}
	bucketOf := make([]uint32, c.N)
	for i, r := range c.Order {
		bucketOf[r] = uint32(i / g.atoms)
	}
	at := make([]int64, buckets) // where the next rows of each bucket go
	for k := range at {
		at[k] = g.off + int64(k*g.atoms*row)
	}
	room := max(1, min(gatherBytes, int(2*w.segment)/buckets)/row) * row
	filled := make([]int, buckets)
	var memory []byte // [buckets][room]; nil: rows are so large that they are written one by one
	if int64(buckets)*int64(row) <= 2*w.segment {
		memory = make([]byte, buckets*room)
	}
	write := func(k uint32, rows []byte) error {
		_, err := w.f.WriteAt(rows, at[k])
		startWriting(w.f, at[k], int64(len(rows)))
		at[k] += int64(len(rows))
		return err
	}
	behind := newSweep(w.f, c.N, w.segment, true, w.rows())
	// Until where each bucket was dropped, and until where it is next: what was written since then is still on its way to the disk.
	dropped, before := slices.Clone(at), slices.Clone(at)
	var drops drops // of buckets
	defer drops.wait()
	var written int64
	seen := 0 // rows
	rows := c.Vectors.Bytes()
	for r, k := range bucketOf {
		next := rows[r*row : (r+1)*row]
		if memory != nil {
			filled[k] += copy(memory[int(k)*room+filled[k]:], next)
			if filled[k] < room {
				continue
			}
			next, filled[k] = memory[int(k)*room:][:room], 0
		}
		if err := b.ctx.Err(); err != nil {
			return nil, err
		}
		written += int64(len(next))
		if err := write(k, next); err != nil {
			return nil, err
		}
		if written >= w.segment {
			to := slices.Clone(before)
			drops.begin(func() { g.drop(dropped, to) })
			copy(before, at)
			written = 0
		}
		behind.passed(seen, r)
		seen = r
	}
	for k, n := range filled {
		if n == 0 {
			continue
		}
		if err := write(uint32(k), memory[k*room:][:n]); err != nil {
			return nil, err
		}
	}
	drops.wait()
	g.drop(dropped, at)
	behind.end()
	expectRandomReads(g.f)
	g.block = make([]byte, g.atoms*row)
	return g, nil
}

// drop drops what was written of each bucket from dropped to to, which dropped is then.
func (g *gathered) drop(dropped, to []int64) {
	for k, to := range to {
		if from := g.off + int64(k*g.atoms*g.row); to > dropped[k] {
			dropPages(g.f, from, aligned(to, pageBytes())-from, nil)
			dropped[k] = to
		}
	}
}

// read reads the rows of the bucket that begins with atom lo, and returns the atom after its last.
func (g *gathered) read(lo int) (hi int, err error) {
	c := g.b.c
	hi = min(lo+g.atoms, c.N)
	block := g.block[:(hi-lo)*g.row]
	off := g.off + int64(lo)*int64(g.row)
	if _, err := g.f.ReadAt(block, off); err != nil {
		return 0, err
	}
	dropPages(g.f, off, int64(len(block)), nil)
	next := min(hi+g.atoms, c.N) - hi
	startReadingFile(g.f, off+int64(len(block)), int64(next)*int64(g.row))
	atoms := make([]uint32, hi-lo) // in the order of their rows
	for k := range atoms {
		atoms[k] = uint32(k)
	}
	slices.SortFunc(atoms, func(x, y uint32) int { return cmp.Compare(c.Order[lo+int(x)], c.Order[lo+int(y)]) })
	if g.places == nil {
		g.places = make([]uint32, g.atoms)
	}
	for place, k := range atoms {
		g.places[k] = uint32(place)
	}
	g.lo = lo
	g.vectors, err = dataset.NewVectors(c.Elem(), c.Dim, block)
	return hi, err
}

// rowIn is Collection.RowIn of the row of atom i.
func (g *gathered) rowIn(memory []float32, i int) []float32 {
	at := int(g.places[i-g.lo]) * g.b.c.Dim
	if rows := g.vectors.Float32s(); rows != nil {
		return rows[at:][:g.b.c.Dim]
	}
	memory = memory[:g.b.c.Dim]
	read(memory, g.vectors, at)
	return memory
}

// end gives the place of the rows back.
func (g *gathered) end() error { return g.f.Truncate(g.off) }
