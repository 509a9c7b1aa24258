package fair

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrSlow says that a transfer was evicted because it was too slow while others waited for
// its memory.
var ErrSlow = errors.New("too slow while others wait for memory")

// Memory shares a number of bytes among bodies and answers that are transferred over
// connections. Each Hold takes memory for the bytes that have arrived, not for those
// announced.
//
// While memory is free, a hold may grow as slowly as it likes. Once a growth waits for
// memory, holds that move more slowly than Rate are evicted, those furthest behind first; a
// transfer that stops falls behind from that moment, however fast it was before. Holds that
// keep the rate cannot deadlock: a hold grows only while the free memory suffices for all of
// its remaining bytes. So the hold that grew last can complete; then as much is free as when
// the one before it grew, and so on (the banker's algorithm).
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
	// Floor is the memory of each client that is not counted, so that small bodies are always
	// accepted.
	Floor int64
	// Rate is the number of bytes a second below which a hold may be evicted, above 0, and
	// Grace how long it may stand still.
	Rate  int64
	Grace time.Duration
}

// account is the memory of a client.
type account struct {
	holds         int
	free, counted int64
}

// Hold is the memory of one body or answer. It is used from one goroutine, apart from
// Memory's own accesses.
type Hold struct {
	m      *Memory
	client string
	claim  int64 // upper bound of its bytes
	give   func()
	seq    int

	free, counted int64
	moving        bool      // it is being transferred; otherwise the server works on it
	last          time.Time // when bytes last moved, or memory was last free
	behind        float64   // bytes by which it was behind the rate then; never negative
	waited        time.Duration
	evicted       bool
}

// growth is a request for memory that waits.
type growth struct {
	h    *Hold
	n    int64
	came time.Time
	over chan struct{}
	err  error
}

// NewMemory returns an unused Memory.
func NewMemory(o MemoryOptions) *Memory {
	return &Memory{o: o, holds: map[*Hold]struct{}{}, clients: map[string]*account{}}
}

// Hold returns an empty hold of at most claim bytes, whose transfer begins now. give, which
// must be quick, makes the transfer fail; it is called at most once, when the hold is
// evicted. The caller must release the hold.
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

// patience is the interval at which, while a growth waits, holds are checked for being too
// slow.
const patience = 50 * time.Millisecond

// overtaken is how long a growth waits before new holds without any bytes must leave it the
// free memory.
const overtaken = time.Second

// Grow adds n bytes once they are free. It fails with ErrSlow if the hold is evicted, and
// with the error of ctx.
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

// watch evicts holds that are too slow, periodically while a growth waits. The caller holds
// the lock.
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

// Moved records that n bytes were transferred.
func (h *Hold) Moved(n int64) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	now := time.Now()
	h.behind = max(0, h.late(now)-float64(n))
	h.last = now
}

// late returns the number of bytes by which the hold is behind the rate.
func (h *Hold) late(now time.Time) float64 {
	return h.behind + float64(h.m.o.Rate)*now.Sub(h.last).Seconds()
}

// Settle ends the transfer: all bytes have arrived, and the server works on them. From then
// on the hold is not evicted. It fails with ErrSlow if the hold was evicted already.
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

// Send begins the transfer of the held bytes to the client. give is as for Memory.Hold.
func (h *Hold) Send(give func()) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.give = give
	h.start()
}

// Waited returns how long the hold has waited for memory.
func (h *Hold) Waited() time.Duration {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.waited
}

// Slow reports whether the hold was evicted.
func (h *Hold) Slow() bool {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.evicted
}

// Release returns the memory. It may be called twice.
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

// Used is the number of bytes taken, without floors, and Waiting the number of growths that
// wait.
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

// grant grants memory to all waiting growths that may have it. The caller holds the lock,
// here and below.
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

// stopWaiting removes a growth from the waiting ones, and reports whether it was waiting.
func (m *Memory) stopWaiting(g *growth) bool {
	i := slices.Index(m.waiting, g)
	if i >= 0 {
		m.waiting = slices.Delete(m.waiting, i, i+1)
	}
	return i >= 0
}

// first returns the growth to grant among those that fit: of the client that holds least,
// then the one that lacks least, then the oldest.
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

// allowed reports whether a growth may be granted: always within the floor, otherwise if its
// memory is free and all other holds can still complete.
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

// lacks returns the number of bytes that the hold may still grow by.
func (h *Hold) lacks() int64 { return max(0, h.claim-h.counted-h.free) }

// evict evicts the slowest holds until their memory suffices for the first waiting growth.
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

// slow reports whether a hold moves too slowly. Time spent waiting for memory is not counted.
func (m *Memory) slow(h *Hold, now time.Time) bool {
	return h.moving && h.late(now) > float64(m.o.Rate)*m.o.Grace.Seconds() &&
		!slices.ContainsFunc(m.waiting, func(g *growth) bool { return g.h == h })
}
