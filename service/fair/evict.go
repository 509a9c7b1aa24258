package fair

import (
	"cmp"
	"slices"
	"time"
)

// evictionInterval is the time between two searches for holds that are too slow, while a growth
// waits.
const evictionInterval = 50 * time.Millisecond

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

// evict evicts the slowest holds, as many as free what is short for the first waiting growth;
// for a further hold of a client those of the client alone.
func (m *Memory) evict() {
	now := time.Now()
	if g := m.first(func(g *growth) bool { return !m.further(g) }); g != nil {
		m.evictFor(g, now, func(*Hold) bool { return true })
	}
	if g := m.first(m.further); g != nil {
		m.evictFor(g, now, func(h *Hold) bool { return h.client == g.h.client })
	}
}

// evictFor evicts those of some holds that are slow, the slowest first, until nothing is short
// for a growth.
func (m *Memory) evictFor(g *growth, now time.Time, some func(*Hold) bool) {
	var l levels // without what is evicted
	var slow []*Hold
	for h := range m.holds {
		if h.evicted {
			continue
		}
		l = m.with(l, g, h, 1)
		if h.counted > 0 && some(h) && m.slow(h, now) {
			slow = append(slow, h)
		}
	}
	slices.SortFunc(slow, func(a, b *Hold) int {
		return cmp.Or(cmp.Compare(b.lag(now), a.lag(now)), a.seq-b.seq)
	})
	for _, h := range slow {
		short := m.short(g, l, now)
		if short <= 0 {
			return
		}
		without := m.with(l, g, h, -1)
		if m.short(g, without, now) == short {
			continue // it is not what the growth waits for
		}
		l = without
		h.evicted = true
		if h.cancel != nil {
			h.cancel()
		}
	}
}

// with returns the levels, for a growth's client, with a hold added (sign 1) or removed (-1).
func (m *Memory) with(l levels, g *growth, h *Hold, sign int64) levels {
	n := sign * h.counted
	l.used += n
	if m.isLarge(h) {
		l.large += n
	}
	if h.client == g.h.client {
		l.client += n
	}
	return l
}

// slow reports whether a transfer is too far behind the rate. A hold that waits for memory is not
// slow.
func (m *Memory) slow(h *Hold, now time.Time) bool {
	return h.transferring && h.lag(now) > float64(m.o.Rate)*m.o.Grace.Seconds() &&
		!slices.ContainsFunc(m.waiting, func(g *growth) bool { return g.h == h })
}
