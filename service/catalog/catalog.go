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
	"thresher/store"
)

// retryAfter is the delay suggested to a client whose change conflicts with another.
const retryAfter = time.Second

// Catalog holds the collections of one folder. It is safe for concurrent use.
type Catalog struct {
	dir       string
	db        *bbolt.DB
	o         Options
	roots     roots
	memory    budget
	found     store.Found
	buildSlot chan struct{} // holds one while a build works
	readSlots chan struct{} // holds one for each source that is read beside it
	ready     chan struct{}

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // builds and the loader

	// change is held during durable changes, so that the fields guarded by mu and the
	// database can be read and written in one step that includes a transaction. It is locked
	// before mu. mu is never held during disk access, because searches take it.
	change sync.Mutex

	mu       sync.Mutex
	idle     *sync.Cond // inUse is 0
	closed   bool
	ended    bool // Close has only to close files
	inUse    int  // uses of all versions together
	entries  map[string]*entry
	versions map[ref]*opened
	queues   changeQueues // of collections
	keyed    changeQueues // of the changes by rows under idempotency keys
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

// Open opens the catalog in dir, which belongs to the catalog and is created if missing, and
// in its bucket of db, which belongs to the caller and must outlive the Catalog. Recorded
// versions are loaded and interrupted builds continued in the background: see Ready. ctx
// applies until Open returns.
func Open(ctx context.Context, dir string, db *bbolt.DB, o *Options) (*Catalog, error) {
	if o == nil || o.Open == nil {
		return nil, errors.New("a catalog needs to know how engines are opened")
	}
	c := &Catalog{
		dir: dir, db: db, o: *o, memory: budget{most: o.Memory}, buildSlot: make(chan struct{}, 1), readSlots: make(chan struct{}, maxReads), ready: make(chan struct{}),
		entries: map[string]*entry{}, versions: map[ref]*opened{}, queues: changeQueues{map[string]*changeQueue{}}, keyed: changeQueues{map[string]*changeQueue{}},
	}
	c.o.defaults()
	c.idle = sync.NewCond(&c.mu)
	var err error
	if c.roots, err = openRoots(o.Roots); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := c.o.disk.FlushFolder(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { return db.Update(Schema().Create) },
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

// Ready is closed once all recorded versions have been loaded or have failed to load.
func (c *Catalog) Ready() <-chan struct{} { return c.ready }

// recall reads the recorded collections.
func (c *Catalog) recall(tx *bbolt.Tx) error {
	for n, err := range eachNamed(tx) {
		if err != nil {
			return err
		}
		c.entries[n.name] = &entry{record: n.record}
		if n.Ready != nil {
			c.versions[ref{n.name, n.Ready.Version}] = c.newOpened(n.name, *n.Ready)
		}
	}
	return c.recallPins(tx)
}

// resume loads versions and then continues builds, in the background. Recorded versions
// reserve their memory before anything new is accepted; a version that does not fit fails
// when it is loaded.
func (c *Catalog) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.SortedFunc(maps.Values(c.versions), func(a, b *opened) int {
		switch { // current versions are loaded first
		case !a.retired && b.retired:
			return -1
		case a.retired && !b.retired:
			return 1
		}
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.change.Version, b.change.Version))
	})
	for _, o := range all {
		o.acquire()                            // keeps it open while it is loaded
		_ = o.share.resize(o.change.Bytes, "") // loadVersion reports an error
	}
	for _, name := range slices.Sorted(maps.Keys(c.entries)) {
		if e := c.entries[name]; e.Next != nil {
			share := c.memory.share(name)
			_ = c.checkLimits(share, e.Next) // make reports an error
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

// Ended reports whether Close has waited for all work on collections.
func (c *Catalog) Ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// Close stops builds, which continue when the folder is next opened, waits until the last
// Version is released, and closes everything. Later calls of the Catalog are refused. Close
// may be called twice.
func (c *Catalog) Close() error {
	c.change.Lock() // waits for changes being accepted
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
	c.ended = true
	c.mu.Unlock()
	var err error
	for _, o := range all {
		err = errors.Join(err, o.stop())
	}
	return err
}
