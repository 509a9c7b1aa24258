package worker

import (
	"runtime/debug"
	"sync"
	"time"
)

const (
	// returnedBytes is from which size on the memory of a freed collection is returned to the
	// system: the next collection of garbage may be far.
	returnedBytes = 64 << 20
	// idleTime is how long no call may have been in progress before that. Returning memory takes
	// tens of milliseconds on all cores, for which a call would wait.
	idleTime = time.Second
)

// idle returns memory to the system when nobody waits for a call.
type idle struct {
	mu     sync.Mutex
	calls  int         // in progress
	ended  time.Time   // when the last one did
	timer  *time.Timer // not nil if there is memory to return
	give   func()      // nil: debug.FreeOSMemory
	closed bool
}

func (w *idle) begin() {
	w.mu.Lock()
	w.calls++
	w.mu.Unlock()
}

func (w *idle) end() {
	w.mu.Lock()
	w.calls--
	w.ended = time.Now()
	w.mu.Unlock()
}

// freed tells that the memory of a collection of so many bytes is garbage.
func (w *idle) freed(bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if bytes >= returnedBytes && w.timer == nil && !w.closed {
		w.timer = time.AfterFunc(idleTime, w.check)
	}
}

// check returns memory, or looks again later if calls are or were in progress.
func (w *idle) check() {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	wait := idleTime - time.Since(w.ended)
	if w.calls > 0 {
		wait = idleTime
	}
	if wait > 0 {
		w.timer.Reset(wait)
		w.mu.Unlock()
		return
	}
	w.timer = nil
	give := w.give
	w.mu.Unlock()
	if give == nil {
		give = debug.FreeOSMemory
	}
	give()
}

// close ends it. Memory that was not returned stays.
func (w *idle) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
