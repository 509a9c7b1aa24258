package catalog

import (
	"context"
	"time"

	"thresher/service/problem"
)

// changeQueues has the changes of a collection come one after the other, in the order in which they
// asked.
type changeQueues struct {
	lines map[string]*changeQueue // guarded by Catalog.mu
}

// changeQueue is who waits to change one collection: next holds one for who has the turn.
type changeQueue struct {
	next    chan struct{}
	waiting int
}

type onlyOnKey struct{}

// NoVersion is one that no collection has.
const NoVersion = -1

// OnlyOn has a change that is asked for under the context be one of this version of the
// collection: where another is the newest, or is being made, it is refused at once and does
// not wait.
func OnlyOn(ctx context.Context, version int64) context.Context {
	return context.WithValue(ctx, onlyOnKey{}, version)
}

// wanted is the version that a change is for, 0 for any.
func wanted(ctx context.Context) int64 {
	version, _ := ctx.Value(onlyOnKey{}).(int64)
	return version
}

// serialize runs a change of a collection that nothing is being made of, in its turn, and
// waits for that, Options.Patience at most.
func (c *Catalog) serialize(ctx context.Context, name string, change func() (Info, error)) (Info, error) {
	if version := wanted(ctx); version != 0 || c.o.Patience <= 0 {
		if err := c.isAt(name, version); err != nil {
			return Info{}, err
		}
		return change()
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Patience)
	defer cancel()
	leave, err := c.enter(ctx, name)
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
		case <-ctx.Done():
			return Info{}, c.impatient(name, ctx.Err())
		case <-c.ctx.Done():
			return Info{}, draining()
		}
	}
}

// isAt refuses a change that is for another version than the newest; 0 is any.
func (c *Catalog) isAt(name string, version int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[name]
	if version == 0 || e != nil && versionOf(e.Ready) == version && e.Next == nil {
		return nil
	}
	now := int64(0)
	if e != nil {
		now = max(versionOf(e.Ready), versionOf(e.Next))
	}
	return problem.New(problem.Conflict, "the newest version of collection %s is %d, and the change is for another", name, now).In("If-Match").Within(now)
}

// enter waits for the turn to change a collection.
func (c *Catalog) enter(ctx context.Context, name string) (leave func(), err error) {
	c.mu.Lock()
	l := c.queues.lines[name]
	if l == nil {
		l = &changeQueue{next: make(chan struct{}, 1)}
		c.queues.lines[name] = l
	}
	l.waiting++
	c.mu.Unlock()
	gone := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if l.waiting--; l.waiting == 0 {
			delete(c.queues.lines, name)
		}
	}
	select {
	case l.next <- struct{}{}: // who waits to send is served in order
		return func() {
			<-l.next
			gone()
		}, nil
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	case <-c.ctx.Done():
		gone()
		return nil, draining()
	}
}

// impatient is why a change gave up waiting.
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
	p := problem.New(problem.Conflict, "other changes of collection %s come first, for longer than %v", name, c.o.Patience.Round(time.Millisecond)).In("name")
	p.RetryAfter = retryAfter
	return p
}
