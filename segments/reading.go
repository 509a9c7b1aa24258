package segments

import (
	"fmt"
	"io"
	"sync"
	"unsafe"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
)

// blockFloats is how many values a Reading converts at a time.
const blockFloats = 1 << 16

// Reading is the rows of several segments in the order of their ids, without those that are deleted. It is a
// collection.Source, a dataset.TypedReader, and collection.Rounded, from which one goroutine reads, either by Read, which
// has rows of float64 less Origin and rounds them, or by ReadTyped or ReadFloat64; and the rows by their number in that
// order (RowIn, Scores and, of float64, Given and Scores64), which any may read, as verify.Rows and tasks.ScoredRows are. It takes no lock, and 8 bytes a row.
type Reading struct {
	set    *Set
	inputs []view
	once   sync.Once       // order
	rows   []columns.Place // that are left, by ascending id; Of is an input
	read   int             // rows that Read has returned
	block  []float32       // memory of ReadTyped
	change dataset.Change  // by Read of rows of float64
}

// order lists the rows that are left by ascending id, once: when they are asked for first, so that whoever holds a lock while a
// Reading is made does not wait for it.
func (r *Reading) order() { r.once.Do(r.merge) }

// merge merges the ids of the inputs.
func (r *Reading) merge() {
	left := 0
	for i := range r.inputs {
		left += r.inputs[i].left()
	}
	r.rows = make([]columns.Place, 0, left)
	at := make([]int, len(r.inputs))
	for range left {
		next := -1
		for i := range r.inputs {
			m := &r.inputs[i]
			for at[i] < m.c.N && !m.has(at[i]) {
				at[i]++
			}
			if at[i] < m.c.N && (next < 0 || m.ID(at[i]) < r.inputs[next].ID(at[next])) {
				next = i
			}
		}
		r.rows = append(r.rows, columns.Place{Of: uint32(next), Row: uint32(at[next])})
		at[next]++
	}
}

// input returns the input that is a segment, nil if none is.
func (r *Reading) input(s *Segment) *view {
	for i := range r.inputs {
		if r.inputs[i].Segment == s {
			return &r.inputs[i]
		}
	}
	return nil
}

// has reports whether a segment is one of the inputs.
func (r *Reading) has(s *Segment) bool { return r.input(s) != nil }

// Len is the number of rows.
func (r *Reading) Len() int {
	r.order()
	return len(r.rows)
}

// Dim is the number of values of a row.
func (r *Reading) Dim() int { return r.set.dim }

// IDs returns the ids of the rows, ascending.
func (r *Reading) IDs() []int64 {
	r.order()
	ids := make([]int64, len(r.rows))
	for i, p := range r.rows {
		ids[i] = r.inputs[p.Of].ID(int(p.Row))
	}
	return ids
}

// RowIn returns row i in float32: in place where it lies so, else in memory, which holds at least Dim floats. The row must not
// be changed, and is valid as long as r.
func (r *Reading) RowIn(memory []float32, i int) []float32 {
	r.order()
	p := r.rows[i]
	return r.inputs[p.Of].c.RowIn(memory, int(p.Row))
}

// Scores sets out[k] to the search score of rows[k] for the query q of Dim values, as collection.Collection.Scores does.
func (r *Reading) Scores(out []float64, q []float32, rows []uint32) {
	r.order()
	for k, row := range rows {
		p := r.rows[row]
		r.inputs[p.Of].c.Scores(out[k:k+1], q, []uint32{p.Row})
	}
}

// Float64 reports whether the rows are kept as float64: RowIn rounds them then, less what their segment is relative to, and Given has
// them as they were given.
func (r *Reading) Float64() bool { return r.set.keepsFloat64() }

// Given returns row i of a Set of float64 as it was given, in place. It must not be changed, and is valid as long as r.
func (r *Reading) Given(i int) []float64 {
	r.order()
	p := r.rows[i]
	return r.inputs[p.Of].c.Vectors.Slice(int(p.Row), int(p.Row)+1).Float64s()
}

// Scores64 is Scores of a Set of float64, for a query as it was given.
func (r *Reading) Scores64(out, q []float64, rows []uint32) {
	r.order()
	for k, row := range rows {
		p := r.rows[row]
		r.inputs[p.Of].c.Scores64(out[k:k+1], q, []uint32{p.Row})
	}
}

// Metric is that of the Set.
func (r *Reading) Metric() collection.Metric { return r.set.o.Collection.Metric }

// each calls take for the next rows, at most n, with the number of each, its collection and its row there. It returns how many there
// were; io.EOF after the last.
func (r *Reading) each(n int, take func(i int, c *collection.Collection, row int) error) (rows int, err error) {
	r.order()
	for ; rows < n && r.read < len(r.rows); rows++ {
		p := r.rows[r.read]
		if err := take(rows, r.inputs[p.Of].c, int(p.Row)); err != nil {
			return rows, err
		}
		r.read++
	}
	if r.read == len(r.rows) {
		return rows, io.EOF
	}
	return rows, nil
}

// Read copies the next rows to dst, as many as fit, and returns their number; io.EOF after the last.
func (r *Reading) Read(dst []float32) (rows int, err error) {
	dim, origin := r.set.dim, r.Origin()
	return r.each(len(dst)/dim, func(i int, c *collection.Collection, row int) error {
		out := dst[i*dim : (i+1)*dim]
		if !c.Float64() {
			copy(out, c.RowIn(out, row))
			return nil
		}
		change, err := collection.Narrow(out, c.Vectors.Slice(row, row+1).Float64s(), dim, origin)
		r.change.Add(change)
		return err
	})
}

// ReadFloat64 copies the next rows of a Set of float64 to dst as they were given, as many as fit, and returns their number; io.EOF
// after the last.
func (r *Reading) ReadFloat64(dst []float64) (rows int, err error) {
	dim := r.set.dim
	return r.each(len(dst)/dim, func(i int, c *collection.Collection, row int) error {
		copy(dst[i*dim:(i+1)*dim], c.Vectors.Slice(row, row+1).Float64s())
		return nil
	})
}

// Elem is the type of the values of the rows, in which ReadTyped hands them on: that of Options.Collection.
func (r *Reading) Elem() dataset.Elem { return r.set.o.Collection.Elem }

// ReadTyped is that of dataset.TypedReader.
func (r *Reading) ReadTyped(dst []byte) (rows int, err error) {
	r.order()
	dim, size := r.set.dim, r.Elem().Size()
	if r.set.keepsFloat64() {
		return r.ReadFloat64(unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)/size))
	}
	n := min(len(dst)/(dim*size), max(1, blockFloats/dim))
	if len(r.block) < n*dim {
		r.block = make([]float32, n*dim)
	}
	rows, err = r.Read(r.block[:n*dim])
	if at := r.Elem().Encode(dst, r.block[:rows*dim]); at >= 0 {
		return 0, fmt.Errorf("row %d: %g is no %v", r.read-rows+at/dim, r.block[at], r.Elem())
	}
	return rows, err
}

// Columns returns the columns of all rows, which are those of Set's Options.
func (r *Reading) Columns() *columns.Columns {
	r.order()
	of := make([]*columns.Columns, len(r.inputs))
	for i := range r.inputs {
		if described := r.inputs[i].columns; described != nil {
			of[i] = described()
		}
	}
	return columns.Collect(r.set.o.Columns, of, r.rows)
}

// Vectors returns all rows in memory, which are then the caller's, in the type that Elem says.
func (r *Reading) Vectors() (dataset.Vectors, error) {
	rows, err := r.all()
	if err != nil {
		return dataset.Vectors{}, err
	}
	return rows.encoded(r.set.dim, r.Elem())
}

// all returns the rows in memory.
func (r *Reading) all() (rows values, err error) {
	if rows = r.set.values(r.Len() * r.set.dim); rows.wide != nil {
		_, err = r.ReadFloat64(rows.wide)
	} else {
		_, err = r.Read(rows.narrow)
	}
	if err == io.EOF {
		err = nil
	}
	return rows, err
}

// scanned returns a segment without codes of the rows.
func (r *Reading) scanned() (*Segment, error) {
	rows, err := r.all()
	if err != nil {
		return nil, err
	}
	made, err := r.set.scanned(r.IDs(), rows, r.Change())
	if err == nil && len(r.set.o.Columns) > 0 {
		err = made.SetColumns(r.Columns())
	}
	return made, err
}

// Origin is what the rows are relative to; nil for none.
func (r *Reading) Origin() []float64 { return r.set.o.Collection.Origin }

// Change is what rounding to float32 has changed of the rows of all inputs, those that are left out included, and of those of float64 that
// Read has read.
func (r *Reading) Change() (all dataset.Change) {
	all = r.change
	for i := range r.inputs {
		all.Add(r.inputs[i].c.Change)
	}
	return all
}

// Rows returns the vectors in the order of their ids. It is valid until Release.
func (s *Snapshot) Rows() (*Reading, error) {
	r := &Reading{set: s.set}
	r.inputs = append(r.inputs, s.views...)
	last, err := s.tailView()
	if err != nil {
		return nil, err
	}
	if last != nil {
		r.inputs = append(r.inputs, *last)
	}
	return r, nil
}
