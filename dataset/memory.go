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
