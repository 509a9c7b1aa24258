package catalog

import (
	"context"
	"time"

	"thresher/service/problem"
)

// changeQueues serialises the changes of each collection, or under each idempotency key, in the order of their requests.
type changeQueues struct {
	lines map[string]*changeQueue // guarded by Catalog.mu
}

// changeQueue holds the waiting changes of one collection, or under one key: next contains one value while a
// change runs.
type changeQueue struct {
	next    chan struct{}
	waiting int
}

// serialize runs a change of a collection once earlier changes and builds of it have ended,
// and waits for that up to Options.Patience.
func (c *Catalog) serialize(ctx context.Context, name string, change func() (Info, error)) (Info, error) {
	if w := wanted(ctx); w.version != 0 || c.o.Patience <= 0 {
		if err := c.isAt(name, w); err != nil {
			return Info{}, err
		}
		return change()
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Patience)
	defer cancel()
	leave, err := c.enter(ctx, c.queues, name)
	if err != nil {
		return Info{}, c.impatient(name, err)
	}
	defer leave()
	for {
		c.mu.Lock()
		var b *build
		if e := c.entries[name]; e != nil {
			b = e.build
		}
		c.mu.Unlock()
		if b == nil {
			return change()
		}
		select {
		case <-b.done:
			continue
		case <-ctx.Done():
			err = c.impatient(name, ctx.Err())
		case <-c.ctx.Done():
			err = draining()
		}
		select {
		case <-b.done: // meanwhile
		default:
			return Info{}, err
		}
	}
}

// enter waits until no other change in the queue of this name runs. Whoever need not wait enters even after ctx ended.
func (c *Catalog) enter(ctx context.Context, q changeQueues, name string) (leave func(), err error) {
	c.mu.Lock()
	l := q.lines[name]
	if l == nil {
		l = &changeQueue{next: make(chan struct{}, 1)}
		q.lines[name] = l
	}
	l.waiting++
	c.mu.Unlock()
	gone := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if l.waiting--; l.waiting == 0 {
			delete(q.lines, name)
		}
	}
	leave = func() {
		<-l.next
		gone()
	}
	if err := c.occupy(ctx, l.next); err != nil {
		gone()
		return nil, err
	}
	return leave, nil
}

// occupy sends to a channel with room for those that do something at once; waiting senders are served in order. Whoever need not wait
// gets in even after ctx ended.
func (c *Catalog) occupy(ctx context.Context, places chan<- struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	default:
	}
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return draining()
	}
}

// await waits until done is closed, or fails when ctx ends before.
func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-done: // meanwhile
		return nil
	default:
		return ctx.Err()
	}
}

// impatient returns the problem of a change that stopped waiting.
func (c *Catalog) impatient(name string, err error) error {
	if err != context.DeadlineExceeded {
		return err
	}
	c.mu.Lock()
	e := c.entries[name]
	defer c.mu.Unlock()
	if e != nil {
		if err := busy(name, e); err != nil {
			return err
		}
	}
	p := problem.New(problem.Conflict, "earlier changes of collection %s take longer than %v", name, c.o.Patience.Round(time.Millisecond)).In("name")
	p.RetryAfter = retryAfter
	return p
}
