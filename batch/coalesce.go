package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"thresher/backend"
)

// Coalescer gathers concurrent searches on one Engine into shared runs, in which
// what is read of the collection is read once for all of them: dynamic batching. It
// is safe for concurrent use, and answers as Engine.Search does.
//
// While the machine has room, a search begins at once. Otherwise those that come
// gather, until there is room again, or as many queries wait as go in a run, or the
// window ends. Searches whose looks are the same make a group, which runs together,
// each query with its own goal. Others make groups of their own: a look has one
// alpha, which depends on delta and k, and what an answer promises must not depend on
// what it was batched with.
//
// A search whose context ends returns at once and disturbs no other. If it waited, or
// if others of its group do without it, its answers say that nothing looked at the
// queries. Only when nobody waits for a run any more is the run stopped, and the last
// to leave gets the best so far. Searches that mean to be stopped, for the best of a
// short time, belong to the Engine.
type Coalescer struct {
	e *Engine
	o CoalescerOptions

	mu       sync.Mutex
	queue    []*group // not begun, oldest first
	waiting  int      // searches in it
	running  int      // groups under way
	inFlight int      // their queries
	closed   bool

	calls  sync.WaitGroup // searches, shared runs and windows
	memory sync.Pool      // *gathered
}

// DefaultWindow is the window of a Coalescer without options.
const DefaultWindow = 2 * time.Millisecond

// CoalescerOptions configure a Coalescer; nil means defaults.
type CoalescerOptions struct {
	// Window is how long searches gather at most, if one more run may be under way;
	// 0 has every search go straight to the Engine.
	Window time.Duration
	// Idle is for how many queries at once there is room: while fewer are being
	// answered, searches do not wait. 0 means GOMAXPROCS, for a query alone keeps
	// one core busy; 1 suits a device that does one run after the other.
	Idle int
	// Runs is how many runs, of groups and of single searches, may be under way at
	// once without such room; 0 means 2.
	Runs int
	// MostQueries is how many queries run together; 0 means 1,024, and the Engine
	// never takes more. A search of as many runs alone.
	MostQueries int
	// MostWaiting is how many searches may wait; 0 means 1,024. Others fail with
	// ErrBusy.
	MostWaiting int
	// Observer is told of runs; nil for none. The Engine's is told of each search
	// as ever.
	Observer RunObserver
}

// RunObserver is told what a Coalescer does; its methods must be quick and safe for
// concurrent use. Searches that go straight to the Engine are not told of.
type RunObserver interface {
	// Waited is called for each search when it begins, or gives up waiting.
	Waited(time.Duration)
	// Began is called for each run, with what it answers.
	Began(searches, queries int)
}

// ErrBusy: as many searches wait as may.
var ErrBusy = errors.New("too many searches waiting")

// NewCoalescer returns a Coalescer of searches on e, which stays the caller's and
// must outlive it.
func NewCoalescer(e *Engine, o *CoalescerOptions) *Coalescer {
	c := &Coalescer{e: e, o: CoalescerOptions{Window: DefaultWindow}}
	if o != nil {
		c.o = *o
	}
	c.o.Idle = cmp.Or(max(c.o.Idle, 0), runtime.GOMAXPROCS(0))
	c.o.Runs = cmp.Or(max(c.o.Runs, 0), 2)
	c.o.MostQueries = cmp.Or(max(c.o.MostQueries, 0), 1024)
	c.o.MostWaiting = cmp.Or(max(c.o.MostWaiting, 0), 1024)
	return c
}

// Close refuses further searches and waits for those that came before, which are
// answered. The Engine stays open.
func (c *Coalescer) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.calls.Wait()
}

// Search answers req as Engine.Search does; besides its errors there is ErrBusy.
// Request.Timeout includes what the search waits, Response.Took does not.
func (c *Coalescer) Search(ctx context.Context, req Request) (*Response, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.calls.Done()
	if c.o.Window <= 0 {
		return c.e.Search(ctx, req)
	}
	e, err := c.e.current(ctx)
	if err != nil {
		return nil, err
	}
	w, err := e.work(&req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := req.limit(ctx)
	defer cancel()
	came := time.Now()
	m, err := c.join(w)
	if err != nil {
		return nil, err
	}
	// whoever is about to ask comes along: of more callers than cores, the others
	// wait for the processor, not here
	runtime.Gosched()
	c.proceed()
	return c.await(ctx, m, came)
}

// enter counts a search.
func (c *Coalescer) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return backend.ErrClosed
	}
	c.calls.Add(1)
	return nil
}

// group is searches that run together. Its members do not change while it begins.
type group struct {
	members []*member // that it is waited for by
	queries int       // theirs, once it is under way
	room    int       // for so many more queries
	due     bool      // its window has ended
	window  *time.Timer
	begun   chan struct{} // closed when nothing more is read of the members
	// of groups of several, which a goroutine of their own answers
	stop    context.CancelFunc
	done    chan struct{} // closed when the rest is there
	answers backend.Answers
	by      string
	err     error
}

// member is a search in a group.
type member struct {
	*work
	*group
	at int // of its first query in the group
}

// gathered is memory for a group's queries.
type gathered struct {
	values []float32
	goals  []backend.Goal
}

// join puts w in a group that has not begun.
func (c *Coalescer) join(w *work) (*member, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting >= c.o.MostWaiting {
		c.begin() // what lets others come along does not wait
	}
	if c.waiting >= c.o.MostWaiting {
		return nil, fmt.Errorf("%w: %d, the most there may be", ErrBusy, c.waiting)
	}
	g := c.roomFor(w)
	if g == nil {
		g = &group{room: c.size(w), begun: make(chan struct{}), done: make(chan struct{})}
		c.queue = append(c.queue, g)
		c.calls.Add(1)
		g.window = time.AfterFunc(c.o.Window, func() { c.expire(g) })
	}
	m := &member{work: w, group: g}
	g.members = append(g.members, m)
	g.room -= w.m
	c.waiting++
	return m, nil
}

// size is how many queries may run together with w's; a reference takes one after
// the other, and there is nothing to share.
func (c *Coalescer) size(w *work) int {
	if w.plan.reference != nil {
		return 0
	}
	return min(c.o.MostQueries, w.e.most(w.plan))
}

// roomFor is the latest group of searches like w if that has room, else nil, and the
// group counts as full.
func (c *Coalescer) roomFor(w *work) *group {
	for _, g := range slices.Backward(c.queue) {
		if first := g.members[0]; first.e != w.e || !first.plan.like(w.plan) {
			continue
		}
		if g.room < w.m {
			g.room = 0
			return nil
		}
		return g
	}
	return nil
}

// like reports whether the rounds of two plans are the same.
func (p *plan) like(q *plan) bool {
	return p.reference == nil && q.reference == nil && p.dense == q.dense && p.raise == q.raise && slices.Equal(p.looks, q.looks)
}

// proceed begins what may begin.
func (c *Coalescer) proceed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
}

// expire ends a group's window.
func (c *Coalescer) expire(g *group) {
	defer c.calls.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	g.due = true
	c.begin()
}

// begin has the oldest group begin while there is room, then those that shall gather
// no more. The caller holds the lock.
func (c *Coalescer) begin() {
	for {
		i := slices.IndexFunc(c.queue, func(g *group) bool {
			return c.inFlight < c.o.Idle || c.running < c.o.Runs && (g.due || g.room <= 0)
		})
		if i < 0 {
			return
		}
		g := c.queue[i]
		c.drop(g)
		c.waiting -= len(g.members)
		for _, m := range g.members {
			g.queries += m.m
		}
		c.running++
		c.inFlight += g.queries
		if len(g.members) == 1 { // searches by itself
			close(g.begun)
			continue
		}
		var ctx context.Context
		ctx, g.stop = context.WithCancel(context.Background())
		c.calls.Add(1)
		go c.run(ctx, g)
	}
}

// drop takes a group from the queue.
func (c *Coalescer) drop(g *group) {
	i := slices.Index(c.queue, g)
	c.queue = slices.Delete(c.queue, i, i+1)
	if g.window.Stop() {
		c.calls.Done()
	}
}

// end ends a group's run.
func (c *Coalescer) end(g *group) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.inFlight -= g.queries
	c.begin()
}

// await answers m, which came at a time, when its group begins.
func (c *Coalescer) await(ctx context.Context, m *member, came time.Time) (*Response, error) {
	left := false
	select {
	case <-m.begun:
	case <-ctx.Done():
		if left = c.leave(m); !left {
			<-m.begun
		}
	}
	began := time.Now()
	if o := c.o.Observer; o != nil {
		o.Waited(began.Sub(came))
	}
	switch {
	case left:
		return m.search(ctx, began) // which looks at nothing: ctx has ended
	case m.stop == nil:
		defer c.end(m.group)
		if o := c.o.Observer; o != nil {
			o.Began(1, m.m)
		}
		return m.search(ctx, began)
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		if c.leave(m) {
			return m.search(ctx, began)
		}
		<-m.done
	}
	if m.err != nil {
		return nil, m.err
	}
	answers, out := m.answers, make([]Answer, m.m)
	if answers != nil {
		answers = answers[m.at:]
	}
	m.conclude(0, out, answers, m.by, stopOf(ctx))
	return m.respond(out, time.Since(began)), nil
}

// leave takes m from its group, whose other members do without it. A group that
// begins cannot be left, nor one under way by the last: that is stopped.
func (c *Coalescer) leave(m *member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	queued := slices.Contains(c.queue, m.group)
	if !queued {
		select {
		case <-m.begun:
		default:
			return false
		}
		if len(m.members) == 1 {
			if m.stop != nil {
				m.stop()
			}
			return false
		}
	}
	i := slices.Index(m.members, m)
	m.members = slices.Delete(m.members, i, i+1)
	if !queued {
		return true
	}
	c.waiting--
	m.room += m.m
	if len(m.members) == 0 {
		c.drop(m.group)
	}
	return true
}

// run answers a group of several.
func (c *Coalescer) run(ctx context.Context, g *group) {
	defer c.calls.Done()
	defer g.stop()
	b, ok := c.memory.Get().(*gathered)
	if !ok {
		b = &gathered{}
	}
	b.values, b.goals = b.values[:0], b.goals[:0]
	for _, m := range g.members {
		m.at = len(b.goals)
		b.values, b.goals = append(b.values, m.req.Queries...), append(b.goals, m.goals...)
	}
	e, p := g.members[0].e, g.members[0].plan
	if o := c.o.Observer; o != nil {
		o.Began(len(g.members), len(b.goals))
	}
	close(g.begun)
	g.answers, g.by, g.err = e.answer(ctx, p, backend.Queries{M: len(b.goals), Dim: e.c.Dim, Data: b.values}, b.goals)
	clear(b.goals) // whose filters are the requests'
	c.memory.Put(b)
	c.end(g) // the next run need not wait until the members have their answers
	close(g.done)
}
