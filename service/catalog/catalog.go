package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
)

// retryAfter is when to ask again for what another change is in the way of.
const retryAfter = time.Second

// Catalog holds the collections of one folder. It is safe for concurrent use.
type Catalog struct {
	dir       string
	db        *bbolt.DB
	o         Options
	roots     roots
	memory    budget
	found     Found
	buildSlot chan struct{} // taken by the build that is at work
	ready     chan struct{}

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // builds and the loader

	// change is held while something durable changes, so that what mu guards can be
	// read and written in one step that includes a transaction. It comes before mu, which is
	// never held while waiting for the disk: searches take it.
	change sync.Mutex

	mu       sync.Mutex
	idle     *sync.Cond // inUse is 0
	closed   bool
	inUse    int // uses of all versions
	entries  map[string]*entry
	versions map[ref]*opened
	queues   changeQueues
}

// entry is a collection.
type entry struct {
	record
	build *build // of record.Next
}

// ref names a version.
type ref struct {
	name    string
	version int64
}

// Open takes over dir, which is the catalog's own and is created if missing, and
// its bucket of db, which stays the caller's and must outlive the Catalog. What is
// recorded is loaded, and what was being built is built, in the background:
// see Ready. ctx is for what happens before Open returns.
func Open(ctx context.Context, dir string, db *bbolt.DB, o *Options) (*Catalog, error) {
	if o == nil || o.Open == nil {
		return nil, errors.New("a catalog needs to know how engines are opened")
	}
	c := &Catalog{
		dir: dir, db: db, o: *o, memory: budget{most: o.Memory}, buildSlot: make(chan struct{}, 1), ready: make(chan struct{}),
		entries: map[string]*entry{}, versions: map[ref]*opened{}, queues: changeQueues{map[string]*changeQueue{}},
	}
	c.o.defaults()
	c.idle = sync.NewCond(&c.mu)
	var err error
	if c.roots, err = openRoots(o.Roots); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := c.o.disk.FlushFolder(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { return db.Update(createBuckets) },
		c.reconcile,
		func() error { return db.View(c.recall) },
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("collections of %s: %w", dir, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.resume()
	return c, nil
}

// Ready is closed when all that was recorded has been loaded, or has failed to.
func (c *Catalog) Ready() <-chan struct{} { return c.ready }

// recall reads what is recorded.
func (c *Catalog) recall(tx *bbolt.Tx) error {
	names := bucket(tx, namesBucket)
	err := names.ForEach(func(name, _ []byte) error {
		rec, _, err := getRecord(tx, string(name))
		if err != nil {
			return err
		}
		c.entries[string(name)] = &entry{record: rec}
		if rec.Ready != nil {
			c.versions[ref{string(name), rec.Ready.Version}] = c.newOpened(string(name), *rec.Ready)
		}
		return nil
	})
	return errors.Join(err, c.recallPins(tx))
}

// resume loads versions and then goes on with builds, in the background. What was
// recorded has its memory before anything new is accepted; what does not fit fails when
// its turn comes.
func (c *Catalog) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.SortedFunc(maps.Values(c.versions), func(a, b *opened) int {
		switch { // those that answer come first
		case !a.retired && b.retired:
			return -1
		case a.retired && !b.retired:
			return 1
		}
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.change.Version, b.change.Version))
	})
	for _, o := range all {
		o.acquire()                            // so that it stays while it is loaded
		_ = o.share.resize(o.change.Bytes, "") // load tells
	}
	for _, name := range slices.Sorted(maps.Keys(c.entries)) {
		if e := c.entries[name]; e.Next != nil {
			share := c.memory.share(name)
			_ = c.fits(share, e.Next) // make tells
			c.startBuild(e, name, nil, share)
		}
	}
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		defer close(c.ready)
		for _, o := range all {
			c.loadVersion(o)
		}
	}()
}

// loadVersion opens o and announces it.
func (c *Catalog) loadVersion(o *opened) {
	err := c.ctx.Err()
	if err == nil {
		err = o.openFiles(c.ctx)
	}
	if err != nil {
		c.o.Log.Error("collection could not be loaded", "collection", o.name, "version", o.change.Version, "reason", err)
		if serr := o.stop(); serr != nil {
			c.o.Log.Warn("closing a version that failed", "collection", o.name, "reason", serr)
		}
	}
	c.mu.Lock()
	o.state = Ready
	if err != nil {
		o.state, o.failure = Failed, problem.Of(err)
	}
	close(o.loaded)
	c.mu.Unlock()
	o.release()
}

// Close stops builds, which go on when the folder is opened again, waits until
// the last Version is released, and closes all. What is asked of the Catalog from then on
// is refused. Closing twice is allowed.
func (c *Catalog) Close() error {
	c.change.Lock() // what is being accepted has begun
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	c.change.Unlock()
	if closed {
		return nil
	}
	c.cancel()
	c.work.Wait()
	c.mu.Lock()
	for c.inUse > 0 {
		c.idle.Wait()
	}
	var all []*opened
	for key, o := range c.versions {
		delete(c.versions, key)
		all = append(all, o)
	}
	clear(c.entries)
	c.mu.Unlock()
	var err error
	for _, o := range all {
		err = errors.Join(err, o.stop())
	}
	return err
}
