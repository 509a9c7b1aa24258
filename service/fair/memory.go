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
// for room, holds that move more slowly than Rate give way, the slowest first. Those that
// do keep the pace cannot block each other: none grows where the rest would not be
// enough for some order in which all that hold something come to their end (the banker's
// rule, Dijkstra 1965).
type Memory struct {
	o MemoryOptions

	mu      sync.Mutex
	used    int64
	claimed int64 // by all holds
	holds   map[*Hold]struct{}
	clients map[string]*account
	waiting []*growth // whose client has least first, then the oldest hold
	seq     int
}

// MemoryOptions configure a Memory. Sizes are in bytes.
type MemoryOptions struct {
	Total int64
	// Floor is how much each client may hold that is not counted: small bodies come in,
	// whatever else does.
	Floor int64
	// Rate is how many bytes a second a hold must move not to give way, and Grace how
	// long it may be slower, or stand still.
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
	moving        bool // it comes or goes, else it is the server's turn
	since         time.Time
	last          time.Time // when something moved
	moved         int64
	waited        time.Duration // since then, for room
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
	m.claimed += h.claim
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
	h.moving, h.moved, h.waited = true, 0, 0
	h.since = time.Now()
	h.last = h.since
}

// patience is how often who waits for room looks for holds that have become too slow.
const patience = 50 * time.Millisecond

// overtaken is how long a growth waits before holds without any bytes wait behind it.
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
	default:
	}
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for {
		select {
		case <-g.over:
			return g.err
		case <-tick.C:
			m.mu.Lock()
			m.evict()
			m.grant()
			m.mu.Unlock()
		case <-ctx.Done():
			m.mu.Lock()
			defer m.mu.Unlock()
			if i := slices.Index(m.waiting, g); i >= 0 {
				m.waiting = slices.Delete(m.waiting, i, i+1)
				m.grant()
				return ctx.Err()
			}
			return g.err
		}
	}
}

// Moved notes that n bytes came or went.
func (h *Hold) Moved(n int64) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.moved += n
	if n > 0 {
		h.last = time.Now()
	}
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

// Waited is how long the hold has waited for room since it moves.
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
	m.claimed -= h.claim
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
	slices.SortStableFunc(m.waiting, func(a, b *growth) int {
		return cmp.Or(cmp.Compare(m.clients[a.h.client].counted, m.clients[b.h.client].counted), a.h.seq-b.h.seq)
	})
	late := time.Now().Add(-overtaken)
	for i := 0; i < len(m.waiting); {
		g := m.waiting[i]
		if !m.allowed(g, late) {
			i++
			continue
		}
		m.waiting = slices.Delete(m.waiting, i, i+1)
		h, a := g.h, m.clients[g.h.client]
		if a.free+g.n <= m.o.Floor {
			a.free += g.n
			h.free += g.n
		} else {
			a.counted += g.n
			h.counted += g.n
			m.used += g.n
		}
		h.last = time.Now()
		h.waited += h.last.Sub(g.came)
		if more := h.free + h.counted - h.claim; more > 0 {
			h.claim += more
			m.claimed += more
		}
		close(g.over)
		i = 0 // its client has more now
	}
}

// allowed reports whether a growth may be granted: within the floor always, else where
// there is room for it and for an end of all others.
func (m *Memory) allowed(g *growth, late time.Time) bool {
	if m.clients[g.h.client].free+g.n <= m.o.Floor {
		return true
	}
	if m.claimed <= m.o.Total { // all of all holds
		return m.used+g.n <= m.o.Total
	}
	if m.used+g.n > m.o.Total {
		return false
	}
	if g.h.counted == 0 && slices.ContainsFunc(m.waiting, func(o *growth) bool { return o != g && o.h.seq < g.h.seq && o.came.Before(late) }) {
		return false
	}
	return m.safe(g)
}

// safe is the banker's rule: after the growth there is an order in which all that hold
// something get what they may still need, each once those before it have ended.
func (m *Memory) safe(g *growth) bool {
	room := m.o.Total - m.used - g.n
	type need struct{ more, held int64 }
	var needs []need
	for h := range m.holds {
		held := h.counted
		if h == g.h {
			held += g.n
		}
		switch {
		case held == 0:
		case !h.moving || h.evicted:
			room += held
		default:
			needs = append(needs, need{max(0, h.claim-held-h.free), held})
		}
	}
	slices.SortFunc(needs, func(a, b need) int { return cmp.Compare(a.more, b.more) })
	for _, n := range needs {
		if n.more > room {
			return false
		}
		room += n.held
	}
	return true
}

// evict has the slowest give way, until what they hold is enough for the first that waits.
func (m *Memory) evict() {
	if len(m.waiting) == 0 {
		return
	}
	now := time.Now()
	wanted := m.used + m.waiting[0].n - m.o.Total
	if wanted <= 0 { // it is for the banker's rule that it waits: one less is enough
		wanted = 1
	}
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
		return cmp.Or(cmp.Compare(a.pace(now), b.pace(now)), a.last.Compare(b.last), a.seq-b.seq)
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
	if !h.moving || now.Sub(h.since)-h.waited <= m.o.Grace {
		return false
	}
	if slices.ContainsFunc(m.waiting, func(g *growth) bool { return g.h == h }) {
		return false
	}
	return now.Sub(h.last) > m.o.Grace || h.pace(now) < float64(m.o.Rate)
}

// pace is how many bytes a second have moved.
func (h *Hold) pace(now time.Time) float64 {
	return float64(h.moved) / max(1e-9, (now.Sub(h.since)-h.waited).Seconds())
}
