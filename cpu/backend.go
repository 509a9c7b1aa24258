package cpu

import (
	"context"
	"runtime"
	"sync/atomic"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu/arms"
	"thresher/cpu/threads"
	"thresher/simd"
)

// Options configure the backend; the zero value is the defaults.
type Options struct {
	// Threads is the number of worker goroutines; 0 is GOMAXPROCS.
	Threads int
	// Kernels are the kernels to use, at most simd.Best(); nil means simd.Best().
	Kernels *simd.Kernels
}

// Backend runs searches on the CPU's cores.
type Backend struct {
	threads int
	kernels simd.Kernels
	helpers *threads.Helpers
	closed  atomic.Bool
	// keepsThread is Crew.KeepsThread of the collections loaded.
	keepsThread bool
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
	b.helpers = threads.NewHelpers(b.threads)
	return b
}

// Name returns "cpu".
func (b *Backend) Name() string { return "cpu" }

// Describe returns the instruction set in use, how many goroutines work at once, what Measure found
// for these kernels on an AMD EPYC 9005, and the limits of all kernels.
func (b *Backend) Describe() backend.Description {
	return backend.Description{Device: b.kernels.String(), Threads: b.threads, Costs: builtinCosts(b.kernels), Capacity: arms.Limits()}
}

// Close makes later calls of Load fail. Collections that are loaded can still be searched.
func (b *Backend) Close() error {
	b.closed.Store(true)
	b.helpers.Close()
	return nil
}

// Load returns c as a Resident without copying it: searches read the collection's memory, so c
// must not be closed before the Resident. It fails after Close.
func (b *Backend) Load(_ context.Context, c *collection.Collection) (backend.Resident, error) {
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	return newResident(arms.NewResident(c, threads.NewCrew(b.threads, b.kernels, b.helpers, b.keepsThread))), nil
}
