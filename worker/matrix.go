package worker

import (
	"io"
	"unsafe"
)

// matrix reads rows in memory as those of a file: it is a dataset.Reader.
type matrix struct {
	data []float32
	dim  int
	next int // element
	// changes are what rounding has changed in each row, or nil; last those of the last Read.
	changes, last []float64
}

// RowChanges is read by dataset.RowChanges.
func (m *matrix) RowChanges() []float64 { return m.last }

func (m *matrix) Dim() int      { return m.dim }
func (m *matrix) Len() int64    { return int64(len(m.data) / m.dim) }
func (m *matrix) IDs() []string { return nil }
func (m *matrix) Close() error  { return nil }

func (m *matrix) Read(dst []float32) (int, error) {
	if m.next == len(m.data) {
		return 0, io.EOF
	}
	n := copy(dst[:len(dst)/m.dim*m.dim], m.data[m.next:])
	if n == 0 {
		return 0, io.ErrShortBuffer
	}
	if first := m.next / m.dim; m.changes != nil {
		m.last = m.changes[first : first+n/m.dim]
	}
	m.next += n
	return n / m.dim, nil
}

// isAligned reports whether b begins where a float32 may.
func isAligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%4 == 0 }
