package dataset

import (
	"context"
	"io"
	"slices"

	"thresher/internal/machine"
)

// Matrix is a dense row-major matrix: row i is Data[i*Dim : (i+1)*Dim].
type Matrix struct {
	Rows, Dim int
	Data      []float32 // Rows*Dim elements
	IDs       *IDs      // one a row if ids were read, else nil
	Rests     []float32 // RestsOf all rows, nil if these are none
}

// readChunk is how many elements ReadAll reads between checks of its context.
const readChunk = 1 << 18

// ReadAll reads a whole file. It allocates memory at once if the file's size proves the
// number of rows, otherwise as rows arrive.
func ReadAll(ctx context.Context, path string, opt *Options) (*Matrix, error) {
	r, err := Open(path, opt)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m, err := Drain(ctx, r)
	if err != nil {
		return nil, err
	}
	return m, CheckIDs(path, m.IDs)
}

// with sets the ids, if there are any.
func (m *Matrix) with(ids *IDsBuilder) *Matrix {
	if ids.Len() > 0 {
		m.IDs = ids.IDs()
	}
	return m
}

// Drain reads the remaining rows of r. It allocates like ReadAll.
func Drain(ctx context.Context, r Reader) (*Matrix, error) {
	m, ids := &Matrix{Dim: r.Dim()}, IDsBuilder{}
	proven, ok := r.(interface{ justified() bool })
	if ok && proven.justified() {
		m.Data = make([]float32, 0, int(r.Len())*m.Dim)
		machine.LargePages(m.Data[:cap(m.Data)])
	}
	chunk := max(1, readChunk/m.Dim) * m.Dim
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at := len(m.Data)
		// A last Read without free space would only return io.EOF.
		want := chunk
		if free := cap(m.Data) - at; free >= m.Dim {
			want = min(chunk, free)
		}
		m.Data = slices.Grow(m.Data, want)
		n, err := r.Read(m.Data[at : at+want])
		m.Data = m.Data[:at+n*m.Dim]
		m.Rows += n
		for _, id := range r.IDs() {
			ids.Add(id)
		}
		m.Rests = append(m.Rests, RestsOf(r)...)
		if err == io.EOF {
			return m.with(&ids), nil
		}
		if err != nil {
			return nil, err
		}
		if ok && proven.justified() && int64(m.Rows) == r.Len() {
			return m.with(&ids), nil
		}
	}
}
