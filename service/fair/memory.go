package fair

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrSlow says that what came or went too slowly had to give way: others waited for its
// memory.
var ErrSlow = errors.New("too slow while others wait for memory")

// Memory shares a number of bytes among what comes over connections, or goes, in pieces:
// each Hold takes as much as has come, not what was announced.
//
// While there is room a hold may grow as slowly as it likes. Once something has to wait
// for room, holds that move more slowly than Rate give way, first those that are furthest
// behind it: what was fast before and stands still is as far behind as it stands. Those that
// do keep the pace cannot block each other: a hold grows only while what is free would do
// for all that it may still come to. So the one that grew last can come to its end; then
// there is as much free as when the one before it grew, and so on (a banker's rule).
type Memory struct {
	o MemoryOptions

	mu      sync.Mutex
	used    int64
	holds   map[*Hold]struct{}
	clients map[string]*account
	waiting []*growth
	watched bool
	seq     int
}

// MemoryOptions configure a Memory. Sizes are in bytes.
type MemoryOptions struct {
	Total int64
	// Floor is how much each client may hold that is not counted: small bodies come in,
	// whatever else does.
	Floor int64
	// Rate is how many bytes a second a hold must move not to give way, above 0, and Grace
	// how long it may stand still.
	Rate  int64
	Grace time.Duration
}

// account is what a client holds.
type account struct {
	holds         int
	free, counted int64
}

// Hold is the memory of one body or answer. It is used from one goroutine, but for what
// Memory itself does.
type Hold struct {
	m      *Memory
	client string
	claim  int64 // the most that it comes to
	give   func()
	seq    int

	free, counted int64
	moving        bool      // it comes or goes, else it is the server's turn
	last          time.Time // when something moved, or there was room again
	behind        float64   // bytes that were missing then to the pace; never ahead of it
	waited        time.Duration
	evicted       bool
}

// growth is what waits for room.
type growth struct {
	h    *Hold
	n    int64
	came time.Time
	over chan struct{}
	err  error
}

// NewMemory returns a Memory of which nothing is held.
func NewMemory(o MemoryOptions) *Memory {
	return &Memory{o: o, holds: map[*Hold]struct{}{}, clients: map[string]*account{}}
}

// Hold returns a hold of nothing yet, which comes to claim bytes at most, and moves from
// now on. give, which must be quick, has what moves fail soon; it is called at most once,
// when the hold is too slow. The caller must release the hold.
func (m *Memory) Hold(client string, claim int64, give func()) *Hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seq++
	h := &Hold{m: m, client: client, claim: min(claim, m.o.Total), seq: m.seq, give: give}
	h.start()
	m.holds[h] = struct{}{}
	a := m.clients[client]
	if a == nil {
		a = &account{}
		m.clients[client] = a
	}
	a.holds++
	return h
}

func (h *Hold) start() {
	h.moving, h.behind, h.last = true, 0, time.Now()
}

// patience is how often, while something waits for room, holds are looked for that have
// become too slow.
const patience = 50 * time.Millisecond

// overtaken is how long a growth waits before holds without any bytes leave what it wants.
const overtaken = time.Second

// Grow takes n more bytes, once there is room. It fails with ErrSlow if the hold has to
// give way, and with the error of ctx.
func (h *Hold) Grow(ctx context.Context, n int64) error {
	m := h.m
	m.mu.Lock()
	if h.evicted {
		m.mu.Unlock()
		return ErrSlow
	}
	g := &growth{h: h, n: n, came: time.Now(), over: make(chan struct{})}
	m.waiting = append(m.waiting, g)
	m.grant()
	m.mu.Unlock()
	select {
	case <-g.over:
		return g.err
	case <-ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.stopWaiting(g) {
			m.grant()
			return ctx.Err()
		}
		return g.err
	}
}

// watch looks for holds that have become too slow, now and then while something waits.
// The caller holds the lock.
func (m *Memory) watch() {
	if m.watched || len(m.waiting) == 0 {
		return
	}
	m.watched = true
	time.AfterFunc(patience, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.watched = false
		m.evict()
		m.grant()
	})
}

// Moved notes that n bytes came or went.
func (h *Hold) Moved(n int64) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	now := time.Now()
	h.behind = max(0, h.late(now)-float64(n))
	h.last = now
}

// late is how many bytes are missing to the pace.
func (h *Hold) late(now time.Time) float64 {
	return h.behind + float64(h.m.o.Rate)*now.Sub(h.last).Seconds()
}

// Settle ends the moving: all is there, and the server's turn. From then on the hold does
// not give way. It fails with ErrSlow if it has already.
func (h *Hold) Settle() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.evicted {
		return ErrSlow
	}
	h.moving = false
	h.m.grant()
	return nil
}

// Send begins a moving: what is held goes. give is as for Memory.Hold.
func (h *Hold) Send(give func()) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.give = give
	h.start()
}

// Waited is how long the hold has waited for room.
func (h *Hold) Waited() time.Duration {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.waited
}

// Slow reports whether the hold had to give way.
func (h *Hold) Slow() bool {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.evicted
}

// Release gives the memory back. Releasing twice is allowed.
func (h *Hold) Release() {
	m := h.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.holds[h]; !ok {
		return
	}
	delete(m.holds, h)
	a := m.clients[h.client]
	m.used -= h.counted
	a.free -= h.free
	a.counted -= h.counted
	if a.holds--; a.holds == 0 {
		delete(m.clients, h.client)
	}
	m.grant()
}

// Used is how many bytes are taken, floors aside, and Waiting how many wait for some.
func (m *Memory) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

func (m *Memory) Waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting)
}

// grant gives room to all that wait and may have it. The caller holds the lock, here and
// below.
func (m *Memory) grant() {
	now := time.Now()
	for {
		g := m.first(func(g *growth) bool { return m.allowed(g, now) })
		if g == nil {
			break
		}
		m.stopWaiting(g)
		h, a := g.h, m.clients[g.h.client]
		if a.free+g.n <= m.o.Floor {
			a.free += g.n
			h.free += g.n
		} else {
			a.counted += g.n
			h.counted += g.n
			m.used += g.n
		}
		h.last = now
		h.waited += now.Sub(g.came)
		close(g.over)
	}
	m.watch()
}

// stopWaiting takes a growth from those that wait, and reports whether it was there.
func (m *Memory) stopWaiting(g *growth) bool {
	i := slices.Index(m.waiting, g)
	if i >= 0 {
		m.waiting = slices.Delete(m.waiting, i, i+1)
	}
	return i >= 0
}

// first is whose turn it is of those that fit: whose client has least, then what lacks
// least, then the oldest.
func (m *Memory) first(fit func(*growth) bool) (best *growth) {
	for _, g := range m.waiting {
		if !fit(g) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(m.clients[g.h.client].counted, m.clients[best.h.client].counted),
			cmp.Compare(g.h.lacks(), best.h.lacks()), g.h.seq-best.h.seq) < 0 {
			best = g
		}
	}
	return best
}

// allowed reports whether a growth may be granted: within the floor always, else where
// there is room for it and for an end of all others.
func (m *Memory) allowed(g *growth, now time.Time) bool {
	if m.clients[g.h.client].free+g.n <= m.o.Floor {
		return true
	}
	if m.used+max(g.n, g.h.lacks()) > m.o.Total {
		return false
	}
	if g.h.counted > 0 {
		return true
	}
	i := slices.IndexFunc(m.waiting, func(o *growth) bool { return o != g && o.h.seq < g.h.seq && now.Sub(o.came) > overtaken })
	return i < 0 || m.used+g.n+m.waiting[i].n <= m.o.Total
}

// lacks is how much more the hold may come to.
func (h *Hold) lacks() int64 { return max(0, h.claim-h.counted-h.free) }

// evict has the slowest give way, until what they hold is enough for the first that waits.
func (m *Memory) evict() {
	if len(m.waiting) == 0 {
		return
	}
	now := time.Now()
	first := m.first(func(*growth) bool { return true })
	wanted := m.used + max(first.n, first.h.lacks()) - m.o.Total
	var slow []*Hold
	for h := range m.holds {
		switch {
		case h.evicted:
			wanted -= h.counted
		case h.counted > 0 && m.slow(h, now):
			slow = append(slow, h)
		}
	}
	slices.SortFunc(slow, func(a, b *Hold) int {
		return cmp.Or(cmp.Compare(b.late(now), a.late(now)), a.seq-b.seq)
	})
	for _, h := range slow {
		if wanted <= 0 {
			return
		}
		wanted -= h.counted
		h.evicted = true
		if h.give != nil {
			h.give()
		}
	}
}

// slow reports whether a hold moves too slowly. Waiting for room is not its fault.
func (m *Memory) slow(h *Hold, now time.Time) bool {
	return h.moving && h.late(now) > float64(m.o.Rate)*m.o.Grace.Seconds() &&
		!slices.ContainsFunc(m.waiting, func(g *growth) bool { return g.h == h })
}
