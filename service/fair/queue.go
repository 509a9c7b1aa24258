package fair

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrFull says that as many wait as may.
var ErrFull = errors.New("the queue is full")

// Queue shares a capacity among clients by start-time fair queueing (Goyal, Vin, Cheng
// 1996): of the clients that wait, the one that was given least goes first, where who
// comes anew counts as having been given what the others were. Of two clients that wait
// all the while, neither is given more than the other and one use of each. It differs
// from deficit round robin, which has nearly the same bound, for clients that have one
// use at a time: who enters again as its use ends (Use.Swap) does not lose a round by it.
type Queue struct {
	o QueueOptions

	mu      sync.Mutex
	used    int64 // of the capacity
	waiting int
	now     int64 // virtual time: the start of the last use that began
	clients map[string]*client
	active  []*client // that wait
	began   int       // uses, since the clients were swept
	seq     int
}

// QueueOptions configure a Queue.
type QueueOptions struct {
	// Capacity is how large all uses under way are together, at most; above 0.
	Capacity int64
	// Largest is what a use takes of it at most: a larger one is charged for its size,
	// but takes only so much. 0 means the capacity.
	Largest int64
	// Floor is how large a use may be that a client without any is given even where
	// nothing is left; 0 means that there is no such floor.
	Floor int64
	// MostWaiting is how many may wait, below 0 any number. Beyond it the client of whom
	// most wait has the newest of them fail with ErrFull.
	MostWaiting int
	// Waited is told how long each use waited until it began; nil for nobody.
	Waited func(time.Duration)
}

// client is who uses or waits, or was given more than others not long ago.
type client struct {
	name   string
	finish int64 // virtual time at which its last use ends
	uses   int   // under way
	held   int64
	queue  []*waiter // oldest first
}

// Use is a part of the capacity that a client has. It is used from one goroutine at a
// time.
type Use struct {
	q      *Queue
	client string
	taken  int64
	has    bool
}

type waiter struct {
	use  *Use
	size int64
	seq  int
	over chan struct{} // closed when it has begun, or failed
	err  error
}

// NewQueue returns a queue that nobody uses.
func NewQueue(o QueueOptions) *Queue {
	if o.Largest <= 0 || o.Largest > o.Capacity {
		o.Largest = o.Capacity
	}
	return &Queue{o: o, clients: map[string]*client{}}
}

// Enter waits until the client may have a use of a size, at least 1, and returns it, or an
// error: ErrFull, or that of the context. The caller must leave it.
func (q *Queue) Enter(ctx context.Context, name string, size int64) (*Use, error) {
	u := &Use{q: q, client: name}
	return u, u.Swap(ctx, size)
}

// Swap leaves and enters again in one step: nobody comes in between who was given more.
// After an error it has left.
func (u *Use) Swap(ctx context.Context, size int64) error {
	q, came := u.q, time.Now()
	q.mu.Lock()
	q.release(u)
	w := q.wait(u, max(1, size))
	q.pump()
	q.mu.Unlock()
	select {
	case <-w.over:
	case <-ctx.Done():
		if q.withdraw(w) {
			return ctx.Err()
		}
		<-w.over
	}
	if w.err == nil && q.o.Waited != nil {
		q.o.Waited(time.Since(came))
	}
	return w.err
}

// Leave gives the use back. Leaving twice is allowed.
func (u *Use) Leave() {
	u.q.mu.Lock()
	defer u.q.mu.Unlock()
	u.q.release(u)
	u.q.pump()
}

// Waiting is how many wait, Used how much of the capacity is taken.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

func (q *Queue) Used() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used
}

// wait has a use wait. The caller holds the lock, here and below.
func (q *Queue) wait(u *Use, size int64) *waiter {
	c := q.clients[u.client]
	if c == nil {
		c = &client{name: u.client}
		q.clients[u.client] = c
	}
	if len(c.queue) == 0 {
		q.active = append(q.active, c)
	}
	q.seq++
	w := &waiter{use: u, size: size, seq: q.seq, over: make(chan struct{})}
	c.queue = append(c.queue, w)
	q.waiting++
	return w
}

// pump has those begin that may, and refuses who is too many.
func (q *Queue) pump() {
	for c := q.nextClient(nil); c != nil && q.used+q.sizeOf(c.queue[0]) <= q.o.Capacity; c = q.nextClient(nil) {
		q.admit(c)
	}
	floor := func(c *client) bool { return c.uses == 0 && c.queue[0].size <= q.o.Floor }
	for c := q.nextClient(floor); c != nil; c = q.nextClient(floor) {
		q.admit(c)
	}
	for q.o.MostWaiting >= 0 && q.waiting > q.o.MostWaiting {
		longest := slices.MaxFunc(q.active, func(a, b *client) int { return len(a.queue) - len(b.queue) })
		w := longest.queue[len(longest.queue)-1]
		q.drop(longest, w)
		w.err = ErrFull
		close(w.over)
	}
}

// sizeOf is what of the capacity a use takes.
func (q *Queue) sizeOf(w *waiter) int64 { return min(w.size, q.o.Largest) }

// start is the virtual time at which a client's next use begins.
func (q *Queue) start(c *client) int64 { return max(q.now, c.finish) }

// nextClient is whose turn it is among those that fit, all if that is nil: of equals the one
// that holds least, and then who came first.
func (q *Queue) nextClient(fit func(*client) bool) (best *client) {
	for _, c := range q.active {
		if fit != nil && !fit(c) {
			continue
		}
		if best == nil || q.before(c, best) {
			best = c
		}
	}
	return best
}

func (q *Queue) before(a, b *client) bool {
	if s, t := q.start(a), q.start(b); s != t {
		return s < t
	}
	if a.held != b.held {
		return a.held < b.held
	}
	return a.queue[0].seq < b.queue[0].seq
}

// admit has the first that waits of a client begin.
func (q *Queue) admit(c *client) {
	w := c.queue[0]
	q.now = q.start(c)
	c.finish = q.now + w.size
	u := w.use
	u.taken, u.has = q.sizeOf(w), true
	c.uses++
	c.held += u.taken
	q.used += u.taken
	q.drop(c, w)
	close(w.over)
	if q.began++; q.began > sweepEvery {
		q.sweep()
	}
}

// sweepEvery is after how many uses clients are forgotten that were given no more than
// others.
const sweepEvery = 1024

func (q *Queue) sweep() {
	q.began = 0
	for _, c := range q.clients {
		q.forget(c)
	}
}

// drop takes a waiter from the queue.
func (q *Queue) drop(c *client, w *waiter) {
	i := slices.Index(c.queue, w)
	c.queue = slices.Delete(c.queue, i, i+1)
	q.waiting--
	if len(c.queue) == 0 {
		i = slices.Index(q.active, c)
		q.active = slices.Delete(q.active, i, i+1)
		q.forget(c)
	}
}

// withdraw takes a waiter from the queue unless it has begun or failed.
func (q *Queue) withdraw(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-w.over:
		return false
	default:
	}
	q.drop(q.clients[w.use.client], w)
	q.pump() // it may have been the one that does not fit
	return true
}

// release gives a use back.
func (q *Queue) release(u *Use) {
	if !u.has {
		return
	}
	c := q.clients[u.client]
	c.uses--
	c.held -= u.taken
	q.used -= u.taken
	u.has = false
	q.forget(c)
}

// forget drops a client that is nothing to the queue: who was given more than others is
// remembered until these have caught up, or nobody is there.
func (q *Queue) forget(c *client) {
	if q.used == 0 && q.waiting == 0 {
		clear(q.clients)
		q.now = 0
		return
	}
	if c.uses == 0 && len(c.queue) == 0 && c.finish <= q.now {
		delete(q.clients, c.name)
	}
}
