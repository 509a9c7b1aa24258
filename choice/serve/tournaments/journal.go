package tournaments

import (
	"cmp"
	"context"
	"sync"

	"go.etcd.io/bbolt"
)

// journal commits in one transaction the writes submitted during the previous one, in the
// order of their submission.
type journal struct {
	db   *bbolt.DB
	step func(stage string)

	mu      sync.Mutex
	waiting []*write
	running bool
	closed  bool
	under   chan struct{} // closed once the current group is committed; nil if there is none
	tasks   sync.WaitGroup
}

// write is a submitted change of the database.
type write struct {
	// of is the tournament in memory that is ahead of the database by this change; nil if
	// none.
	of *live
	do func(*bbolt.Tx) error
	// then is called once the change is durable, before its result is returned; it may be
	// nil.
	then func()
	// refused, set by do, is why the change was not made; the others of the transaction are
	// not affected. It is valid only if the transaction succeeds.
	refused error
	done    chan struct{} // closed when err is set
	err     error
}

// submit queues w for commit after all earlier writes.
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

// wait returns the result of w, unless ctx ends before it is known; a nil w has succeeded.
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

// end sets the result of w. If a change of a tournament in memory is not in the database, the
// tournament becomes unfit for use.
func (w *write) end(err error) {
	if err == nil && w.then != nil {
		w.then()
	}
	w.do, w.then = nil, nil // releases what they hold, because the last write of a tournament stays referenced
	if w.of != nil {
		if err != nil {
			w.of.fail(err)
		}
		w.of.pending.Add(-1)
	}
	w.err = err
	close(w.done)
}

// pass waits until the current group is committed. Writes of a tournament that are submitted
// after it became unfit for use are refused, so that the database then contains all that it
// will ever contain of it.
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
	}
	select {
	case <-under: // meanwhile
		return nil
	default:
		return ctx.Err()
	}
}

// settled waits until everything submitted is committed.
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

// run commits groups until none is left.
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

// commit makes the changes of a group. If one cannot be made, it and later ones of the same
// tournament fail; a failed transaction fails all.
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

// possible refuses a write that follows a failed one of its tournament.
func (w *write) possible() error {
	if w.of == nil {
		return nil
	}
	return w.of.failure()
}

// close commits what was submitted, and refuses later writes.
func (j *journal) close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.tasks.Wait()
}
