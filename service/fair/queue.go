package fair

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrFull says that the greatest number of requests are waiting.
var ErrFull = errors.New("the queue is full")

// Queue shares a capacity among clients by start-time fair queueing (Goyal, Vin, Cheng 1996):
// of the waiting clients, the one that has received least goes first; a new client starts at
// the level of the others. Of two clients that wait all the time, neither receives more than
// the other by more than one use of each. Deficit round robin has nearly the same bound;
// unlike it, a client with one use at a time that enters again as its use ends (Use.Swap)
// does not lose a round.
type Queue struct {
	o QueueOptions

	mu      sync.Mutex
	used    int64 // of the capacity
	waiting int
	now     int64 // virtual time: the start of the last admitted use
	clients map[string]*client
	active  []*client // with waiting uses
	began   int       // uses since clients were last swept
	seq     int
}

// QueueOptions configure a Queue.
type QueueOptions struct {
	// Capacity bounds the total size of all admitted uses; above 0.
	Capacity int64
	// Largest is the most capacity that a use takes: a larger one is charged its full size,
	// but takes only Largest. 0 means the capacity.
	Largest int64
	// Floor is the largest use that a client without any gets even if no capacity is free; 0
	// means no floor.
	Floor int64
	// MaxWaiting bounds the number of waiting uses; below 0 it is unlimited. Beyond it the
	// newest use of the client with the most waiting fails with ErrFull.
	MaxWaiting int
	// Waited is called with the time that each use waited; nil is not called.
	Waited func(time.Duration)
}

// client is a client with uses, or one that has recently received more than others.
type client struct {
	name   string
	finish int64 // virtual time at which its last use ends
	uses   int   // admitted
	held   int64
	queue  []*waiter // oldest first
}

// Use is a part of the capacity held by a client. It is used from one goroutine at a time.
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
	over chan struct{} // closed when the use is admitted or has failed
	err  error
}

// NewQueue returns an empty queue.
func NewQueue(o QueueOptions) *Queue {
	if o.Largest <= 0 || o.Largest > o.Capacity {
		o.Largest = o.Capacity
	}
	return &Queue{o: o, clients: map[string]*client{}}
}

// Enter waits until the client may have a use of a size of at least 1, and returns it, or
// ErrFull, or the error of the context. The caller must Leave it.
func (q *Queue) Enter(ctx context.Context, name string, size int64) (*Use, error) {
	u := &Use{q: q, client: name}
	return u, u.Swap(ctx, size)
}

// Swap leaves and enters again in one step, so that no client that has received more can
// enter in between. After an error the use has left.
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

// Leave returns the capacity. It may be called twice.
func (u *Use) Leave() {
	u.q.mu.Lock()
	defer u.q.mu.Unlock()
	u.q.release(u)
	u.q.pump()
}

// Waiting is the number of waiting uses, Used the capacity taken.
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

// wait adds a waiting use. The caller holds the lock, here and below.
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

// pump admits the uses that may begin, and refuses those beyond MaxWaiting.
func (q *Queue) pump() {
	for c := q.nextClient(nil); c != nil && q.used+q.sizeOf(c.queue[0]) <= q.o.Capacity; c = q.nextClient(nil) {
		q.admit(c)
	}
	floor := func(c *client) bool { return c.uses == 0 && c.queue[0].size <= q.o.Floor }
	for c := q.nextClient(floor); c != nil; c = q.nextClient(floor) {
		q.admit(c)
	}
	for q.o.MaxWaiting >= 0 && q.waiting > q.o.MaxWaiting {
		longest := slices.MaxFunc(q.active, func(a, b *client) int { return len(a.queue) - len(b.queue) })
		w := longest.queue[len(longest.queue)-1]
		q.drop(longest, w)
		w.err = ErrFull
		close(w.over)
	}
}

// sizeOf returns the capacity that a use takes.
func (q *Queue) sizeOf(w *waiter) int64 { return min(w.size, q.o.Largest) }

// start returns the virtual time at which a client's next use begins.
func (q *Queue) start(c *client) int64 { return max(q.now, c.finish) }

// nextClient returns the next client to serve among those that fit, all if fit is nil: of
// equal clients the one that holds least, then the one that came first.
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

// admit admits the first waiting use of a client.
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

// sweepEvery is the number of uses after which clients that have received no more than others
// are forgotten.
const sweepEvery = 1024

func (q *Queue) sweep() {
	q.began = 0
	for _, c := range q.clients {
		q.forget(c)
	}
}

// drop removes a waiter from the queue.
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

// withdraw removes a waiter from the queue unless it was admitted or has failed.
func (q *Queue) withdraw(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-w.over:
		return false
	default:
	}
	q.drop(q.clients[w.use.client], w)
	q.pump() // the waiter may have been the one that did not fit
	return true
}

// release returns a use's capacity.
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

// forget drops a client that no longer affects the queue: a client that has received more
// than others is remembered until they have caught up or the queue is empty.
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
