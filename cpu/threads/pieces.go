package threads

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Ring is how many pieces of a queue may be done or under way that its run has not used yet.
const Ring = 8

// Pieces is work in pieces that any goroutine may do, and whose results its run uses in ascending order.
// A run offers one at a time. Pieces are done in ascending order, too, but several at once.
type Pieces struct {
	count int
	do    func(w *Scratch, piece int)
	r     *Crew

	_      [64]byte
	next   atomic.Int64 // the first piece that is not taken
	opened atomic.Int64 // pieces below it may be done
	over   atomic.Bool  // the run wants no more results
	_      [64]byte
	inside atomic.Int64 // helpers that may take pieces
	_      [64]byte
	done   [Ring]struct {
		atomic.Int64 // 1 + the latest piece of these that is done
		_            [56]byte
	}
}

// Start prepares a queue of so many pieces.
func (j *Pieces) Start(r *Crew, pieces int, do func(w *Scratch, piece int)) {
	j.r, j.count, j.do = r, pieces, do
	j.next.Store(0)
	j.opened.Store(0)
	j.over.Store(false)
	for i := range j.done {
		j.done[i].Store(0)
	}
}

// takePiece takes the next piece that may be done; ok is false if there is none now.
func (j *Pieces) takePiece() (piece int, ok bool) {
	for {
		n := j.next.Load()
		if n >= j.opened.Load() || n >= int64(j.count) {
			return 0, false
		}
		if j.next.CompareAndSwap(n, n+1) {
			return int(n), true
		}
	}
}

// doPiece does one piece, if one may be done.
func (j *Pieces) doPiece(w *Scratch) bool {
	i, ok := j.takePiece()
	if ok {
		j.do(w, i)
		j.done[i%Ring].Store(int64(i) + 1)
	}
	return ok
}

// Ended reports whether the results of no piece are wanted. A nil queue does not end.
func (j *Pieces) Ended() bool { return j != nil && j.over.Load() }

// waits reports whether a piece may be done.
func (j *Pieces) waits() bool { return j.next.Load() < j.opened.Load() }

// help does pieces while there are any, on a helper.
func (j *Pieces) help(h *Helpers) {
	j.inside.Add(1)
	defer j.inside.Add(-1)
	if h.queue.Load() != j || !j.waits() {
		return
	}
	w := j.r.GetScratch()
	defer j.r.PutScratch(w)
	for !h.crowded() && j.doPiece(w) {
	}
}

// Open allows pieces below n to be done.
func (j *Pieces) Open(n int) { j.opened.Store(int64(min(n, j.count))) }

// Await returns when piece i is done. The run does pieces itself until then.
func (j *Pieces) Await(w *Scratch, i int) {
	var waits time.Time
	for n := 1; j.done[i%Ring].Load() != int64(i)+1; n++ {
		if j.doPiece(w) {
			n, waits = 0, time.Time{}
		} else if n%spins == 0 {
			runtime.Gosched()
			if waits.IsZero() {
				waits = time.Now()
			} else if time.Since(waits) > stolen {
				j.r.Helpers.rest()
			}
		}
	}
}

// Offer makes j the queue of the helpers, unless they have another.
func (h *Helpers) Offer(j *Pieces) bool { return h.queue.CompareAndSwap(nil, j) }

// Withdraw ends a queue that was offered, and waits for the helpers that are still at it.
func (h *Helpers) Withdraw(j *Pieces) {
	j.over.Store(true)
	j.next.Store(int64(j.count))
	h.queue.Store(nil)
	for n := 1; j.inside.Load() > 0; n++ {
		if n%spins == 0 {
			runtime.Gosched()
		}
	}
}
