package offline

import (
	"cmp"
	"log/slog"
	"time"

	"thresher/batch"
	"thresher/service/catalog"
	"thresher/service/durable"
	"thresher/service/files"
	"thresher/service/wire"
)

// Options configure a Manager. Catalog and Files are needed; zero values of the rest
// mean defaults.
type Options struct {
	Catalog *catalog.Catalog
	Files   *files.Store
	// Limits are those of one request.
	Limits wire.Limits
	// Concurrency is how many batches are answered at once; 0 means 1.
	Concurrency int
	// Waiting is how many others there may be that are not final; 0 means 1,000.
	Waiting int
	// Chunk is about how many queries become durable together; 0 means 1,024. A
	// request with more queries is a chunk of its own.
	Chunk int
	// Slice is how many queries are searched at once, between which interactive
	// searches go first; 0 means 256.
	Slice int
	// Requests is the most requests a batch may have; 0 means 4,194,304.
	Requests int64
	// LineBytes is the longest line of a file of requests; 0 means 16 MiB.
	LineBytes int
	// Window is the longest completion window; 0 means 30 days.
	Window time.Duration
	// Retry is how long to wait before a batch goes on whose storage or backend
	// failed, once for each; nil means 5 s, 30 s, 2 min. Then it fails, with what is
	// answered.
	Retry []time.Duration
	// Withhold, if not nil, says whether what wire.Withhold does is left out of
	// certificates: clients may read results who are not told more.
	Withhold func() bool
	// Turns, if not nil, has a search share the machine with those of clients, until end
	// is called.
	Turns func() (turns batch.Turns, end func())
	// Answered, if not nil, is told of each response to searches in a collection by a
	// method; it must be quick and safe for concurrent use.
	Answered func(collection string, m batch.Method, resp *batch.Response)
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Log is told what clients are not; nil discards.
	Log *slog.Logger

	ended func(id string) // a batch is final
	disk  durable.Disk
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
