package backend

import (
	"sync"
	"sync/atomic"
	"time"
)

// EachPiece calls work for consecutive pieces of 0 to n-1, of size each but the last, from at most threads
// goroutines, of which the caller's is one, and returns when all calls have. If some return errors it starts
// no further piece and returns the error of the first piece that has one, as a loop over the pieces
// would. ready, if not nil, is called by the caller's goroutine with growing hi whenever all pieces below
// hi are done; the last call has n, unless there is an error.
func EachPiece(threads, n, size int, work func(lo, hi int) error, ready func(hi int)) error {
	p := &pieces{n: n, size: size, work: work}
	if threads = min(threads, (n+size-1)/size); threads <= 1 {
		for lo := 0; lo < n && p.err == nil; lo += size {
			if p.do(lo); p.err == nil && ready != nil {
				ready(min(lo+size, n))
			}
		}
		return p.err
	}
	p.idle = make(chan struct{}, 1)
	if ready != nil {
		p.done = make([]atomic.Bool, (n+size-1)/size)
	}
	for range threads - 1 {
		go func() {
			for p.doNext() {
			}
		}()
	}
	at := 0
	for p.doNext() {
		at = p.report(at, ready)
	}
	p.wait()
	p.report(at, ready)
	return p.err
}

// pieces is the work of an EachPiece.
type pieces struct {
	n, size int
	work    func(lo, hi int) error
	next    atomic.Int64  // first index of the next piece
	busy    atomic.Int64  // goroutines that do a piece, or are about to look for one
	idle    chan struct{} // gets a value when none does any more
	done    []atomic.Bool // by piece; nil if nobody asks

	mu    sync.Mutex
	err   error // of the first piece that has one
	errAt int
}

// spin is how long a caller whose own pieces are done waits for the others before it sleeps: to wake a
// goroutine that is locked to its thread takes longer than most pieces.
const spin = 20 * time.Microsecond

// wait waits until no goroutine does a piece, after all have been taken. One that has not begun yet will
// find none and ends.
func (p *pieces) wait() {
	for began := time.Now(); p.busy.Load() > 0 && time.Since(began) < spin; {
	}
	for p.busy.Load() > 0 {
		<-p.idle
	}
}

// doNext does the next piece and reports whether there was one.
func (p *pieces) doNext() bool {
	p.busy.Add(1)
	defer p.endPiece()
	lo := int(p.next.Add(int64(p.size))) - p.size
	if lo >= p.n {
		return false
	}
	p.do(lo)
	return true
}

// endPiece notes that a goroutine has done what it took.
func (p *pieces) endPiece() {
	if p.busy.Add(-1) == 0 && p.idle != nil {
		select {
		case p.idle <- struct{}{}:
		default: // the value that is there will do
		}
	}
}

// do does the piece that begins at lo.
func (p *pieces) do(lo int) {
	if err := p.work(lo, min(lo+p.size, p.n)); err != nil {
		p.mu.Lock()
		if p.err == nil || lo < p.errAt {
			p.err, p.errAt = err, lo
		}
		p.mu.Unlock()
		p.next.Store(int64(p.n)) // pieces before it have been taken
		return
	}
	if p.done != nil {
		p.done[lo/p.size].Store(true)
	}
}

// report calls ready if more pieces are done than the first at, and returns their number.
func (p *pieces) report(at int, ready func(hi int)) int {
	from := at
	for at < len(p.done) && p.done[at].Load() {
		at++
	}
	if at > from {
		ready(min(at*p.size, p.n))
	}
	return at
}
