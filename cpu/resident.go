package cpu

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
)

// panelAtoms is how many atoms a panel holds; a mask has a bit for each.
const panelAtoms = collection.PanelAtoms

// resident is a loaded collection. Several goroutines may begin runs of it.
type resident struct {
	*crew
	c         *collection.Collection
	looks     *looks.Set
	tileBytes int       // tileBytes, except in tests
	runs      sync.Pool // closed *run, whose memory is reused
	closed    atomic.Bool

	// Each field below is computed at first use.
	once            struct{ squares, values, dense, panels sync.Once }
	allPanels       []uint32  // the numbers of all panels
	restSquares     []float64 // |o|^2 of the rotated rows, internal order
	least, greatest float64   // least and greatest coordinate of the working vectors
	dense           denseTerms
	rowTraits       readTraits
}

// squares returns |o|^2 of each rotated float32 row, in internal order.
func (r *resident) squares() []float64 {
	r.once.squares.Do(func() {
		r.restSquares = make([]float64, r.c.N)
		for i := range r.restSquares {
			r.restSquares[i] = r.kernels.SumSquares(r.c.Rotated32[i*r.c.D : (i+1)*r.c.D])
		}
	})
	return r.restSquares
}

// panels returns the numbers of all panels.
func (r *resident) panels() []uint32 {
	r.once.panels.Do(func() {
		r.allPanels = make([]uint32, r.c.PanelCount())
		for p := range r.allPanels {
			r.allPanels[p] = uint32(p)
		}
	})
	return r.allPanels
}

// values returns the least and greatest coordinate of the working vectors.
func (r *resident) values() (lo, hi float64) {
	r.once.values.Do(func() { r.least, r.greatest = r.c.Values() })
	return r.least, r.greatest
}

func (r *resident) Close() error {
	r.closed.Store(true)
	return nil
}

// Begin prepares the queries, with several goroutines.
func (r *resident) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) (backend.Run, error) {
	if r.closed.Load() {
		return nil, backend.ErrClosed
	}
	if q.Dim != r.c.Dim || len(q.Data) != q.M*q.Dim || len(goals) != q.M {
		return nil, fmt.Errorf("%d goals and %d values for %d queries of dimension %d over a collection of dimension %d",
			len(goals), len(q.Data), q.M, q.Dim, r.c.Dim)
	}
	x, ok := r.runs.Get().(*run)
	if !ok {
		x = &run{r: r, c: r.c}
	}
	x.reset(q)
	r.helpers.busy.Add(1) // until Close
	x.team.reset(r.crew, q.M == 1, r.c.N*(r.c.R+r.c.D))
	err := r.eachFewQueries(ctx, q.M, func(_ *scratch, lo, hi int) error {
		x.prepareQueries(q, goals, lo, hi)
		return nil
	})
	if err != nil {
		r.helpers.busy.Add(-1)
		return nil, err
	}
	return x, nil
}
