package tournaments

import (
	"cmp"
	"context"
	"sync"

	"go.etcd.io/bbolt"
)

// journal commits in one transaction what came while the one before was under way, in
// the order in which it came.
type journal struct {
	db   *bbolt.DB
	step func(stage string)

	mu      sync.Mutex
	waiting []*write
	running bool
	closed  bool
	under   chan struct{} // closed once the group that is being committed is; nil if none is
	tasks   sync.WaitGroup
}

// write is a change of the database on its way.
type write struct {
	// of is the tournament in memory that is ahead of the database by this; nil if none.
	of *live
	do func(*bbolt.Tx) error
	// then is called once the change is durable, before anybody hears of it; it may be nil.
	then func()
	// refused, set by do, is why nothing is to be changed, and nothing was: the others of
	// the transaction are not concerned. It counts if the transaction does.
	refused error
	done    chan struct{} // closed when err is known
	err     error
}

// submit has w committed after all that was submitted before.
func (j *journal) submit(w *write) {
	w.done = make(chan struct{})
	if w.of != nil {
		w.of.pending.Add(1)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		w.end(errClosed())
		return
	}
	j.waiting = append(j.waiting, w)
	if !j.running {
		j.running = true
		j.tasks.Go(j.run)
	}
}

// wait returns how w went, unless ctx ends before that is known; a nil w is none, and
// went well.
func (w *write) wait(ctx context.Context) error {
	if w == nil {
		return nil
	}
	select {
	case <-w.done:
		return w.err
	default:
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end says how w went. What a tournament in memory has and the database has not makes
// it unfit for use.
func (w *write) end(err error) {
	if err == nil && w.then != nil {
		w.then()
	}
	w.do, w.then = nil, nil // and what they hold: the last write of a tournament stays with it
	if w.of != nil {
		if err != nil {
			w.of.fail(err)
		}
		w.of.pending.Add(-1)
	}
	w.err = err
	close(w.done)
}

// pass waits until the group is through that is being committed. What of a tournament
// is submitted after it became unfit for use is refused, so that from then on the
// database has all that will ever be there of it.
func (j *journal) pass(ctx context.Context) error {
	j.mu.Lock()
	under := j.under
	j.mu.Unlock()
	if under == nil {
		return nil
	}
	j.step("pass")
	select {
	case <-under:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settled waits until all is through that was submitted.
func (j *journal) settled(ctx context.Context) error {
	j.mu.Lock()
	idle := !j.running
	j.mu.Unlock()
	if idle {
		return nil
	}
	last := &write{do: func(*bbolt.Tx) error { return nil }}
	j.submit(last)
	return last.wait(ctx)
}

// run commits until nothing is left to.
func (j *journal) run() {
	for {
		j.mu.Lock()
		group, under := j.waiting, make(chan struct{})
		j.waiting, j.under = nil, under
		if j.running = len(group) > 0; !j.running {
			j.under = nil
		}
		j.mu.Unlock()
		if len(group) == 0 {
			return
		}
		j.commit(group)
		close(under)
	}
}

// commit makes the changes of a group. One that cannot be made fails alone, with those
// of the same tournament behind it; a transaction that fails takes all along.
func (j *journal) commit(group []*write) {
	for len(group) > 0 {
		var wrong *write
		j.step("begin")
		err := j.db.Update(func(tx *bbolt.Tx) error {
			for _, w := range group {
				err := w.possible()
				if err == nil {
					w.refused = nil
					err = w.do(tx)
				}
				if err != nil {
					wrong = w
					return err
				}
			}
			j.step("commit")
			return nil
		})
		j.step("committed")
		if wrong == nil {
			for _, w := range group {
				w.end(cmp.Or(err, w.refused))
			}
			return
		}
		wrong.end(err)
		rest := group[:0:0]
		for _, w := range group {
			if w != wrong {
				rest = append(rest, w)
			}
		}
		group = rest
	}
}

// possible refuses what follows on a change that failed.
func (w *write) possible() error {
	if w.of == nil {
		return nil
	}
	return w.of.failure()
}

// close commits what was submitted, and refuses the rest.
func (j *journal) close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.tasks.Wait()
}
