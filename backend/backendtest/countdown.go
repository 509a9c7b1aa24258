package backendtest

import (
	"context"
	"sync"
	"time"
)

// Countdown is a context that ends after n calls of Err and Done, so that a test can
// interrupt a search at every point without a clock.
type Countdown struct {
	err error

	mu   sync.Mutex
	left int
	done chan struct{}
}

// NewCountdown returns a context whose Err is nil n times and err from then on;
// err is context.Canceled or context.DeadlineExceeded. Calls of Done count too.
func NewCountdown(n int, err error) *Countdown {
	return &Countdown{left: n, err: err, done: make(chan struct{})}
}

func (c *Countdown) tick() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left > 0 {
		c.left--
		return false
	}
	if c.left == 0 {
		c.left = -1
		close(c.done)
	}
	return true
}

// Ended reports whether the context has ended, without counting.
func (c *Countdown) Ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left < 0
}

// Err counts one call.
func (c *Countdown) Err() error {
	if c.tick() {
		return c.err
	}
	return nil
}

// Done counts one call; the channel closes when the context ends.
func (c *Countdown) Done() <-chan struct{} {
	c.tick()
	return c.done
}

// Deadline returns none.
func (c *Countdown) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value returns nil.
func (c *Countdown) Value(any) any { return nil }

var _ context.Context = (*Countdown)(nil)
