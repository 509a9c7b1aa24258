package service

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// reclaimer gives memory back to the system after requests that took much of it. The collector alone frees garbage
// when as much again has been allocated, or after two minutes, and the system has it back later still.
type reclaimer struct {
	asked chan struct{}
	rest  uint64 // bytes held when memory was last given back
}

const (
	// reclaimAbove is how many bytes above twice those at rest are given back. Less is what a server at work takes
	// and frees all the time.
	reclaimAbove = 32 << 20
	// reclaimPause is the least time between two collections that requests cause, and reclaimPart the part of the
	// time that they may take.
	reclaimPause = time.Second
	reclaimPart  = 20
)

func newReclaimer() *reclaimer { return &reclaimer{asked: make(chan struct{}, 1), rest: heldMemory()} }

// ask makes run compare what is held with what was held at rest. It does not block.
func (r *reclaimer) ask() {
	select {
	case r.asked <- struct{}{}:
	default: // it has been asked
	}
}

// run gives memory back whenever it is asked and there is enough, until ctx ends.
func (r *reclaimer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.asked:
		}
		if heldMemory() < 2*r.rest+reclaimAbove {
			continue
		}
		began := time.Now()
		runtime.GC() // what pools keep is garbage the second time
		debug.FreeOSMemory()
		r.rest = heldMemory()
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(reclaimPause, reclaimPart*time.Since(began))):
		}
	}
}

// heldMemory returns the bytes that the runtime has of the system.
func heldMemory() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
