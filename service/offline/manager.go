package offline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/bbolt"

	"thresher/service/api"
	"thresher/service/problem"
	"thresher/store"
)

// Manager keeps batches and answers them. It is safe for concurrent use.
type Manager struct {
	dir     string
	ledger  ledger
	library library
	store   fileStore
	o       Options
	gate    gate

	ctx  context.Context // ends with Close
	stop context.CancelCauseFunc
	work sync.WaitGroup // of atWork

	creating sync.Mutex // serialises creation, and creation with deletion of what it needs

	mu      sync.Mutex
	closed  bool
	live    map[string]*job // those that are not final
	queue   []*job          // the waiting ones, in order
	running int             // of those dispatched; at most Options.Concurrency
	atWork  int             // these and those that conclude has begun
	final   map[Status]int

	found store.Found
}

// errClosing stops batches, which the next Open continues.
var errClosing = errors.New("the server is shutting down")

// Open opens the batches of db, whose files lie in dir, and continues those that are not
// final. The caller owns db, the catalog and the files, which must outlive the Manager.
func Open(dir string, db *bbolt.DB, o *Options) (*Manager, error) {
	return open(dir, db, inCatalog{o.Catalog, shared{o.Answered, o.Withhold, o.Turns}}, o.Files, *o)
}

func open(dir string, db *bbolt.DB, l library, s fileStore, o Options) (*Manager, error) {
	o.fill()
	m := &Manager{dir: dir, library: l, store: s, o: o, live: map[string]*job{}, final: map[Status]int{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if m.ledger, err = openLedger(dir, db, o.disk); err != nil {
		return nil, fmt.Errorf("batches: %w", err)
	}
	if err := m.reconcile(); err != nil {
		return nil, fmt.Errorf("batches of %s: %w", dir, err)
	}
	m.ctx, m.stop = context.WithCancelCause(context.Background())
	err = m.ledger.each(func(rec *record) error {
		if rec.Batch.Status.Final() {
			m.final[rec.Batch.Status]++
			return nil
		}
		j := m.newJob(rec)
		m.live[rec.Batch.ID] = j
		m.queue = append(m.queue, j)
		return nil
	})
	if err == nil {
		err = m.sweep()
	}
	if err != nil {
		m.stop(errClosing)
		return nil, fmt.Errorf("batches: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dispatch()
	return m, nil
}

// LostOwner holds for batches what the database has lost the owner of. Open gives it to the batches
// that need it, and releases the rest.
const LostOwner = idPrefix + "lost"

// sweep removes the folders, holds and pins of final batches, and the holds and pins of
// batches that were never recorded; those that a batch to be continued has lost it gets again.
// Unknown folders have been moved already.
func (m *Manager) sweep() error {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && m.live[e.Name()] == nil && strings.HasPrefix(e.Name(), idPrefix) {
			if err := os.RemoveAll(filepath.Join(m.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	holders, err := m.store.Owners(idPrefix)
	if err != nil {
		return err
	}
	pinners, err := m.library.owners(idPrefix)
	if err != nil {
		return err
	}
	for id, j := range m.live {
		if !slices.Contains(holders, id) || len(j.rec.Batch.Collections) > 0 && !slices.Contains(pinners, id) {
			if err := m.regain(&j.rec); err != nil {
				m.o.Log.Warn("what a batch needs is not held for it", "batch", id, "error", err) // its run reports what is missing
			}
		}
	}
	for _, owner := range slices.Concat(holders, pinners) {
		if m.live[owner] != nil {
			continue
		}
		if err := m.releaseInputs(owner); err != nil {
			return err
		}
	}
	return nil
}

// releaseInputs removes the holds and pins of a batch.
func (m *Manager) releaseInputs(id string) error {
	return errors.Join(m.store.Release(id), m.library.unpin(id))
}

// dispatch starts waiting batches up to Options.Concurrency. The caller holds mu.
func (m *Manager) dispatch() {
	for !m.closed && m.running < m.o.Concurrency && len(m.queue) > 0 {
		j := m.queue[0]
		m.queue = m.queue[1:]
		m.running++
		m.begin(j, func() {
			m.running--
			m.dispatch()
		})
	}
}

// begin runs j and then ended, which holds mu. The caller holds mu.
func (m *Manager) begin(j *job, ended func()) {
	m.atWork++
	m.work.Go(func() {
		j.run()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.atWork--
		ended()
	})
}

// position returns the number of batches ahead of j. The caller holds mu.
func (m *Manager) position(j *job) int {
	return slices.Index(m.queue, j) + 1 // 0 if it does not wait
}

// job returns a batch that is not final, and its position.
func (m *Manager) job(id string) (j *job, position int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expireWaiting()
	if j = m.live[id]; j == nil {
		return nil, 0
	}
	return j, m.position(j)
}

// Get returns a batch; problem.UnknownBatch if there is none.
func (m *Manager) Get(id string) (Batch, error) {
	if j, position := m.job(id); j != nil {
		return j.view(position), nil
	}
	rec, err := m.ledger.get(id)
	if err != nil {
		return Batch{}, err
	}
	return rec.view(), nil
}

// Maker returns the name of the token that made a batch; problem.UnknownBatch if there is none.
func (m *Manager) Maker(id string) (string, error) {
	rec, err := m.ledger.get(id)
	if err != nil {
		return "", err
	}
	return rec.Maker, nil
}

// List returns the batches of makers that may be seen (nil sees all), created before the batch with id after
// ("" starts with the newest), newest first, at most limit (0 = problem.DefaultPage;
// 1..problem.MaxPage).
func (m *Manager) List(after string, limit int, may func(maker string) bool) (Page, error) {
	limit, err := problem.PageSize(limit)
	if err != nil {
		return Page{}, err
	}
	records, more, err := m.ledger.before(after, limit, may)
	if err != nil {
		return Page{}, err
	}
	var list []Batch
	for _, rec := range records {
		if j, position := m.job(rec.Batch.ID); j != nil {
			list = append(list, j.view(position))
			continue
		}
		list = append(list, rec.view())
	}
	return api.NewPage(list, more, func(b *Batch) string { return b.ID }), nil
}

// Cancel ends a batch within one chunk; answered requests stay. The returned batch is
// cancelling or cancelled. A final batch, or one being delivered, is refused
// (problem.Conflict), except a cancelled one, which is returned.
func (m *Manager) Cancel(id string) (Batch, error) {
	j, _ := m.job(id)
	if j == nil {
		rec, err := m.ledger.get(id)
		if err != nil {
			return Batch{}, err
		}
		if rec.Batch.Status != Cancelled {
			return Batch{}, problem.New(problem.Conflict, "batch %s is %s, it cannot be cancelled", id, rec.Batch.Status)
		}
		return rec.view(), nil
	}
	if err := j.cancel(); err != nil {
		return Batch{}, err
	}
	m.mu.Lock()
	m.conclude(j)
	m.mu.Unlock()
	return j.view(0), nil
}

// conclude ends a waiting batch out of order, because there is little left to do. The caller
// holds mu.
func (m *Manager) conclude(j *job) {
	at := slices.Index(m.queue, j)
	if at < 0 || m.closed {
		return
	}
	m.queue = slices.Delete(m.queue, at, at+1)
	m.begin(j, func() {})
}

// expireWaiting ends the waiting batches whose completion window is over. It is called at
// every access. The caller holds mu.
func (m *Manager) expireWaiting() {
	for _, j := range slices.Clone(m.queue) {
		if j.expired() {
			m.conclude(j)
		}
	}
}

// Delete deletes a final batch (problem.Conflict for others); its files stay.
func (m *Manager) Delete(id string) error {
	m.creating.Lock()
	defer m.creating.Unlock()
	if j, _ := m.job(id); j != nil {
		return problem.New(problem.Conflict, "batch %s is not finished; cancel it first", id)
	}
	rec, err := m.ledger.get(id)
	if err != nil {
		return err
	}
	if err := m.ledger.remove(rec); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.final[rec.Batch.Status]--
	return nil
}

// Interactive marks an interactive search as running until done is called: batches wait for
// it.
func (m *Manager) Interactive() (done func()) { return m.gate.enter() }

// Counts returns the number of batches in each status.
func (m *Manager) Counts() map[Status]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := maps.Clone(m.final)
	for _, s := range api.BatchStatuses() {
		counts[s] += 0
	}
	for _, j := range m.live {
		counts[j.status()]++
	}
	return counts
}

// finished updates the maps for a final batch, recorded by last.
func (m *Manager) finished(j *job, last *record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j.become(last)
	delete(m.live, j.id)
	m.final[last.Batch.Status]++
	if m.o.ended != nil {
		m.o.ended(j.id)
	}
}

// Close stops at the next chunk and waits for that until ctx ends; the next Open continues. It fails only if a batch is
// still at work then.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop(errClosing)
	done := make(chan struct{})
	go func() {
		m.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.atWork == 0 {
			return nil
		}
		return fmt.Errorf("batches: still at work: %w", context.Cause(ctx))
	}
}
