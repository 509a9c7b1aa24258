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

	"thresher/service/db"
	"thresher/service/durable"
)

// Store holds states and slates. It is safe for concurrent use.
type Store struct {
	db    *bbolt.DB
	o     Options
	cache *cache
	seed  maphash.Seed
	// users are locked while their feedback is taken, many by one lock: a channel that
	// holds one.
	users [stripes]chan struct{}

	// putting is taken while settings are checked: a collection is prepared for it, and
	// of those there shall be one besides what is counted.
	putting chan struct{}

	mu    sync.Mutex
	locks map[string]*collectionLock
}

// stripes is how many locks users share.
const stripes = 256

// collectionLock is a collection that somebody holds.
type collectionLock struct {
	holders int // guarded by Store.mu
	// drop is taken by one while the collection's records are used and by all that
	// may do so while they go.
	drop *semaphore.Weighted
	// making holds one while items are prepared.
	making chan struct{}
}

const (
	mostHolders = 1 << 30

	batchDelay = time.Millisecond // how long a transaction waits for company
)

// Open opens the database at path, which is made if missing.
func Open(path string, o *Options) (*Store, error) {
	s := &Store{o: o.withDefaults(), seed: maphash.MakeSeed(), putting: make(chan struct{}, 1), locks: map[string]*collectionLock{}}
	s.cache = newCache(s.o.Memory)
	for i := range s.users {
		s.users[i] = make(chan struct{}, 1)
	}
	var err error
	if s.db, _, err = db.Open(path, &db.Options{NoSync: s.o.noSync}); err != nil {
		return nil, err
	}
	s.db.MaxBatchDelay = batchDelay
	err = s.db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(collectionsBucket())
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), s.db.Close())
	}
	return s, nil
}

// Close closes the database. Nothing may be under way.
func (s *Store) Close() error { return s.db.Close() }

// Bytes is the memory that states and prepared collections take.
func (s *Store) Bytes() int64 { return s.cache.used() }

// Hold keeps the records of a collection from being dropped until release is called.
// It comes before the collection is asked for, and waits, as long as ctx lasts, for who
// drops them.
func (s *Store) Hold(ctx context.Context, name string) (release func(), err error) {
	return s.hold(ctx, name, 1)
}

// hold takes so many of a place's holds.
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

// acquire puts one into a channel that has room for one, as long as ctx lasts.
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

// lockOf is that of a collection, until leave is called.
func (s *Store) lockOf(name string) (p *collectionLock, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p = s.locks[name]; p == nil {
		p = &collectionLock{drop: semaphore.NewWeighted(mostHolders), making: make(chan struct{}, 1)}
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

// Drop forgets all of a collection's settings, states and slates once nobody holds them,
// which is waited for as long as ctx lasts, if what comes first, before anybody holds
// them again, does not fail; nil is nothing.
func (s *Store) Drop(ctx context.Context, name string, first func() error) error {
	release, err := s.hold(ctx, name, mostHolders)
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
		known = find(tx, name) != nil
		return nil
	})
	if err != nil || !known {
		return err
	}
	defer s.cache.drop(name)
	return s.change(func(tx *bbolt.Tx) error { return tx.Bucket(collectionsBucket()).DeleteBucket([]byte(name)) })
}

// Sweep drops what is known of collections that were deleted, whose deletion did not come
// so far.
func (s *Store) Sweep(deleted []string) error {
	var err error
	for _, name := range deleted {
		err = errors.Join(err, s.Drop(context.Background(), name, nil)) // nobody holds it
	}
	return err
}

// change runs a transaction that others may share; it may run again.
func (s *Store) change(fn func(*bbolt.Tx) error) error {
	if err := s.at("commit"); err != nil {
		return err
	}
	if err := s.db.Batch(fn); err != nil {
		return durable.Full(err)
	}
	return s.at("committed")
}

func (s *Store) at(step string) error {
	if s.o.step == nil {
		return nil
	}
	return s.o.step(step)
}

// stripe is which lock a user has.
func (s *Store) stripe(collection, user string) int {
	var h maphash.Hash
	h.SetSeed(s.seed)
	h.WriteString(collection)
	h.WriteByte(0)
	h.WriteString(user)
	return int(h.Sum64() % stripes)
}
