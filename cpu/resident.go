package cpu

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/simd"
)

// panelAtoms is how many atoms a panel holds; a mask has a bit for each.
const panelAtoms = collection.PanelAtoms

// resident is a loaded collection. Several goroutines may begin runs of it.
type resident struct {
	computed  computed
	c         *collection.Collection
	looks     *looks.Set
	kernels   simd.Kernels
	threads   int
	helpers   *helpers // of the backend
	tileBytes int      // tileBytes, except in tests
	// keepsThread says that runs are timed in goroutines locked to their threads. They do not
	// yield: such a goroutine goes on only after two changes of thread, 5 us of processor time.
	keepsThread bool
	loaded      time.Time
	yielded     atomic.Int64 // when a goroutine yielded last, in ns since loaded
	scratch     sync.Pool    // *scratch
	runs        sync.Pool    // closed *run, whose memory is reused
	closed      atomic.Bool

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

// queryChunk is the greatest number of queries that a goroutine prepares or scans together.
const queryChunk = 256

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
	x.reservePieces()
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

// fewQueries is the greatest number of queries that a goroutine prepares together while others prepare some: a
// step so short should not wait for one that has just been woken and begins.
const fewQueries = 32

// eachQueryChunk calls f for consecutive ranges [lo, hi) of n queries from several
// goroutines. A range has at most queryChunk queries, or fewer so that every thread gets one.
func (r *resident) eachQueryChunk(ctx context.Context, n int, f func(w *scratch, lo, hi int) error) error {
	return r.eachRange(ctx, n, min(queryChunk, (n+r.threads-1)/r.threads), f)
}

// eachFewQueries is eachQueryChunk for ranges of at most fewQueries, if there are several threads.
func (r *resident) eachFewQueries(ctx context.Context, n int, f func(w *scratch, lo, hi int) error) error {
	if r.threads == 1 {
		return r.eachQueryChunk(ctx, n, f)
	}
	return r.eachRange(ctx, n, min(fewQueries, (n+r.threads-1)/r.threads), f)
}

// eachRange calls f for consecutive ranges of n queries, of size each but the last, from several goroutines.
func (r *resident) eachRange(ctx context.Context, n, size int, f func(w *scratch, lo, hi int) error) error {
	if size == 0 {
		return ctx.Err()
	}
	return r.each(ctx, (n+size-1)/size, func(w *scratch, b int) error {
		return f(w, b*size, min((b+1)*size, n))
	})
}

// each calls f for 0 to n-1 from at most threads goroutines and waits for them. It stops
// early if ctx ends or f fails, and returns the first such error. f may use the scratch
// until it returns.
func (r *resident) each(ctx context.Context, n int, f func(s *scratch, i int) error) error {
	if min(r.threads, n) > 1 {
		return r.eachOfThreads(ctx, n, f)
	}
	s := r.getScratch()
	defer r.putScratch(s)
	for i := range n {
		if err := r.checkpoint(ctx, n); err != nil {
			return err
		}
		if err := f(s, i); err != nil {
			return err
		}
	}
	return nil
}

// eachOfThreads is each for several goroutines.
func (r *resident) eachOfThreads(ctx context.Context, n int, f func(s *scratch, i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var firstErr error
	fail := func(err error) { once.Do(func() { firstErr = err }); next.Store(math.MaxInt32) }
	work := func() {
		s := r.getScratch()
		defer r.putScratch(s)
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := r.checkpoint(ctx, n); err != nil {
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
	more := max(min(r.threads, n)-1, 0)
	r.helpers.busy.Add(int64(more))
	defer r.helpers.busy.Add(int64(-more))
	for range more {
		wg.Go(work)
	}
	// Behind this one the others are taken at once, as helpers are (call).
	wg.Go(func() {})
	work()
	wg.Wait()
	return firstErr
}

const (
	// yieldQueries is the number of queries from which checkpoint yields.
	yieldQueries = 16
	// yieldPause is the least time between two yields.
	yieldPause = 100 * time.Microsecond
)

// checkpoint returns the error of ctx. In a run of many queries it first yields to goroutines
// that wait for a processor, such as those that answer searches of one query, unless a run has just done
// so or leaves them a processor anyway. Loops over chunks of up to some milliseconds call it; without it
// others would wait for the scheduler, which takes several times as long.
func (r *resident) checkpoint(ctx context.Context, queries int) error {
	if queries >= yieldQueries && !r.keepsThread && r.yieldIsDue() {
		runtime.Gosched()
	}
	return ctx.Err()
}

// yieldIsDue reports whether runs and their helpers occupy all processors and no goroutine has yielded
// within yieldPause, and notes that one does now. While a processor is idle a yield would wake a thread on it
// for nothing, which takes 8 us on a virtual machine; without one it takes 200 ns.
func (r *resident) yieldIsDue() bool {
	now, last := int64(time.Since(r.loaded)), r.yielded.Load()
	return now-last >= int64(yieldPause) && r.yielded.CompareAndSwap(last, now) &&
		r.helpers.busy.Load() >= int64(runtime.GOMAXPROCS(0))
}

func (r *resident) getScratch() *scratch {
	if s, ok := r.scratch.Get().(*scratch); ok {
		return s
	}
	return &scratch{sorting: sorting{kern: r.kernels}}
}

// putScratch returns a scratch to the pool, which may drop it. Its pairs are counted before; whoever takes it
// next checks its context before it computes any, as each does.
func (r *resident) putScratch(s *scratch) {
	if s.unchecked > 0 {
		r.checked(s)
	}
	r.scratch.Put(s)
}
