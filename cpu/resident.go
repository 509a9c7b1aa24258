package cpu

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"thresher/backend"
	"thresher/cpu/arms"
	"thresher/cpu/dense"
	"thresher/cpu/revisit"
	"thresher/cpu/scan"
)

// resident is a loaded collection, as each room knows it. Several goroutines may begin runs of it.
type resident struct {
	*arms.Resident
	codes  *revisit.Codes
	panels *scan.Panels
	rows   *dense.Rows
	runs   sync.Pool // closed *run, whose memory is reused
	closed atomic.Bool

	// Each field below is computed at first use.
	once            struct{ squares, values sync.Once }
	restSquares     []float64 // |o|^2 of the rotated rows, internal order
	least, greatest float64   // least and greatest coordinate of the working vectors
}

// newResident returns a as all rooms know it.
func newResident(a *arms.Resident) *resident {
	codes := revisit.NewCodes(a)
	return &resident{Resident: a, codes: codes, panels: scan.NewPanels(codes), rows: dense.NewRows(a)}
}

// squares returns |o|^2 of each rotated float32 row, in internal order.
func (r *resident) squares() []float64 {
	r.once.squares.Do(func() {
		r.restSquares = make([]float64, r.C.N)
		for i := range r.restSquares {
			r.restSquares[i] = r.Kernels.SumSquares(r.C.Rotated32[i*r.C.D : (i+1)*r.C.D])
		}
	})
	return r.restSquares
}

// values returns the least and greatest coordinate of the working vectors.
func (r *resident) values() (lo, hi float64) {
	r.once.values.Do(func() { r.least, r.greatest = r.C.Values() })
	return r.least, r.greatest
}

// Kept is the memory of what looks have made of the collection, in bytes (backend.Keeper).
func (r *resident) Kept() int64 { return r.codes.Kept() }

// Making is by how much taking these looks would raise Kept.
func (r *resident) Making(these []backend.Look) int64 { return r.codes.Making(these) }

func (r *resident) Close() error {
	r.closed.Store(true)
	return nil
}

// Begin prepares the queries, with several goroutines.
func (r *resident) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) (backend.Run, error) {
	if r.closed.Load() {
		return nil, backend.ErrClosed
	}
	if q.Dim != r.C.Dim || len(q.Data) != q.M*q.Dim || len(goals) != q.M {
		return nil, fmt.Errorf("%d goals and %d values for %d queries of dimension %d over a collection of dimension %d",
			len(goals), len(q.Data), q.M, q.Dim, r.C.Dim)
	}
	x, ok := r.runs.Get().(*run)
	if !ok {
		x = newRun(r)
	}
	if err := x.begin(ctx, q, goals); err != nil {
		return nil, err
	}
	return x, nil
}
