package threads

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Helpers are goroutines that take pieces of the work of runs of one query, whose steps are too short
// for goroutines of their own: waking one takes as long as a step. A helper is started when such a run
// begins and a core is free, looks for pieces without sleeping, and ends when it has found none for a
// while or other runs need its core. What a run computes does not depend on whether it is helped.
type Helpers struct {
	cores int          // greatest number of goroutines that compute at once
	busy  atomic.Int64 // goroutines that compute: those of runs, and helpers
	_     [64]byte
	queue atomic.Pointer[Pieces] // the pieces to take; nil: none
	_     [64]byte

	expected atomic.Int64 // runs that called helpers, and compute
	resting  atomic.Int64 // until when helpers are kept away, in ns since began
	paused   atomic.Int64 // how long that is, or was the last time, in ns
	ended    atomic.Int64 // when the latest run that may have helpers ended, in ns since began

	yield   func() // yieldCore, but in tests
	began   time.Time
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

const (
	// patience is how long a helper looks for pieces before it ends: as long as it takes to wake
	// another, so that one that is kept needlessly costs no more than one that is woken needlessly.
	patience = 50 * time.Microsecond
	// idle is how long a helper looks for pieces before it offers its core between two looks. The system may have put it on the
	// core of the run that it is to help, which then waits until the helper's time is over, 3 or 4 ms.
	idle = 20 * time.Microsecond
	// stolen is the time without a turn of a helper's loop from which on another process must have had its
	// core. Helpers are then kept away, since a run would wait for their pieces: for shortPause, and twice as
	// long as the time before, up to longPause, if it happens again within longPause.
	stolen, shortPause, longPause = time.Millisecond, 10 * time.Millisecond, 160 * time.Millisecond
	// maxHelpers bounds the helpers of one run. More have not been measured.
	maxHelpers = 3
	// pollsPerClock is how many times a helper looks for pieces between two readings of the clock.
	pollsPerClock = 64
	// spins is how many times a run looks whether a helper has completed a piece before it lets other
	// goroutines run.
	spins = 1 << 12
)

func NewHelpers(threads int) *Helpers {
	return &Helpers{cores: min(threads, runtime.GOMAXPROCS(0)), began: time.Now(), yield: yieldCore}
}

// noteEnd notes the end of a run that may have helpers.
func (h *Helpers) noteEnd() { h.ended.Store(int64(time.Since(h.began))) }

// recent reports whether such a run has ended so recently that a helper of it would still look for pieces.
func (h *Helpers) recent() bool {
	return h.ended.Load() > 0 && int64(time.Since(h.began))-h.ended.Load() < int64(patience)
}

// call starts helpers if cores are free.
func (h *Helpers) call() {
	for range min(maxHelpers, h.cores-1) {
		if h.rests() || !h.take() {
			return
		}
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			h.busy.Add(-1)
			return
		}
		h.running.Add(1)
		h.mu.Unlock()
		go h.help()
		// The latest goroutine that a goroutine starts is for its own processor: another processor that
		// wants it sleeps first, for some 60 us. Behind this one the helper is taken at once.
		go func() {}()
	}
}

// take takes a free core, if there is one.
func (h *Helpers) take() bool {
	for {
		n := h.busy.Load()
		if n >= int64(h.cores) {
			return false
		}
		if h.busy.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// help takes pieces until there has been no queue for a while, or runs need the core.
func (h *Helpers) help() {
	defer h.running.Done()
	defer h.busy.Add(-1)
	last := time.Now() // when there was a queue or one was expected, or a piece was done
	looked, helped := last, last
	for polls := 1; ; polls++ {
		j := h.queue.Load()
		if j != nil && j.waits() {
			j.help(h)
			looked = time.Now()
			helped = looked
		} else if polls%pollsPerClock != 0 {
			continue
		}
		now := time.Now()
		if now.Sub(looked) > stolen {
			h.rest()
		}
		if now.Sub(helped) > idle {
			h.yield()
			now = time.Now() // whoever had the core meanwhile got it
		}
		looked = now
		if j != nil || h.expected.Load() > 0 {
			last = now
		}
		if h.crowded() || h.rests() || now.Sub(last) > patience {
			return
		}
	}
}

// rest keeps helpers away for a while, because other processes need the cores.
func (h *Helpers) rest() { h.restFrom(int64(time.Since(h.began))) }

// restFrom is rest at a time in ns since began.
func (h *Helpers) restFrom(now int64) {
	until := h.resting.Load()
	if now < until {
		return
	}
	pause := int64(shortPause)
	if until > 0 && now-until < int64(longPause) {
		pause = min(2*h.paused.Load(), int64(longPause))
	}
	h.paused.Store(pause)
	h.resting.Store(now + pause)
}

// rests reports whether helpers are kept away.
func (h *Helpers) rests() bool {
	until := h.resting.Load()
	return until > 0 && int64(time.Since(h.began)) < until
}

// crowded reports whether more goroutines compute than there are cores.
func (h *Helpers) crowded() bool { return h.busy.Load() > int64(h.cores) }

// Close ends the helpers and waits for them.
func (h *Helpers) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.running.Wait()
}
