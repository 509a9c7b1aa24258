package offline

import (
	"context"
	"sync"
	"time"
)

// gate gives interactive searches priority over those of batches. The zero gate is open.
type gate struct {
	mu   sync.Mutex
	n    int           // running interactive searches
	idle chan struct{} // closed when the last of them ends; nil if there is none
}

// enter counts an interactive search until done is called for the first time.
func (g *gate) enter() (done func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n++; g.n == 1 {
		g.idle = make(chan struct{})
	}
	return sync.OnceFunc(g.leave)
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 {
		close(g.idle)
		g.idle = nil
	}
}

// pass returns when no interactive search is running, after atMost, or when ctx ends.
func (g *gate) pass(ctx context.Context, atMost time.Duration) {
	g.mu.Lock()
	idle := g.idle
	g.mu.Unlock()
	if idle == nil || atMost <= 0 {
		return
	}
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-idle:
	case <-t.C:
	case <-ctx.Done():
	}
}
