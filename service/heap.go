package service

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// heap returns memory that is no longer used to the system once the process is at rest: the
// runtime alone returns what a large request took only minutes later.
type heap struct {
	read func() (held, allocated int64) // what the process holds of the system, and has allocated in all
	free func()                         // collects garbage and returns what is free to the system
	busy func() bool                    // whether something large is held that will be free again

	base      int64 // what it held when it was last at rest
	allocated int64 // at the last look
}

const (
	// lookEvery is the time between two looks at the heap.
	lookEvery = 250 * time.Millisecond
	// restingBytes is the most that a process at rest allocates between two looks.
	restingBytes = 1 << 20
	// maxCollections bounds the collections of garbage of one rest, beside the last.
	maxCollections = 4
	// minReturned is the growth since the last rest from which on memory is returned.
	minReturned = 32 << 20
)

// newHeap returns the heap of the process.
func newHeap(busy func() bool) *heap {
	h := &heap{read: heldBytes, free: freeBytes, busy: busy}
	h.base, h.allocated = h.read()
	return h
}

// freeBytes collects garbage until that frees little more, because what a sync.Pool or a finalizer
// keeps is garbage only the next time, and returns what is free to the system.
func freeBytes() {
	used := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(used)
	for range maxCollections {
		before := used[0].Value.Uint64()
		runtime.GC()
		if metrics.Read(used); used[0].Value.Uint64()+restingBytes > before {
			break
		}
	}
	debug.FreeOSMemory()
}

// heldBytes returns how many bytes the process holds of the system for its memory, apart from
// mapped files, and how many it has allocated on the heap since it began.
func heldBytes() (held, allocated int64) {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64()), int64(s[2].Value.Uint64())
}

// look returns memory if the process is at rest and holds more than when it last was. What is
// still used then, such as a new collection, is the new measure, so that a rest costs a
// few collections of garbage once.
func (h *heap) look() {
	held, allocated := h.read()
	resting := allocated-h.allocated <= restingBytes && !h.busy()
	if resting && held-h.base >= minReturned {
		h.free()
		held, allocated = h.read()
		h.base = held
	}
	h.base, h.allocated = min(h.base, held), allocated
}

// watch looks at the heap until ctx ends.
func (h *heap) watch(ctx context.Context) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			h.look()
		case <-ctx.Done():
			return
		}
	}
}
