package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
)

// maxCollections bounds the collections of a client.
const maxCollections = 1 << 16

// registry holds the collections of the client by handle.
type registry struct {
	mu   sync.Mutex
	last int64
	by   map[int64]*index
}

// index is a collection that can be searched, with users. The last one to release it closes it.
type index struct {
	*collection.Collection
	engine    *batch.Engine
	coalescer *batch.Coalescer
	rows      *region          // that the rows are part of, or nil
	columns   *columns.Columns // that filters select by, or nil
	device    string           // as asked for
	unused    func(instead error) []string
	options   collection.Options
	took      time.Duration // of the build
	users     atomic.Int64

	// others are the engines of searches with another number of threads, by that; none of them before the first.
	mu     sync.Mutex
	others map[int]*limited
	// changes are the vectors since the first change; nil before it.
	changes *changes
}

// limited is an engine, of another number of threads than its index's.
type limited struct {
	engine    *batch.Engine
	coalescer *batch.Coalescer
}

// with returns the coalescer whose searches take so many threads of the CPU; 0 stands for the index's number.
func (v *index) with(ctx context.Context, o *Options, threads int) (*batch.Coalescer, error) {
	if threads == 0 || threads == v.options.Threads || v.engine.Backend() != "cpu" {
		return v.coalescer, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if x := v.others[threads]; x != nil {
		return x.coalescer, nil
	}
	d, err := o.Device(ctx, "cpu", threads, v.Collection)
	if err != nil {
		return nil, err
	}
	e, err := batch.Open(ctx, v.Collection, d.Backend, d.Engine)
	if err != nil {
		return nil, err
	}
	if v.others == nil {
		v.others = map[int]*limited{}
	}
	x := &limited{e, batch.NewCoalescer(e, &batch.CoalescerOptions{Window: batch.DefaultWindow})}
	v.others[threads] = x
	return x.coalescer, nil
}

// add gives v, of one user, a handle. If there are too many, it releases v.
func (s *registry) add(v *index) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.by) >= maxCollections {
		v.release()
		return 0, wrong("handle", "more than %d collections; free some", maxCollections).within(maxCollections)
	}
	if s.by == nil {
		s.by = map[int64]*index{}
	}
	s.last++
	s.by[s.last] = v
	return s.last, nil
}

// hold returns a collection for use. The caller releases it.
func (s *registry) hold(handle int64) (*index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.by[handle]
	if v == nil {
		return nil, unknown(handle)
	}
	v.users.Add(1)
	return v, nil
}

func unknown(handle int64) *failure {
	f := wrong("handle", "there is no collection %d; was it freed?", handle)
	f.Kind = unknownHandle
	return f
}

// remove forgets a collection, which the caller releases; calls in progress keep it.
func (s *registry) remove(handle int64) (*index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.by[handle]
	if v == nil {
		return nil, unknown(handle)
	}
	delete(s.by, handle)
	return v, nil
}

func (s *registry) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.by {
		v.release()
	}
	s.by = nil
}

// release removes a user.
func (v *index) release() error {
	if v.users.Add(-1) > 0 {
		return nil
	}
	var err error
	if v.changes != nil {
		err = v.changes.close()
	}
	if v.coalescer != nil {
		v.coalescer.Close()
	}
	if v.engine != nil {
		err = errors.Join(err, v.engine.Close())
	}
	for _, x := range v.others {
		x.coalescer.Close()
		err = errors.Join(err, x.engine.Close())
	}
	err = errors.Join(err, v.Collection.Close())
	v.rows.release()
	return err
}
