package fair

import (
	"context"
	"time"
)

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

// start begins a transfer, which is on time at first.
func (h *Hold) start() {
	h.transferring, h.behind, h.last = true, 0, time.Now()
}

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

// Pause suspends the transfer while the server prepares what it sends next: the time until
// Resume is not the client's, and the hold is not evicted meanwhile. Resume fails with ErrSlow
// if it was evicted before.
func (h *Hold) Pause() {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	h.behind = h.lag(time.Now())
	h.transferring = false
}

// Resume continues a transfer after Pause.
func (h *Hold) Resume() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.evicted {
		return ErrSlow
	}
	h.transferring, h.last = true, time.Now()
	return nil
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
	m.count(h, -h.counted)
	a.free -= h.free
	a.counted -= h.counted
	if a.holds--; a.holds == 0 {
		delete(m.clients, h.client)
	}
	m.grant()
}

// remaining returns the number of bytes that the hold may still grow by.
func (h *Hold) remaining() int64 { return max(0, h.claim-h.counted-h.free) }
