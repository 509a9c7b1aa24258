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

// Coalescer combines concurrent searches on one Engine into shared runs, each of which
// reads the collection once for all its searches: dynamic batching. It is safe for
// concurrent use, and its answers are those of Engine.Search.
//
// While threads are idle, a search begins at once. Otherwise searches wait until a run
// ends. When a group is full or its window ends, one more run may be active. Searches
// with the same looks form a group and run together, each query with its own goal. Others
// form groups of their own: a look has one alpha, which depends on delta and k, and the
// guarantee of an answer must not depend on the other searches.
//
// A search whose context ends returns without affecting the others. If its deadline
// passes during a shared run that can be left (backend.Leaver), it returns the best so
// far; members due within 1/16 of the run's elapsed time are released with it, which
// bounds interruptions. If it is waiting or cancelled, or its run cannot be left, it
// returns at once with empty answers whose open bound comes from the norms. A run is
// stopped when its last member has returned.
type Coalescer struct {
	e *Engine
	o CoalescerOptions

	mu       sync.Mutex
	queue    []*searchGroup // groups that have not begun, oldest first
	waiting  int            // searches in queue
	running  int            // active runs
	inFlight int            // queries of the active runs
	closed   bool

	calls  sync.WaitGroup // searches, shared runs and windows
	memory sync.Pool      // *groupQueries
}

// DefaultWindow is the window of a Coalescer without options.
const DefaultWindow = 2 * time.Millisecond

// CoalescerOptions configure a Coalescer; nil means defaults.
type CoalescerOptions struct {
	// Window bounds how long a group waits for more searches while others run; when it
	// ends, one run more than Runs may be active. 0 disables sharing: every search goes
	// to the Engine directly.
	Window time.Duration
	// Idle is a number of queries: while fewer are being answered, searches neither wait
	// nor share runs. 0 means the number of threads of the Engine's backend, because a
	// single query occupies one thread; 1 for a GPU, which does one run after the other.
	Idle int
	// Runs is how many runs, of groups and of single searches, may be active once Idle
	// queries are being answered: while one run ends and leaves cores idle, another uses
	// them. 0 means 2. A group that is full, or whose window has ended, may be one more.
	Runs int
	// MaxQueries bounds the queries of a shared run; 0 means 1,024, which is also the
	// Engine's limit. A search of that many queries runs alone.
	MaxQueries int
	// MaxWaiting bounds the searches that wait; 0 means 1,024. More fail with ErrBusy.
	MaxWaiting int
	// Observer is told of runs; nil means none. The Engine's observer is still told of
	// each search.
	Observer RunObserver
}

// RunObserver is told what a Coalescer does; its methods must be quick and safe for
// concurrent use. Searches that go to the Engine directly are not reported.
type RunObserver interface {
	// Waited is called for each search when it begins or stops waiting.
	Waited(time.Duration)
	// Began is called for each run, with the searches and queries that it answers.
	Began(searches, queries int)
}

// ErrBusy: CoalescerOptions.MaxWaiting searches are waiting.
var ErrBusy = errors.New("too many searches waiting")

// NewCoalescer returns a Coalescer of searches on e. The caller keeps e, which must outlive
// the Coalescer.
func NewCoalescer(e *Engine, o *CoalescerOptions) *Coalescer {
	c := &Coalescer{e: e, o: CoalescerOptions{Window: DefaultWindow}}
	if o != nil {
		c.o = *o
	}
	c.o.Idle = cmp.Or(max(c.o.Idle, 0), e.threads(), 1)
	c.o.Runs = cmp.Or(max(c.o.Runs, 0), 2)
	c.o.MaxQueries = cmp.Or(max(c.o.MaxQueries, 0), 1024)
	c.o.MaxWaiting = cmp.Or(max(c.o.MaxWaiting, 0), 1024)
	return c
}

// Close refuses further searches and waits until those in progress are answered. The
// Engine stays open.
func (c *Coalescer) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.calls.Wait()
}

// Search answers req as Engine.Search does, with a partial response and an error if ctx ends. It fails with ErrBusy if too many searches
// wait. Request.Deadline includes the wait, Response.Took does not.
func (c *Coalescer) Search(ctx context.Context, req Request) (*Response, error) {
	if err := c.countSearch(); err != nil {
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
	return e.searchApart(ctx, &req, Within{}, nil, func(ctx context.Context, w *work) (*Response, error) {
		return w.inParts(ctx, func(lo, hi int, out []Answer) (time.Duration, error) {
			return c.answerPart(ctx, w, lo, hi, out)
		})
	})
}

// answerPart answers queries lo..hi-1 of w, possibly in a shared run, and returns how long
// the run took, without the wait.
func (c *Coalescer) answerPart(ctx context.Context, w *work, lo, hi int, out []Answer) (time.Duration, error) {
	joined := time.Now()
	m, err := c.join(ctx, w, lo, hi)
	if err != nil {
		return 0, err
	}
	// With more callers than cores, others are runnable and about to join.
	runtime.Gosched()
	c.beginOrWait(m)
	return c.await(ctx, m, joined, out)
}

// countSearch adds a search to those that Close waits for.
func (c *Coalescer) countSearch() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return backend.ErrClosed
	}
	c.calls.Add(1)
	return nil
}

// searchGroup is searches that run together. Its members do not change while it begins.
type searchGroup struct {
	members    []*member // those whose callers wait for an answer
	queries    int       // of the members when the group began
	room       int       // how many more queries may join
	windowOver bool      // the window has ended
	window     *time.Timer
	begun      chan struct{} // closed when the run has copied the members' queries
	// The rest belongs to groups of several members, each run by its own goroutine.
	c      *Coalescer
	stop   context.CancelFunc
	shared []*member // those that the run began with and has not released
	leaver bool      // the run is a backend.Leaver: it releases members at their deadlines
}

// member is one part of a search in a group; small searches have one part.
type member struct {
	*work
	*searchGroup
	lo, n     int       // queries lo..lo+n-1 of the work
	deadline  time.Time // zero if there is none
	abandoned bool      // the caller has returned
	// The rest belongs to groups of several members.
	offset   int           // index of its first query in the run
	done     chan struct{} // closed when the fields below are set
	answers  backend.Answers
	by       string // name of the backend
	released bool   // released before the end of the run
	stopped  Stop   // why it was released
	err      error
}

// join adds queries lo..hi-1 of w to a group that has not begun.
func (c *Coalescer) join(ctx context.Context, w *work, lo, hi int) (*member, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting >= c.o.MaxWaiting {
		c.beginGroups() // groups that may begin do not count as waiting
	}
	if c.waiting >= c.o.MaxWaiting {
		return nil, fmt.Errorf("%w: %d, the most there may be", ErrBusy, c.waiting)
	}
	g := c.roomFor(w, hi-lo)
	if g == nil {
		g = &searchGroup{room: c.maxTogether(w), begun: make(chan struct{}), c: c}
		c.queue = append(c.queue, g)
	}
	m := &member{work: w, searchGroup: g, lo: lo, n: hi - lo}
	m.deadline, _ = ctx.Deadline()
	g.members = append(g.members, m)
	g.room -= m.n
	c.waiting++
	return m, nil
}

// maxTogether bounds the queries of a run with w; 0 for references and looks at float32
// coordinates, which share no reads.
func (c *Coalescer) maxTogether(w *work) int {
	if w.strategy.reference != nil || w.strategy.perArm {
		return 0
	}
	return w.together(c.o.MaxQueries)
}

// roomFor returns the latest group with w's looks if it has room for n queries. Otherwise
// it returns nil and marks that group as full.
func (c *Coalescer) roomFor(w *work, n int) *searchGroup {
	for _, g := range slices.Backward(c.queue) {
		if first := g.members[0]; first.e != w.e || !first.strategy.sameRounds(w.strategy) {
			continue
		}
		if g.room < n {
			g.room = 0
			return nil
		}
		return g
	}
	return nil
}

// beginOrWait begins the groups that may begin, and starts the window of m's group if that
// still waits.
func (c *Coalescer) beginOrWait(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beginGroups()
	if g := m.searchGroup; g.window == nil && slices.Contains(c.queue, g) {
		c.calls.Add(1)
		g.window = time.AfterFunc(c.o.Window, func() { c.endWindow(g) })
	}
}

// endWindow ends the window of g.
func (c *Coalescer) endWindow(g *searchGroup) {
	defer c.calls.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	g.windowOver = true
	c.beginGroups()
}

// beginGroups begins the groups that may begin, oldest first. The caller holds c.mu.
func (c *Coalescer) beginGroups() {
	for {
		i := slices.IndexFunc(c.queue, c.mayBegin)
		if i < 0 {
			return
		}
		g := c.queue[i]
		c.dequeue(g)
		c.waiting -= len(g.members)
		n := 0
		for _, m := range g.members {
			n += m.n
		}
		if len(g.members) == 1 || c.inFlight+n <= c.o.Idle { // each runs on its caller's goroutine
			c.running += len(g.members)
			c.inFlight += n
			close(g.begun)
			continue
		}
		g.queries = n
		c.running++
		c.inFlight += n
		var ctx context.Context
		ctx, g.stop = context.WithCancel(context.Background())
		c.calls.Add(1)
		go c.runGroup(ctx, g)
	}
}

// mayBegin reports whether a group may begin. The caller holds c.mu.
func (c *Coalescer) mayBegin(g *searchGroup) bool {
	runs := c.o.Runs
	if g.windowOver || g.room <= 0 {
		runs++
	}
	return c.inFlight < c.o.Idle || c.running < runs
}

// dequeue removes a group from the queue. The caller holds c.mu.
func (c *Coalescer) dequeue(g *searchGroup) {
	i := slices.Index(c.queue, g)
	c.queue = slices.Delete(c.queue, i, i+1)
	if g.window != nil && g.window.Stop() {
		c.calls.Done()
	}
}

// endRun ends the count of a run of the given queries and begins groups that now may begin.
func (c *Coalescer) endRun(queries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.inFlight -= queries
	c.beginGroups()
}

// removeMember removes m, whose caller returns. The Coalescer's mu is held.
func (g *searchGroup) removeMember(m *member) {
	m.abandoned = true
	if i := slices.Index(g.members, m); i >= 0 {
		g.members = slices.Delete(g.members, i, i+1)
	}
}

// await writes m's answers to out once its group has run, or ctx has ended, and returns how
// long the run took. joined is when m joined the group.
func (c *Coalescer) await(ctx context.Context, m *member, joined time.Time, out []Answer) (time.Duration, error) {
	left := false
	select {
	case <-m.begun:
	case <-ctx.Done():
		if left = c.leaveGroup(m, stopOf(ctx)); !left {
			<-m.begun
		}
	}
	began := time.Now()
	if o := c.o.Observer; o != nil {
		o.Waited(began.Sub(joined))
	}
	switch {
	case left:
		m.setAnswers(m.lo, out, nil, "", stopOf(ctx))
		return 0, nil
	case m.stop == nil:
		defer c.endRun(m.n)
		if o := c.o.Observer; o != nil {
			o.Began(1, m.n)
		}
		if ctx.Err() != nil {
			m.setAnswers(m.lo, out, nil, "", stopOf(ctx))
			return 0, nil
		}
		err := m.e.answerPart(ctx, m.work, m.lo, m.lo+m.n, out)
		return time.Since(began), err
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		if c.leaveGroup(m, stopOf(ctx)) {
			m.setAnswers(m.lo, out, nil, "", stopOf(ctx))
			return time.Since(began), nil
		}
		<-m.done
	}
	if m.err != nil {
		return 0, m.err
	}
	m.setAnswers(m.lo, out, m.answers, m.by, cmp.Or(m.stopped, stopOf(ctx)))
	return time.Since(began), nil
}

// leaveGroup removes m from its group and reports whether it did. It does not if the group
// is about to begin; if m is the last member of a run, which is then stopped; or if m has
// reached its deadline in a run that releases it with the best so far.
func (c *Coalescer) leaveGroup(m *member, why Stop) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	queued := slices.Contains(c.queue, m.searchGroup)
	if !queued {
		select {
		case <-m.begun:
		default:
			return false
		}
		if m.stop == nil || m.leaver && why == Deadline {
			return false
		}
		if len(m.members) == 1 {
			m.stop()
			return false
		}
	}
	m.removeMember(m)
	if !queued {
		return true
	}
	c.waiting--
	m.room += m.n
	if len(m.members) == 0 {
		c.dequeue(m.searchGroup)
	}
	return true
}
