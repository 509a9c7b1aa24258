package service

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// reclaimer gives memory back to the system after what took much of it: a source that was read, a build, a large
// body. The collector alone frees garbage when as much again has been allocated, or after two minutes, and the
// system has it back later still.
type reclaimer struct{ asked chan struct{} }

const (
	// leastHeld is how many bytes are held before any are given back.
	leastHeld = 64 << 20
	// reclaimPause is the least time between two collections that are asked for, and reclaimPart times their
	// duration: they take at most a twentieth of the time.
	reclaimPause = time.Second
	reclaimPart  = 20
	// reclaimDelay lets those that ask let go of what they have.
	reclaimDelay = 100 * time.Millisecond
)

func newReclaimer() *reclaimer { return &reclaimer{make(chan struct{}, 1)} }

// ask makes run give memory back soon. It does not block.
func (r *reclaimer) ask() {
	select {
	case r.asked <- struct{}{}:
	default: // it has been asked
	}
}

// run gives memory back whenever it is asked, until ctx ends.
func (r *reclaimer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.asked:
		}
		if heldMemory() < leastHeld || !pause(ctx, reclaimDelay) {
			continue
		}
		began := time.Now()
		runtime.GC() // what pools keep is garbage the second time
		debug.FreeOSMemory()
		pause(ctx, max(reclaimPause, reclaimPart*time.Since(began)))
	}
}

// pause waits, and reports whether ctx has not ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// heldMemory returns the bytes that the runtime has of the system.
func heldMemory() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
