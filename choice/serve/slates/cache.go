package slates

import (
	"container/list"
	"sync"
)

// cache keeps the most recently used values, within a number of bytes. It is safe for
// concurrent use.
type cache struct {
	most int64

	mu    sync.Mutex
	bytes int64
	order *list.List // of *cached, most recently used first
	byKey map[cacheKey]*list.Element
	// changes counts the changes of every stripe of users, so that a value read before a
	// change is not cached after it.
	changes [stripes]uint64
}

// cacheKey identifies a user of a collection, or its items.
type cacheKey struct {
	collection, user string
	items            bool
}

type cached struct {
	key   cacheKey
	value any
	bytes int64
}

// perEntry is about the memory of an entry without its value.
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

// seen returns the number of changes of a stripe.
func (c *cache) seen(stripe int) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes[stripe]
}

// insertUnchanged caches a value that was read when a stripe had seen changes, unless there was another
// since.
func (c *cache) insertUnchanged(k cacheKey, value any, bytes int64, stripe int, seen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes[stripe] == seen {
		c.insert(k, value, bytes)
	}
}

// change caches a new value, or removes the old one if value is nil.
func (c *cache) change(k cacheKey, value any, bytes int64, stripe int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes[stripe]++
	if value == nil {
		c.remove(c.byKey[k])
		return
	}
	c.insert(k, value, bytes)
}

// insert is called with the lock held, as is remove.
func (c *cache) insert(k cacheKey, value any, bytes int64) {
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

// dropCollection removes a collection.
func (c *cache) dropCollection(collection string) {
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

// used returns the bytes in use.
func (c *cache) used() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
