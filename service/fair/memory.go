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
	watched bool // a timer for evictions runs
	seq     int  // of the newest hold
}

// MemoryOptions configure a Memory. Sizes are in bytes.
type MemoryOptions struct {
	Total int64
	// Floor is how much each client may hold without it being counted against Total, so that
	// small bodies are always accepted.
	Floor int64
	// Rate is the minimum number of bytes a second, above 0: a hold that transfers less may be
	// evicted. Grace is how long a transfer may stop without falling too far behind.
	Rate  int64
	Grace time.Duration
}

// account is the memory of a client.
type account struct {
	holds   int
	free    int64 // bytes within the Floor
	counted int64 // bytes beyond it, which count against Total
}

// Hold is the memory of one body or answer. It is used from one goroutine, apart from
// Memory's own accesses.
type Hold struct {
	m      *Memory
	client string
	claim  int64  // upper bound of its bytes
	cancel func() // makes the transfer fail
	seq    int    // holds are numbered in the order of creation

	free, counted int64         // as in account
	transferring  bool          // otherwise the server works on it
	last          time.Time     // when bytes last moved, or memory was last granted
	behind        float64       // bytes by which it was behind the rate at last; never negative
	waited        time.Duration // for memory, in all
	evicted       bool
}

// growth is a request for memory that waits.
type growth struct {
	h     *Hold
	n     int64
	since time.Time
	done  chan struct{} // closed when the memory is granted
}

// NewMemory returns an unused Memory.
func NewMemory(o MemoryOptions) *Memory {
	return &Memory{o: o, holds: map[*Hold]struct{}{}, clients: map[string]*account{}}
}

// Hold returns an empty hold of at most claim bytes, whose transfer begins now. cancel must
// make the transfer fail, without blocking; it is called at most once, when the hold is
// evicted, and may be nil. The caller must release the hold.
func (m *Memory) Hold(client string, claim int64, cancel func()) *Hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seq++
	h := &Hold{m: m, client: client, claim: min(claim, m.o.Total), seq: m.seq, cancel: cancel}
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

// start begins a transfer, which is on time at first.
func (h *Hold) start() {
	h.transferring, h.behind, h.last = true, 0, time.Now()
}

// evictionInterval is the time between two searches for holds that are too slow, while a growth
// waits.
const evictionInterval = 50 * time.Millisecond

// longWait is how long a growth waits before it has precedence over newer holds that have no
// counted bytes yet: these get memory only if enough remains free for the growth.
const longWait = time.Second

// Grow adds n bytes once they are free. It fails with ErrSlow if the hold was evicted before, and
// with the error of ctx if that ends first.
func (h *Hold) Grow(ctx context.Context, n int64) error {
	m := h.m
	m.mu.Lock()
	if h.evicted {
		m.mu.Unlock()
		return ErrSlow
	}
	g := &growth{h: h, n: n, since: time.Now(), done: make(chan struct{})}
	m.waiting = append(m.waiting, g)
	m.grant()
	m.mu.Unlock()
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.stopWaiting(g) {
			m.grant()
			return ctx.Err()
		}
		return nil
	}
}

// watch starts a timer, unless one runs or no growth waits, that evicts holds that are too slow
// and then calls grant, which calls watch again. The caller holds the lock.
func (m *Memory) watch() {
	if m.watched || len(m.waiting) == 0 {
		return
	}
	m.watched = true
	time.AfterFunc(evictionInterval, func() {
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
	h.behind = max(0, h.lag(now)-float64(n))
	h.last = now
}

// lag returns the number of bytes by which the hold is behind the rate.
func (h *Hold) lag(now time.Time) float64 {
	return h.behind + float64(h.m.o.Rate)*now.Sub(h.last).Seconds()
}

// Settle ends the transfer: all bytes have arrived, and the server works on them. From then
// on, until Send, the hold is not evicted. Settle fails with ErrSlow if it was evicted before.
func (h *Hold) Settle() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.evicted {
		return ErrSlow
	}
	h.transferring = false
	h.m.grant()
	return nil
}

// Send begins the transfer of the held bytes to the client. cancel is as for Memory.Hold.
func (h *Hold) Send(cancel func()) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.cancel = cancel
	h.start()
}

// Waited returns how long the hold has waited for memory.
func (h *Hold) Waited() time.Duration {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.waited
}

// Evicted reports whether the hold was evicted.
func (h *Hold) Evicted() bool {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.evicted
}

// Release frees the memory of the hold. Further calls do nothing.
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

// Used returns the number of bytes that count against Total.
func (m *Memory) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// Waiting returns the number of growths that wait for memory.
func (m *Memory) Waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting)
}

// grant grants memory to all waiting growths for which allowed is true. The caller of this and
// of the functions below holds the lock.
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
		h.waited += now.Sub(g.since)
		close(g.done)
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

// first returns the waiting growth to grant next among those that fit: that of the client with
// the fewest counted bytes; for equal clients, of the hold with the fewest bytes still to come;
// then of the oldest hold.
func (m *Memory) first(fit func(*growth) bool) (best *growth) {
	for _, g := range m.waiting {
		if !fit(g) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(m.clients[g.h.client].counted, m.clients[best.h.client].counted),
			cmp.Compare(g.h.remaining(), best.h.remaining()), g.h.seq-best.h.seq) < 0 {
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
	if m.used+max(g.n, g.h.remaining()) > m.o.Total {
		return false
	}
	if g.h.counted > 0 {
		return true
	}
	i := slices.IndexFunc(m.waiting, func(o *growth) bool { return o != g && o.h.seq < g.h.seq && now.Sub(o.since) > longWait })
	return i < 0 || m.used+g.n+m.waiting[i].n <= m.o.Total
}

// remaining returns the number of bytes that the hold may still grow by.
func (h *Hold) remaining() int64 { return max(0, h.claim-h.counted-h.free) }

// evict evicts the slowest holds, as many as needed to complete the hold of the first waiting
// growth.
func (m *Memory) evict() {
	if len(m.waiting) == 0 {
		return
	}
	now := time.Now()
	first := m.first(func(*growth) bool { return true })
	wanted := m.used + max(first.n, first.h.remaining()) - m.o.Total
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
		return cmp.Or(cmp.Compare(b.lag(now), a.lag(now)), a.seq-b.seq)
	})
	for _, h := range slow {
		if wanted <= 0 {
			return
		}
		wanted -= h.counted
		h.evicted = true
		if h.cancel != nil {
			h.cancel()
		}
	}
}

// slow reports whether a transfer is too far behind the rate. A hold that waits for memory is not
// slow.
func (m *Memory) slow(h *Hold, now time.Time) bool {
	return h.transferring && h.lag(now) > float64(m.o.Rate)*m.o.Grace.Seconds() &&
		!slices.ContainsFunc(m.waiting, func(g *growth) bool { return g.h == h })
}
