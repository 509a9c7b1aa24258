//go:build linux

package main

import (
	"context"
	"time"
)

// patienceStep is how often a patience looks at the clock.
const patienceStep = 250 * time.Millisecond

// patience is a time limit that does not count time in which this process was suspended or its
// machine stood still, because what it waits for stood still, too.
type patience struct {
	left, step time.Duration
	last       time.Time
}

func newPatience(d time.Duration, now time.Time) *patience {
	return &patience{left: d, step: min(d, patienceStep), last: now}
}

// look counts the time since the last look, at most two steps of it, and reports whether some is left.
func (p *patience) look(now time.Time) bool {
	p.left -= min(now.Sub(p.last), 2*p.step)
	p.last = now
	return p.left > 0
}

// patiently returns a context that ends for a cause, once its patience of d has ended.
func patiently(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := newPatience(d, time.Now())
	go func() {
		looks := time.NewTicker(p.step)
		defer looks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-looks.C:
				if !p.look(time.Now()) {
					cancel(cause)
				}
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}
