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
// While the machine has room, a search begins at once. Otherwise searches gather until a
// run ends. Once a full run of queries waits, or the window ends, one more run may be
// under way. Searches with the same looks form a group and run together, each query with
// its own goal. Searches with other looks form other groups: a look has one alpha, which
// depends on delta and k, and an answer's promise must not depend on its company.
//
// A search whose context ends returns without disturbing the others. If its deadline
// passes during a shared run that can be left (backend.Leaver), it returns the best so
// far; members due within 1/16 of the run's elapsed time are released with it, which
// bounds interruptions. If it is waiting or cancelled, or its run cannot be left, it
// returns at once with answers that say that nothing looked at the queries. A run is
// stopped when its last member has returned.
type Coalescer struct {
	e *Engine
	o CoalescerOptions

	mu       sync.Mutex
	queue    []*searchGroup // not begun, oldest first
	waiting  int            // searches in it
	running  int            // groups under way
	inFlight int            // their queries
	closed   bool

	calls  sync.WaitGroup // searches, shared runs and windows
	memory sync.Pool      // *groupQueries
}

// DefaultWindow is the window of a Coalescer without options.
const DefaultWindow = 2 * time.Millisecond

// CoalescerOptions configure a Coalescer; nil means defaults.
type CoalescerOptions struct {
	// Window is how long searches gather at most while others run; then one run more
	// than otherwise may be under way. 0 has every search go straight to the Engine.
	Window time.Duration
	// Idle is for how many queries at once there is room: while fewer are being
	// answered, searches do not wait, nor run together. 0 means the threads of the
	// Engine's backend, for a query alone keeps one busy, and 1 where it has none: a
	// device does one run after the other.
	Idle int
	// Runs is how many runs, of groups and of single searches, may be under way
	// without such room: while one ends, and has nothing to do for some cores, another
	// has. 0 means 2. A group that is full, or whose window has ended, need not wait
	// for one more.
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
	c.o.Idle = cmp.Or(max(c.o.Idle, 0), e.threads(), 1)
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
	w, err := e.newWork(&req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := req.withTimeout(ctx)
	defer cancel()
	return w.inParts(ctx, func(lo, hi int, out []Answer) (time.Duration, error) {
		return c.answerPart(ctx, w, lo, hi, out)
	})
}

// answerPart answers queries lo..hi-1 of w, possibly in a shared run, and returns how long
// that took from its beginning.
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

// countSearch counts a search that Close waits for.
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
	members    []*member // those still waiting for it
	queries    int       // theirs, once it is under way
	room       int       // for so many more queries
	windowOver bool      // no longer waits for more members
	window     *time.Timer
	begun      chan struct{} // closed when nothing more is read of the members
	// The rest belongs to groups of several members, each run by its own goroutine.
	c      *Coalescer
	stop   context.CancelFunc
	shared []*member // those that the run began with and has not released
	leaver bool      // a member released at its deadline has the best so far
}

// member is a search in a group, or a part of one.
type member struct {
	*work
	*searchGroup
	lo, n     int       // its queries: lo, lo+1, .. of the work
	deadline  time.Time // its deadline; zero for none
	abandoned bool      // nobody waits for it
	// The rest belongs to groups of several members.
	offset   int           // its first query in the group
	done     chan struct{} // closed when the fields below are set
	answers  backend.Answers
	by       string
	released bool // by the run, before its end
	stopped  Stop // why it was released
	err      error
}

// join puts queries lo..hi-1 of w in a group that has not begun.
func (c *Coalescer) join(ctx context.Context, w *work, lo, hi int) (*member, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting >= c.o.MostWaiting {
		c.beginGroups() // those that may begin do not count as waiting
	}
	if c.waiting >= c.o.MostWaiting {
		return nil, fmt.Errorf("%w: %d, the most there may be", ErrBusy, c.waiting)
	}
	g := c.roomFor(w, hi-lo)
	if g == nil {
		g = &searchGroup{room: c.mostTogether(w), begun: make(chan struct{}), c: c}
		c.queue = append(c.queue, g)
	}
	m := &member{work: w, searchGroup: g, lo: lo, n: hi - lo}
	m.deadline, _ = ctx.Deadline()
	g.members = append(g.members, m)
	g.room -= m.n
	c.waiting++
	return m, nil
}

// mostTogether is how many queries may run together with w's; 0 for references and looks
// at float32 coordinates, which share no reads.
func (c *Coalescer) mostTogether(w *work) int {
	if w.plan.reference != nil || w.plan.perArm {
		return 0
	}
	return min(c.o.MostQueries, w.e.mostQueries(w.plan))
}

// roomFor returns the latest group with w's looks if it has room for n queries. Otherwise
// it returns nil and marks that group as full.
func (c *Coalescer) roomFor(w *work, n int) *searchGroup {
	for _, g := range slices.Backward(c.queue) {
		if first := g.members[0]; first.e != w.e || !first.plan.sameRounds(w.plan) {
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

// beginOrWait begins the groups that may begin, and opens the window of m's if it waits.
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
		if len(g.members) == 1 || c.inFlight+n <= c.o.Idle { // each on its caller's goroutine
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

// endRun counts a run of so many queries as ended and begins groups that now may.
func (c *Coalescer) endRun(queries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.inFlight -= queries
	c.beginGroups()
}

// removeMember removes m from those who wait. The caller holds c.mu.
func (g *searchGroup) removeMember(m *member) {
	m.abandoned = true
	if i := slices.Index(g.members, m); i >= 0 {
		g.members = slices.Delete(g.members, i, i+1)
	}
}

// await answers m, which joined at the time given, once its group begins, and returns how
// long that took.
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

// leaveGroup removes m from its group and reports whether it did. It does not if the group is
// about to begin, if m is the last member of a run, which is then stopped, or if m is due
// in a run that can be left: that releases m with the best so far.
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
