package batches

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.etcd.io/bbolt"
)

// Options configure a Manager; zero values mean defaults.
type Options struct {
	// Concurrency is how many batches are answered at once; 0 means 1.
	Concurrency int
	// Chunk is how many queries become durable together; 0 means 1,024. A request
	// with more queries is a chunk of its own.
	Chunk int
	// Slice is how many queries are searched at once, between which interactive
	// searches go first; 0 means 256.
	Slice int
	// Lines is the most requests a batch may have; 0 means 4,194,304.
	Lines int64
	// LineBytes is the longest line of a file of requests; 0 means 16 MiB.
	LineBytes int
	// Window is the longest completion window; 0 means 30 days.
	Window time.Duration
	// Retry is how long to wait before a batch goes on whose storage or backend
	// failed, once for each; nil means 5 s, 30 s, 2 min. Then it fails, with what is
	// answered.
	Retry []time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Log is told what clients are not; nil discards.
	Log *slog.Logger
}

// Manager keeps batches and answers them. It is safe for concurrent use.
type Manager struct{}

// Open opens the batches of db, whose files lie in dir, and goes on with those that
// are not final. The caller keeps db, the catalog and the files, which must outlive
// the Manager.
func Open(dir string, db *bbolt.DB, o *Options) (*Manager, error) { return &Manager{}, nil }

// Create makes a batch of spec. A key that is not "" makes it once: the same key
// and spec find the first, another spec is refused (problem.KeyReused).
func (m *Manager) Create(ctx context.Context, spec Spec, key string) (Batch, error) {
	return Batch{}, errors.New("batches: not written yet")
}

// Get returns a batch; problem.UnknownBatch if there is none.
func (m *Manager) Get(id string) (Batch, error) {
	return Batch{}, errors.New("batches: not written yet")
}

// List returns the batches created before the batch after ("" = from the newest on),
// newest first, at most limit (0 = DefaultPage; 1..MostPage).
func (m *Manager) List(after string, limit int) (Page, error) {
	return Page{}, errors.New("batches: not written yet")
}

// Cancel ends a batch within one chunk; what is answered stays. The batch returned
// is cancelling or cancelled. A final batch is refused (problem.Conflict), but for a
// cancelled one, which is returned as it is.
func (m *Manager) Cancel(id string) (Batch, error) {
	return Batch{}, errors.New("batches: not written yet")
}

// Delete forgets a final batch (problem.Conflict for others); its files stay.
func (m *Manager) Delete(id string) error { return errors.New("batches: not written yet") }

// Interactive tells that an interactive search is under way, until done is called:
// batches let it go first.
func (m *Manager) Interactive() (done func()) { return func() {} }

// Counts are how many batches have each status.
func (m *Manager) Counts() map[Status]int { return nil }

// Close stops at the next chunk and waits, as long as ctx lasts; the next Open goes on.
func (m *Manager) Close(ctx context.Context) error { return nil }
