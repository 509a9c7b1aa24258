package slates

import (
	"container/list"
	"sync"
)

// cache keeps what was used last, within a number of bytes. It is safe for concurrent
// use.
type cache struct {
	most int64

	mu    sync.Mutex
	bytes int64
	order *list.List // of *cached, the latest first
	byKey map[cacheKey]*list.Element
	// changes counts those of every stripe of users, so that what was read before a
	// change is not kept after it.
	changes [stripes]uint64
}

// cacheKey is a user of a collection, or its items.
type cacheKey struct {
	collection, user string
	items            bool
}

type cached struct {
	key   cacheKey
	value any
	bytes int64
}

// perEntry is about what an entry takes besides its value.
const perEntry = 256

func newCache(most int64) *cache {
	return &cache{most: most, order: list.New(), byKey: map[cacheKey]*list.Element{}}
}

func (c *cache) get(k cacheKey) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[k]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).value, true
}

// seen is how many changes a stripe has had.
func (c *cache) seen(stripe int) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes[stripe]
}

// keep puts what was read when a stripe had so many changes, unless there was one
// since.
func (c *cache) keep(k cacheKey, value any, bytes int64, stripe int, seen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes[stripe] == seen {
		c.put(k, value, bytes)
	}
}

// change puts a new value, or with nil takes the old one away.
func (c *cache) change(k cacheKey, value any, bytes int64, stripe int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes[stripe]++
	if value == nil {
		c.remove(c.byKey[k])
		return
	}
	c.put(k, value, bytes)
}

// put is called with the lock held, as is remove.
func (c *cache) put(k cacheKey, value any, bytes int64) {
	c.remove(c.byKey[k])
	bytes += perEntry + int64(len(k.collection)+len(k.user))
	c.byKey[k] = c.order.PushFront(&cached{k, value, bytes})
	c.bytes += bytes
	for c.bytes > c.most && c.order.Len() > 1 {
		c.remove(c.order.Back())
	}
}

func (c *cache) remove(e *list.Element) {
	if e == nil {
		return
	}
	old := c.order.Remove(e).(*cached)
	delete(c.byKey, old.key)
	c.bytes -= old.bytes
}

// drop forgets a collection.
func (c *cache) drop(collection string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.changes {
		c.changes[i]++
	}
	for e := c.order.Front(); e != nil; {
		next := e.Next()
		if e.Value.(*cached).key.collection == collection {
			c.remove(e)
		}
		e = next
	}
}

// used is how many bytes there are.
func (c *cache) used() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
