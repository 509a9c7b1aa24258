package cpu

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu/simd"
)

// Options of the backend; the zero value means defaults.
type Options struct {
	// Threads is how many goroutines work at once; 0 means GOMAXPROCS.
	Threads int
}

// Backend runs searches on the processor's cores.
type Backend struct {
	threads int
	closed  atomic.Bool
}

// New returns the backend.
func New(o Options) *Backend {
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	return &Backend{threads: o.Threads}
}

// Name returns "cpu".
func (b *Backend) Name() string { return "cpu" }

// Threads is how many goroutines work at once.
func (b *Backend) Threads() int { return b.threads }

// Close has nothing to free; Load refuses from then on.
func (b *Backend) Close() error {
	b.closed.Store(true)
	return nil
}

// Load has nothing to move: the collection's memory is the device's.
func (b *Backend) Load(_ context.Context, c *collection.Collection) (backend.Resident, error) {
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	return &resident{c: c, threads: b.threads}, nil
}

type resident struct {
	c       *collection.Collection
	threads int
	scratch sync.Pool // *scratch
	closed  atomic.Bool

	once struct{ squares, values sync.Once }
	o2   []float64 // |o|^2 of the rotated rows, internal order
	lo   float64   // least and greatest coordinate of the working vectors
	hi   float64
}

// squares returns |o|^2 of each rotated float32 row.
func (r *resident) squares() []float64 {
	r.once.squares.Do(func() {
		r.o2 = make([]float64, r.c.N)
		for i := range r.o2 {
			r.o2[i] = simd.SumSquares(r.c.Rotated32[i*r.c.D : (i+1)*r.c.D])
		}
	})
	return r.o2
}

// values returns the least and greatest coordinate of the working vectors.
func (r *resident) values() (lo, hi float64) {
	r.once.values.Do(func() { r.lo, r.hi = r.c.Values() })
	return r.lo, r.hi
}

func (r *resident) Close() error {
	r.closed.Store(true)
	return nil
}

// Begin prepares the queries; the work is done by several goroutines.
func (r *resident) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) (backend.Run, error) {
	if r.closed.Load() {
		return nil, backend.ErrClosed
	}
	if q.Dim != r.c.Dim || len(q.Data) != q.M*q.Dim || len(goals) != q.M {
		return nil, fmt.Errorf("%d goals and %d values for %d queries of dimension %d over a collection of dimension %d",
			len(goals), len(q.Data), q.M, q.Dim, r.c.Dim)
	}
	x := &run{r: r, c: r.c, states: make([]state, q.M)}
	err := r.each(ctx, q.M, func(s *scratch, j int) error {
		x.states[j].begin(r.c, q.Row(j), goals[j], s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// each calls f for 0..n-1 from up to threads goroutines and waits for them. It
// stops early when ctx ends or f fails, and returns the first such error.
func (r *resident) each(ctx context.Context, n int, f func(s *scratch, i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var first error
	fail := func(err error) { once.Do(func() { first = err }); next.Store(math.MaxInt32) }
	work := func() {
		s := r.get()
		defer r.scratch.Put(s)
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := ctx.Err(); err != nil {
				fail(err)
				return
			}
			if err := f(s, i); err != nil {
				fail(err)
				return
			}
		}
	}
	var wg sync.WaitGroup
	for range min(r.threads, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return first
}

func (r *resident) get() *scratch {
	if s, ok := r.scratch.Get().(*scratch); ok {
		return s
	}
	return newScratch(r.c)
}
