package dataset

import "io"

// inMemory reads rows in memory as those of a file.
type inMemory struct {
	rows []float32
	dim  int
	next int // element
	// changes are what rounding has changed in each row, or nil; last those of the last Read.
	changes, last []float64
}

// FromMemory returns a Reader of rows of dim values each, which it does not copy, without ids. changes, if
// not nil, are what RowChanges says of each row.
func FromMemory(rows []float32, dim int, changes []float64) Reader {
	return &inMemory{rows: rows, dim: dim, changes: changes}
}

// RowChanges is read by the function of this name.
func (m *inMemory) RowChanges() []float64 { return m.last }

func (m *inMemory) Dim() int      { return m.dim }
func (m *inMemory) Len() int64    { return int64(len(m.rows) / m.dim) }
func (m *inMemory) IDs() []string { return nil }
func (m *inMemory) Close() error  { return nil }

func (m *inMemory) Read(dst []float32) (int, error) {
	if m.next == len(m.rows) {
		return 0, io.EOF
	}
	n := copy(dst[:len(dst)/m.dim*m.dim], m.rows[m.next:])
	if n == 0 {
		return 0, io.ErrShortBuffer
	}
	if first := m.next / m.dim; m.changes != nil {
		m.last = m.changes[first : first+n/m.dim]
	}
	m.next += n
	return n / m.dim, nil
}

// WithIDs returns a Reader of the rows of r, which has as many as there are ids and none of its own. They are read by Options.FindIDs's
// name, id. If r is a TypedReader, so is the Reader.
func WithIDs(r Reader, ids *IDs) Reader {
	named := &identified{Reader: r, ids: ids}
	if t, ok := r.(TypedReader); ok {
		return &identifiedTyped{named, t}
	}
	return named
}

// identified are rows with ids.
type identified struct {
	Reader
	ids  *IDs
	next int64
	last []string
}

func (r *identified) layout() Layout { return Layout{IDs: idName} }

func (r *identified) IDs() []string { return r.last }

// Change and RowChanges are read by ChangeOf and the function of this name.
func (r *identified) Change() Change        { return ChangeOf(r.Reader) }
func (r *identified) RowChanges() []float64 { return RowChanges(r.Reader) }

// Given is read by GivenOf.
func (r *identified) Given() []float64 { return GivenOf(r.Reader) }

func (r *identified) Read(dst []float32) (int, error) { return r.name(r.Reader.Read(dst)) }

// name takes the ids of n rows that were read.
func (r *identified) name(n int, err error) (int, error) {
	r.last = r.last[:0]
	for range n {
		r.last = append(r.last, r.ids.Text(r.next))
		r.next++
	}
	return n, err
}

// identifiedTyped is identified of a TypedReader.
type identifiedTyped struct {
	*identified
	typed TypedReader
}

func (r *identifiedTyped) Elem() Elem { return r.typed.Elem() }

// ReadTyped is that of TypedReader.
func (r *identifiedTyped) ReadTyped(dst []byte) (int, error) { return r.name(r.typed.ReadTyped(dst)) }
