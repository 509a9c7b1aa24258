package offline

import (
	"cmp"
	"log/slog"
	"time"

	"thresher/batch"
	"thresher/dataset"
	"thresher/service/catalog"
	"thresher/service/files"
	"thresher/service/wire"
	"thresher/store"
)

// Options configure a Manager. Catalog and Files are required; zero values of the others mean
// defaults.
type Options struct {
	Catalog *catalog.Catalog
	Files   *files.Store
	// Limits apply to each request.
	Limits wire.Limits
	// Concurrency is the number of batches answered at once; 0 means 1.
	Concurrency int
	// Waiting bounds the number of other unfinished batches; 0 means 1,000.
	Waiting int
	// Chunk is the approximate number of queries that become durable together; 0 means 1,024.
	// A request with more queries is a chunk by itself.
	Chunk int
	// Slice is the number of queries searched at once, between which interactive searches go
	// first; 0 means 256.
	Slice int
	// Requests bounds the requests of a batch; 0 means 4,194,304.
	Requests int64
	// LineBytes is the longest line of a file of requests; 0 means 16 MiB.
	LineBytes int
	// DenseLimit and Budget are dataset.Options'.
	DenseLimit int64
	Budget     *dataset.Budget
	// Window is the longest completion window; 0 means 30 days.
	Window time.Duration
	// Retry holds the pauses before a batch whose storage or backend failed is retried; nil
	// means 5 s, 30 s, 2 min. Then the batch fails, and its answers are kept.
	Retry []time.Duration
	// Withhold, if not nil, reports whether certificates omit what wire.Withhold removes,
	// because clients with read access only may read results.
	Withhold func() bool
	// Turns, if not nil, returns the turns by which a search shares the machine with clients,
	// until end is called.
	Turns func() (turns batch.Turns, end func())
	// Answered, if not nil, is called with each response to searches in a collection by a
	// method; it must be quick and safe for concurrent use.
	Answered func(collection string, m batch.Method, resp *batch.Response)
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Log receives errors that clients do not see; nil discards them.
	Log *slog.Logger

	ended func(id string) // a batch is final
	disk  store.Disk
}

func (o *Options) fill() {
	o.Concurrency = cmp.Or(max(o.Concurrency, 0), 1)
	o.Waiting = cmp.Or(max(o.Waiting, 0), 1000)
	o.Chunk = cmp.Or(max(o.Chunk, 0), 1024)
	o.Slice = cmp.Or(max(o.Slice, 0), 256)
	o.Requests = cmp.Or(max(o.Requests, 0), 1<<22)
	o.LineBytes = cmp.Or(max(o.LineBytes, 0), 16<<20)
	o.Window = cmp.Or(max(o.Window, 0), 30*24*time.Hour)
	if o.Retry == nil {
		o.Retry = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}
