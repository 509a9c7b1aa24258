package slates

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sync/semaphore"

	"thresher/store"
)

// Store keeps states and slates. It is safe for concurrent use.
type Store struct {
	db    *bbolt.DB
	o     Options
	cache *cache
	seed  maphash.Seed
	// users are the locks for users' feedback, each shared by many users: a channel with room
	// for one value.
	users [stripes]chan struct{}

	// putting serialises checks of settings, so that only one collection is prepared outside
	// of the memory budget.
	putting chan struct{}

	mu    sync.Mutex
	locks map[string]*collectionLock
}

// stripes is the number of locks for users.
const stripes = 256

// collectionLock is the lock of a collection in use.
type collectionLock struct {
	holders int // guarded by Store.mu
	// drop is acquired with weight 1 while the collection's records are used, and with the
	// full weight while they are deleted.
	drop *semaphore.Weighted
	// making holds one value while items are prepared.
	making chan struct{}
}

const (
	maxHolders = 1 << 30

	batchDelay = time.Millisecond // how long a transaction waits for others to share it
)

// Open opens the database at path, which is created if missing.
func Open(path string, o *Options) (*Store, error) {
	s := &Store{o: o.withDefaults(), seed: maphash.MakeSeed(), putting: make(chan struct{}, 1), locks: map[string]*collectionLock{}}
	s.cache = newCache(s.o.Memory)
	for i := range s.users {
		s.users[i] = make(chan struct{}, 1)
	}
	var err error
	if s.db, _, err = store.Open(path, &store.Options{NoSync: s.o.noSync, Checks: []store.CheckRecord{CheckRecord}}); err != nil {
		return nil, err
	}
	s.db.MaxBatchDelay = batchDelay
	err = s.db.Update(func(tx *bbolt.Tx) error {
		_, err := complete(tx)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), s.db.Close())
	}
	return s, nil
}

// Close closes the database. No call may be running.
func (s *Store) Close() error { return s.db.Close() }

// Database returns the database, for backups, which only read it.
func (s *Store) Database() *bbolt.DB { return s.db }

// Bytes returns the memory of states and prepared collections.
func (s *Store) Bytes() int64 { return s.cache.used() }

// Hold prevents the deletion of a collection's records until release is called. It is called
// before the collection is looked up, and waits for a running deletion until ctx ends.
func (s *Store) Hold(ctx context.Context, name string) (release func(), err error) {
	return s.hold(ctx, name, 1)
}

// hold acquires the collection's lock with weight n.
func (s *Store) hold(ctx context.Context, name string, n int64) (release func(), err error) {
	p, leave := s.lockOf(name)
	if err := p.drop.Acquire(ctx, n); err != nil {
		leave()
		return nil, err
	}
	return func() {
		p.drop.Release(n)
		leave()
	}, nil
}

// acquire sends to a channel with room for one value, until ctx ends.
func acquire(ctx context.Context, one chan struct{}) error {
	select {
	case one <- struct{}{}:
		return nil
	default:
	}
	select {
	case one <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lockOf returns the lock of a collection, until leave is called.
func (s *Store) lockOf(name string) (p *collectionLock, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p = s.locks[name]; p == nil {
		p = &collectionLock{drop: semaphore.NewWeighted(maxHolders), making: make(chan struct{}, 1)}
		s.locks[name] = p
	}
	p.holders++
	return p, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if p.holders--; p.holders == 0 {
			delete(s.locks, name)
		}
	}
}

// Drop deletes a collection's settings, states and slates once nobody holds them, and waits
// for that until ctx ends. It calls first, unless nil, before; if first fails, nothing is
// deleted.
func (s *Store) Drop(ctx context.Context, name string, first func() error) error {
	release, err := s.hold(ctx, name, maxHolders)
	if err != nil {
		return err
	}
	defer release()
	if first != nil {
		if err := first(); err != nil {
			return err
		}
	}
	known := false
	err = s.db.View(func(tx *bbolt.Tx) error {
		known = findRecords(tx, name) != nil
		return nil
	})
	if err != nil || !known {
		return err
	}
	defer s.cache.dropCollection(name)
	return s.change(func(tx *bbolt.Tx) error { return tx.Bucket(collectionsBucket()).DeleteBucket([]byte(name)) })
}

// Sweep deletes what is left of collections whose deletion was interrupted.
func (s *Store) Sweep(deleted []string) error {
	var err error
	for _, name := range deleted {
		err = errors.Join(err, s.Drop(context.Background(), name, nil)) // nobody holds it at the start
	}
	return err
}

// change runs a transaction that others may share; it may be retried.
func (s *Store) change(fn func(*bbolt.Tx) error) error {
	if err := s.at("commit"); err != nil {
		return err
	}
	if err := s.db.Batch(fn); err != nil {
		return store.Full(err)
	}
	return s.at("committed")
}

func (s *Store) at(step string) error {
	if s.o.step == nil {
		return nil
	}
	return s.o.step(step)
}

// stripe returns the index of a user's lock.
func (s *Store) stripe(collection, user string) int {
	var h maphash.Hash
	h.SetSeed(s.seed)
	h.WriteString(collection)
	h.WriteByte(0)
	h.WriteString(user)
	return int(h.Sum64() % stripes)
}
