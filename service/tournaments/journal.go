package tournaments

import (
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
	tasks   sync.WaitGroup
}

// write is a change of the database on its way.
type write struct {
	// of is the tournament in memory that is ahead of the database by this; nil if none.
	of   *live
	do   func(*bbolt.Tx) error
	done chan struct{} // closed when err is known
	err  error
}

// submit has w committed after all that was submitted before.
func (j *journal) submit(w *write) {
	w.done = make(chan struct{})
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

// wait returns how w went; a nil w is none, and went well.
func (w *write) wait() error {
	if w == nil {
		return nil
	}
	<-w.done
	return w.err
}

// end says how w went. What a tournament in memory has and the database has not makes
// it unfit for use.
func (w *write) end(err error) {
	if err != nil && w.of != nil {
		w.of.fail(err)
	}
	w.err = err
	close(w.done)
}

// run commits until nothing is left to.
func (j *journal) run() {
	for {
		j.mu.Lock()
		group := j.waiting
		j.waiting = nil
		j.running = len(group) > 0
		j.mu.Unlock()
		if len(group) == 0 {
			return
		}
		j.commit(group)
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
				w.end(err)
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
