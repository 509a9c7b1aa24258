package service

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"thresher/service/problem"
)

// gate lets so many searches in at once, whose bodies together have so many bytes,
// and has so many more wait for their turn, in order.
type gate struct {
	searches *semaphore.Weighted
	bytes    *semaphore.Weighted
	most     int

	mu      sync.Mutex
	waiting int
}

func newGate(searches, waiting int, bytes int64) *gate {
	return &gate{searches: semaphore.NewWeighted(int64(searches)), bytes: semaphore.NewWeighted(bytes), most: waiting}
}

// enter returns once there is room for a search with a body of so many bytes; leave
// gives it back. A size of 0 is that of a body that needs no room.
func (g *gate) enter(ctx context.Context, size int64) (leave func(), err error) {
	if !g.searches.TryAcquire(1) {
		if err := g.wait(ctx, g.searches, 1); err != nil {
			return nil, err
		}
	}
	if size > 0 && !g.bytes.TryAcquire(size) {
		if err := g.wait(ctx, g.bytes, size); err != nil {
			g.searches.Release(1)
			return nil, err
		}
	}
	return func() {
		if size > 0 {
			g.bytes.Release(size)
		}
		g.searches.Release(1)
	}, nil
}

// retryAfter is when those who found the queue full should come again.
const retryAfter = time.Second

// wait acquires n of what there is nothing left of.
func (g *gate) wait(ctx context.Context, s *semaphore.Weighted, n int64) error {
	g.mu.Lock()
	full := g.waiting >= g.most
	if !full {
		g.waiting++
	}
	g.mu.Unlock()
	if full {
		p := problem.New(problem.QueueFull, "%d searches wait already, the most that may", g.most).Within(g.most)
		p.RetryAfter = retryAfter
		return p
	}
	defer func() {
		g.mu.Lock()
		g.waiting--
		g.mu.Unlock()
	}()
	return s.Acquire(ctx, n)
}
