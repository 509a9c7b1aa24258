package catalog

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/service/durable"
	"thresher/service/files"
)

// Opener makes an engine that searches c, which belongs to the version of that
// name. The Catalog closes the engine, then the collection.
type Opener func(ctx context.Context, name string, c *collection.Collection) (*batch.Engine, error)

// Options configure a Catalog. Open is needed; zero values of the rest mean
// defaults.
type Options struct {
	Open  Opener
	Files *files.Store // of Source.File; nil has none
	// Roots are the folders that Source.Path may lie in.
	Roots []string
	// Memory is the budget in bytes of all versions together; 0 is none.
	Memory int64
	// MaxCollections, MaxRows of a collection, MaxDim and MaxIDBytes of one id;
	// 0 means 1,024, collection.MaxAtoms, collection.MaxDim and 1,024.
	MaxCollections int
	MaxRows        int64
	MaxDim         int
	MaxIDBytes     int
	// Patience is how long a change waits for others of the same collection that came
	// first; with 0 it is refused at once.
	Patience time.Duration
	// Threads of a build; 0 means GOMAXPROCS.
	Threads int
	// Coalesce configures the Coalescer of each version but for its Observer, which
	// Runs makes; nil means the defaults.
	Coalesce *batch.CoalescerOptions
	Runs     func(name string) batch.RunObserver
	// OnRemoved, if not nil, is told of a name under which nothing is left, neither a
	// collection nor a version that is pinned or in use, before there is anything anew.
	// It must not call the Catalog.
	OnRemoved func(name string)
	Log       *slog.Logger // nil means none

	disk durable.Disk
}

// defaults fills in what is zero.
func (o *Options) defaults() {
	o.MaxCollections = cmp.Or(max(o.MaxCollections, 0), 1024)
	o.MaxRows = min(cmp.Or(max(o.MaxRows, 0), collection.MaxAtoms), collection.MaxAtoms)
	o.MaxDim = min(cmp.Or(max(o.MaxDim, 0), collection.MaxDim), collection.MaxDim)
	o.MaxIDBytes = cmp.Or(max(o.MaxIDBytes, 0), 1024)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}
