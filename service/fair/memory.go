package fair

import (
	"cmp"
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
// transfer that stops falls behind from that moment, however fast it was before. A client that
// holds memory begins a further hold only if afterwards a third of what it holds is free
// (dynamic thresholds: Choudhury, Hahne 1998), so that others find memory even if its holds keep
// the rate. Holds that keep the rate cannot deadlock: a hold grows only while the free memory suffices for all of
// its remaining bytes. So the hold that grew last can complete; then as much is free as when
// the one before it grew, and so on (the banker's algorithm).
type Memory struct {
	o MemoryOptions

	mu      sync.Mutex
	used    int64
	large   int64 // of used, by large holds
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
	// Large is the claim above which a hold is large. A quarter of Total is kept free of large
	// holds, so that others do not wait behind them; one that needs more than three quarters
	// waits until it is the only large one. 0 means that no hold is large.
	Large int64
}

// account is the memory of a client.
type account struct {
	holds   int
	free    int64 // bytes within the Floor
	counted int64 // bytes beyond it, which count against Total
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

// longWait is how long a growth waits before it has precedence over newer holds that have no
// counted bytes yet: these get memory only if enough remains free for the growth.
const longWait = time.Second

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
			m.count(h, g.n)
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

// count adds n counted bytes of a hold, or subtracts them.
func (m *Memory) count(h *Hold, n int64) {
	m.used += n
	if m.isLarge(h) {
		m.large += n
	}
}

func (m *Memory) isLarge(h *Hold) bool { return m.o.Large > 0 && h.claim > m.o.Large }

// maxLarge is the memory that large holds may take together, unless there is only one.
func (m *Memory) maxLarge() int64 { return m.o.Total - m.o.Total/4 }

// levels are the counted bytes in use: all, those of large holds, and those of one client.
type levels struct{ used, large, client int64 }

// allowed reports whether a growth may be granted: always within the floor, otherwise if
// nothing is short for it.
func (m *Memory) allowed(g *growth, now time.Time) bool {
	a := m.clients[g.h.client]
	return a.free+g.n <= m.o.Floor || m.short(g, levels{m.used, m.large, a.counted}, now) <= 0
}

// short returns how many bytes less must be in use before a growth beyond the floor may be
// granted; at most 0 if it may be now. Grants and evictions both follow it: what is short for a
// growth is what evictions free.
func (m *Memory) short(g *growth, l levels, now time.Time) int64 {
	need := max(g.n, g.h.remaining()) // so that all other holds can still complete
	short := l.used + need - m.o.Total
	if g.h.counted > 0 {
		return short
	}
	return max(short, m.overShare(g, l), m.overLarge(g, l, need), m.before(g, l, need, now))
}

// further reports whether a growth is the first of a further hold of a client, which waits for
// the client's own holds.
func (m *Memory) further(g *growth) bool {
	return g.h.counted == 0 && m.clients[g.h.client].counted > 0
}

// shareOfFree is how many times what is free a client may have in several holds.
const shareOfFree = 3

// overShare returns how many bytes a client must release before it may begin a further hold.
func (m *Memory) overShare(g *growth, l levels) int64 {
	if l.client == 0 {
		return 0
	}
	over := l.client + g.n - shareOfFree*(m.o.Total-l.used-g.n)
	return (over + shareOfFree) / (shareOfFree + 1) // rounded up: what it releases is free then
}

// overLarge returns by how many bytes the first growth of a large hold would exceed what all
// large holds may take.
func (m *Memory) overLarge(g *growth, l levels, need int64) int64 {
	if !m.isLarge(g.h) || l.large == 0 {
		return 0
	}
	return l.large + need - m.maxLarge()
}

// before returns how many bytes are short for the first growth of a hold because an older one
// has waited for long: it must fit, too. What is kept free of large holds does not wait for
// them, unless the older one needs that, too.
func (m *Memory) before(g *growth, l levels, need int64, now time.Time) int64 {
	i := slices.IndexFunc(m.waiting, func(o *growth) bool {
		return o != g && o.h.seq < g.h.seq && !m.further(o) && now.Sub(o.since) > longWait
	})
	if i < 0 {
		return 0
	}
	old := m.waiting[i]
	both := l.used + need + old.n - m.o.Total
	switch {
	case !m.isLarge(old.h):
		return both
	case m.isLarge(g.h):
		return max(both, l.large+need+old.n-m.maxLarge())
	}
	return min(both, l.used-l.large+need-(m.o.Total-max(m.maxLarge(), old.n)))
}
