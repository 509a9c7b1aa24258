package cpu

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/simd"
)

// Options configure the backend; the zero value is the defaults.
type Options struct {
	// Threads is the number of worker goroutines; 0 is GOMAXPROCS.
	Threads int
	// Kernels are the kernels to use, at most simd.Best(), which nil stands for.
	Kernels *simd.Kernels
}

// Backend runs searches on the CPU's cores.
type Backend struct {
	threads int
	kernels simd.Kernels
	closed  atomic.Bool
}

// New returns the backend.
func New(o Options) *Backend {
	b := &Backend{threads: o.Threads, kernels: simd.Best()}
	if o.Threads <= 0 {
		b.threads = runtime.GOMAXPROCS(0)
	}
	if o.Kernels != nil {
		b.kernels = min(*o.Kernels, b.kernels)
	}
	return b
}

// Name returns "cpu".
func (b *Backend) Name() string { return "cpu" }

// Describe returns the instruction set in use, how many goroutines work at once, and
// what Measure found for these kernels on an AMD EPYC 9004.
func (b *Backend) Describe() backend.Description {
	return backend.Description{Device: b.kernels.String(), Threads: b.threads, Costs: builtinCosts(b.kernels)}
}

// Close frees nothing; Load fails from then on.
func (b *Backend) Close() error {
	b.closed.Store(true)
	return nil
}

// Load copies nothing: searches read the collection's memory.
func (b *Backend) Load(_ context.Context, c *collection.Collection) (backend.Resident, error) {
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	return &resident{c: c, looks: looks.NewSet(c), kernels: b.kernels, threads: b.threads, stretch: cachedRows}, nil
}

// panelAtoms is how many atoms a panel holds; a mask has a bit for each.
const panelAtoms = collection.PanelAtoms

type resident struct {
	c       *collection.Collection
	kernels simd.Kernels
	threads int
	stretch int       // bytes of rows that a group of queries revisits together
	scratch sync.Pool // *scratch
	runs    sync.Pool // *run, whose memory the next batch uses again
	closed  atomic.Bool

	once struct{ squares, values, dense, panels sync.Once }
	all  []uint32  // panels
	o2   []float64 // |o|^2 of the rotated rows, internal order
	lo   float64   // least and greatest coordinate of the working vectors
	hi   float64
	rows denseTerms

	looks *looks.Set // of coded collections
}

// squares returns |o|^2 of each rotated float32 row. It is computed once.
func (r *resident) squares() []float64 {
	r.once.squares.Do(func() {
		r.o2 = make([]float64, r.c.N)
		for i := range r.o2 {
			r.o2[i] = r.kernels.SumSquares(r.c.Rotated32[i*r.c.D : (i+1)*r.c.D])
		}
	})
	return r.o2
}

// panels lists all panels.
func (r *resident) panels() []uint32 {
	r.once.panels.Do(func() {
		r.all = make([]uint32, r.c.PanelCount())
		for p := range r.all {
			r.all[p] = uint32(p)
		}
	})
	return r.all
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

// group is the most queries that are prepared, or scanned, together: they share what
// is read.
const group = 256

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
	if err := x.reset(q.M); err != nil {
		return nil, err
	}
	err := r.blocks(ctx, q.M, func(w *scratch, lo, hi int) error {
		x.begin(w, q, goals, lo, hi)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// blocks calls f for stretches lo..hi-1 of 0..n-1 from several goroutines:
// at most a group each, fewer where threads would have nothing to do.
func (r *resident) blocks(ctx context.Context, n int, f func(w *scratch, lo, hi int) error) error {
	size := min(group, (n+r.threads-1)/r.threads)
	if size == 0 {
		return ctx.Err()
	}
	return r.each(ctx, (n+size-1)/size, func(w *scratch, b int) error {
		return f(w, b*size, min((b+1)*size, n))
	})
}

// each calls f for 0 to n-1 from at most threads goroutines and waits for them. It
// stops early if ctx ends or f fails, and returns the first such error.
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
			if err := rest(ctx, n); err != nil {
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

// crowd is the number of queries from which a loop yields between chunks.
const crowd = 16

// rest returns the error of ctx. In a run of many queries it first yields to goroutines
// that wait for a processor, such as those that answer searches of one query. Loops over
// chunks of some milliseconds call it; the scheduler alone would make the others wait for
// several times as long.
func rest(ctx context.Context, queries int) error {
	if queries >= crowd {
		runtime.Gosched()
	}
	return ctx.Err()
}

func (r *resident) get() *scratch {
	if s, ok := r.scratch.Get().(*scratch); ok {
		return s
	}
	return &scratch{}
}
