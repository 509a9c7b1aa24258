package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// helpers are goroutines that take pieces of the work of runs of one query, whose steps are too short
// for goroutines of their own: waking one takes as long as a step. A helper is started when such a run
// begins and a core is free, looks for pieces without sleeping, and ends when it has found none for a
// while or other runs need its core. What a run computes does not depend on whether it is helped.
type helpers struct {
	cores int          // most goroutines that compute at once
	busy  atomic.Int64 // goroutines that compute: those of runs, and helpers
	_     [64]byte
	queue atomic.Pointer[pieceQueue] // the pieces to take; nil: none
	_     [64]byte

	expected atomic.Int64 // runs that called helpers, and compute
	resting  atomic.Int64 // until when helpers are kept away, in ns since began
	paused   atomic.Int64 // how long that is, or was the last time, in ns
	ended    atomic.Int64 // when the latest run that may have helpers ended, in ns since began

	began   time.Time
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

const (
	// patience is how long a helper looks for pieces before it ends: as long as it takes to wake
	// another, so that one that is kept needlessly costs no more than one that is woken needlessly.
	patience = 50 * time.Microsecond
	// stolen is the time without a turn of a helper's loop from which on another process must have had its
	// core. Helpers are then kept away, since a run would wait for their pieces: for shortPause, and twice as
	// long as the time before, up to longPause, if it happens again within longPause.
	stolen, shortPause, longPause = time.Millisecond, 10 * time.Millisecond, 160 * time.Millisecond
	// mostHelpers bounds the helpers of one run. More have not been measured.
	mostHelpers = 3
	// pollsPerClock is how many times a helper looks for pieces between two readings of the clock.
	pollsPerClock = 64
	// spins is how many times a run looks whether a helper has completed a piece before it lets other
	// goroutines run.
	spins = 1 << 12
)

func newHelpers(threads int) *helpers {
	return &helpers{cores: min(threads, runtime.GOMAXPROCS(0)), began: time.Now()}
}

// noteEnd notes the end of a run that may have helpers.
func (h *helpers) noteEnd() { h.ended.Store(int64(time.Since(h.began))) }

// recent reports whether such a run has ended so recently that a helper of it would still look for pieces.
func (h *helpers) recent() bool {
	return h.ended.Load() > 0 && int64(time.Since(h.began))-h.ended.Load() < int64(patience)
}

// call starts helpers if cores are free.
func (h *helpers) call() {
	for range min(mostHelpers, h.cores-1) {
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
func (h *helpers) take() bool {
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
func (h *helpers) help() {
	defer h.running.Done()
	defer h.busy.Add(-1)
	last := time.Now() // when there was a queue or one was expected, or a piece was done
	looked := last
	for polls := 1; ; polls++ {
		j := h.queue.Load()
		if j != nil && j.waits() {
			j.help(h)
			looked = time.Now()
		} else if polls%pollsPerClock != 0 {
			continue
		}
		now := time.Now()
		if now.Sub(looked) > stolen {
			h.rest()
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
func (h *helpers) rest() { h.restFrom(int64(time.Since(h.began))) }

// restFrom is rest at a time in ns since began.
func (h *helpers) restFrom(now int64) {
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
func (h *helpers) rests() bool {
	until := h.resting.Load()
	return until > 0 && int64(time.Since(h.began)) < until
}

// crowded reports whether more goroutines compute than there are cores.
func (h *helpers) crowded() bool { return h.busy.Load() > int64(h.cores) }

// close ends the helpers and waits for them.
func (h *helpers) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.running.Wait()
}

// offer makes j the queue of the helpers, unless they have another.
func (h *helpers) offer(j *pieceQueue) bool { return h.queue.CompareAndSwap(nil, j) }

// withdraw ends a queue that was offered, and waits for the helpers that are still at it.
func (h *helpers) withdraw(j *pieceQueue) {
	j.over.Store(true)
	j.next.Store(int64(j.pieces))
	h.queue.Store(nil)
	for n := 1; j.inside.Load() > 0; n++ {
		if n%spins == 0 {
			runtime.Gosched()
		}
	}
}

// ring is how many pieces of a queue may be done or under way that its run has not used yet.
const ring = 8

// pieceQueue is work in pieces that any goroutine may do, and whose results its run uses in ascending order.
// A run offers one at a time. Pieces are done in ascending order, too, but several at once.
type pieceQueue struct {
	pieces int
	do     func(w *scratch, piece int)
	r      *crew

	_      [64]byte
	next   atomic.Int64 // the first piece that is not taken
	opened atomic.Int64 // pieces below it may be done
	over   atomic.Bool  // the run wants no more results
	_      [64]byte
	inside atomic.Int64 // helpers that may take pieces
	_      [64]byte
	done   [ring]struct {
		atomic.Int64 // 1 + the latest piece of these that is done
		_            [56]byte
	}
}

// start prepares a queue of so many pieces.
func (j *pieceQueue) start(r *crew, pieces int, do func(w *scratch, piece int)) {
	j.r, j.pieces, j.do = r, pieces, do
	j.next.Store(0)
	j.opened.Store(0)
	j.over.Store(false)
	for i := range j.done {
		j.done[i].Store(0)
	}
}

// takePiece takes the next piece that may be done; ok is false if there is none now.
func (j *pieceQueue) takePiece() (piece int, ok bool) {
	for {
		n := j.next.Load()
		if n >= j.opened.Load() || n >= int64(j.pieces) {
			return 0, false
		}
		if j.next.CompareAndSwap(n, n+1) {
			return int(n), true
		}
	}
}

// doPiece does one piece, if one may be done.
func (j *pieceQueue) doPiece(w *scratch) bool {
	i, ok := j.takePiece()
	if ok {
		j.do(w, i)
		j.done[i%ring].Store(int64(i) + 1)
	}
	return ok
}

// ended reports whether the results of no piece are wanted. A nil queue does not end.
func (j *pieceQueue) ended() bool { return j != nil && j.over.Load() }

// waits reports whether a piece may be done.
func (j *pieceQueue) waits() bool { return j.next.Load() < j.opened.Load() }

// help does pieces while there are any, on a helper.
func (j *pieceQueue) help(h *helpers) {
	j.inside.Add(1)
	defer j.inside.Add(-1)
	if h.queue.Load() != j || !j.waits() {
		return
	}
	w := j.r.getScratch()
	defer j.r.putScratch(w)
	for !h.crowded() && j.doPiece(w) {
	}
}

// open allows pieces below n to be done.
func (j *pieceQueue) open(n int) { j.opened.Store(int64(min(n, j.pieces))) }

// await returns when piece i is done. The run does pieces itself until then.
func (j *pieceQueue) await(w *scratch, i int) {
	var waits time.Time
	for n := 1; j.done[i%ring].Load() != int64(i)+1; n++ {
		if j.doPiece(w) {
			n, waits = 0, time.Time{}
		} else if n%spins == 0 {
			runtime.Gosched()
			if waits.IsZero() {
				waits = time.Now()
			} else if time.Since(waits) > stolen {
				j.r.helpers.rest()
			}
		}
	}
}
