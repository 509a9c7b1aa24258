package threads

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"thresher/cpu/topk"
	"thresher/simd"
)

// Crew is the goroutines that search one collection, with their memory.
type Crew struct {
	computed computed
	Kernels  simd.Kernels
	Threads  int
	Helpers  *Helpers // of the backend
	// KeepsThread says that runs are timed in goroutines locked to their threads. They do not
	// yield: such a goroutine goes on only after two changes of thread, 5 us of processor time.
	KeepsThread bool
	loaded      time.Time
	yielded     atomic.Int64 // when a goroutine yielded last, in ns since loaded
	pool        sync.Pool    // *Scratch
}

// NewCrew returns a crew of at most so many threads.
func NewCrew(threads int, kernels simd.Kernels, h *Helpers, keepsThread bool) *Crew {
	return &Crew{Threads: threads, Kernels: kernels, Helpers: h, KeepsThread: keepsThread, loaded: time.Now()}
}

// queryChunk is the greatest number of queries that a goroutine prepares or scans together.
const queryChunk = 256

// fewQueries is the greatest number of queries that a goroutine prepares together while others prepare some: a
// step so short should not wait for one that has just been woken and begins.
const fewQueries = 32

// EachQueryChunk calls f for consecutive ranges [lo, hi) of n queries from several
// goroutines. A range has at most queryChunk queries, or fewer so that every thread gets one.
func (r *Crew) EachQueryChunk(ctx context.Context, n int, f func(w *Scratch, lo, hi int) error) error {
	return r.eachRange(ctx, n, min(queryChunk, (n+r.Threads-1)/r.Threads), f)
}

// EachFewQueries is EachQueryChunk for ranges of at most fewQueries, if there are several threads.
func (r *Crew) EachFewQueries(ctx context.Context, n int, f func(w *Scratch, lo, hi int) error) error {
	if r.Threads == 1 {
		return r.EachQueryChunk(ctx, n, f)
	}
	return r.eachRange(ctx, n, min(fewQueries, (n+r.Threads-1)/r.Threads), f)
}

// eachRange calls f for consecutive ranges of n queries, of size each but the last, from several goroutines.
func (r *Crew) eachRange(ctx context.Context, n, size int, f func(w *Scratch, lo, hi int) error) error {
	if size == 0 {
		return ctx.Err()
	}
	return r.Each(ctx, (n+size-1)/size, func(w *Scratch, b int) error {
		return f(w, b*size, min((b+1)*size, n))
	})
}

// Each calls f for 0 to n-1 from at most threads goroutines and waits for them. It stops
// early if ctx ends or f fails, and returns the first such error. f may use the scratch
// until it returns.
func (r *Crew) Each(ctx context.Context, n int, f func(s *Scratch, i int) error) error {
	if min(r.Threads, n) > 1 {
		return r.eachOfThreads(ctx, n, f)
	}
	s := r.GetScratch()
	defer r.PutScratch(s)
	for i := range n {
		if err := r.Checkpoint(ctx, n); err != nil {
			return err
		}
		if err := f(s, i); err != nil {
			return err
		}
	}
	return nil
}

// eachOfThreads is Each for several goroutines.
func (r *Crew) eachOfThreads(ctx context.Context, n int, f func(s *Scratch, i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var firstErr error
	fail := func(err error) { once.Do(func() { firstErr = err }); next.Store(math.MaxInt32) }
	work := func() {
		s := r.GetScratch()
		defer r.PutScratch(s)
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := r.Checkpoint(ctx, n); err != nil {
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
	more := max(min(r.Threads, n)-1, 0)
	r.Helpers.busy.Add(int64(more))
	defer r.Helpers.busy.Add(int64(-more))
	for range more {
		wg.Go(work)
	}
	// Behind this one the others are taken at once, as helpers are (Helpers.call).
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

// Checkpoint returns the error of ctx. In a run of many queries it first yields to goroutines
// that wait for a processor, such as those that answer searches of one query, unless a run has just done
// so or leaves them a processor anyway. Loops over chunks of up to some milliseconds call it; without it
// others would wait for the scheduler, which takes several times as long.
func (r *Crew) Checkpoint(ctx context.Context, queries int) error {
	if queries >= yieldQueries && !r.KeepsThread && r.yieldIsDue() {
		runtime.Gosched()
	}
	return ctx.Err()
}

// yieldIsDue reports whether runs and their helpers occupy all processors and no goroutine has yielded
// within yieldPause, and notes that one does now. While a processor is idle a yield would wake a thread on it
// for nothing, which takes 8 us on a virtual machine; without one it takes 200 ns.
func (r *Crew) yieldIsDue() bool {
	now, last := int64(time.Since(r.loaded)), r.yielded.Load()
	return now-last >= int64(yieldPause) && r.yielded.CompareAndSwap(last, now) &&
		r.Helpers.busy.Load() >= int64(runtime.GOMAXPROCS(0))
}

// GetScratch returns memory for one goroutine, to be returned by PutScratch.
func (r *Crew) GetScratch() *Scratch {
	if s, ok := r.pool.Get().(*Scratch); ok {
		return s
	}
	return &Scratch{Sorter: topk.Sorter{Kern: r.Kernels}}
}

// PutScratch returns a scratch to the pool, which may drop it. Its pairs are counted before; whoever takes it
// next checks its context before it computes any, as each does.
func (r *Crew) PutScratch(s *Scratch) {
	if s.unchecked > 0 {
		r.checked(s)
	}
	r.pool.Put(s)
}
