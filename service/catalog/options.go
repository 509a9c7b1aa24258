package catalog

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/segments/folder"
	"thresher/service/files"
	"thresher/store"
)

// Opener makes an engine that searches c, the collection of the named version. The Catalog
// closes the engine, then the collection.
type Opener func(ctx context.Context, name string, c *collection.Collection) (*batch.Engine, error)

// Options configure a Catalog. Open is required; zero values of the others mean defaults.
type Options struct {
	Open Opener
	// Place is asked for each collection that changes by rows; nil: none can.
	Place Placer
	Files *files.Store // of Source.File; nil has none
	// Roots are the folders that may contain Source.Path.
	Roots []string
	// Linked says that prepared collections there are not changed by anybody: they are not copied but get a second name, where
	// the file system has them.
	Linked bool
	// Memory is the memory budget of all versions together, in bytes; 0 means none.
	Memory int64
	// MaxCollections, MaxRows of a collection, MaxDim, and MaxIDBytes of one id; 0 means
	// 1,024, collection.MaxAtoms, collection.MaxDim and 1,024.
	MaxCollections int
	MaxRows        int64
	MaxDim         int
	MaxIDBytes     int
	// DenseLimit and Budget are dataset.Options'; but ids have at most MaxIDBytes.
	DenseLimit int64
	Budget     *dataset.Budget
	// Patience is how long a change waits for earlier changes of the same collection; with 0
	// it is refused at once.
	Patience time.Duration
	// Threads of a build; 0 means GOMAXPROCS.
	Threads int
	// Coalesce configures the Coalescer of each version, except its Observer, which comes
	// from Runs; nil means the defaults.
	Coalesce *batch.CoalescerOptions
	Runs     func(name string) batch.RunObserver
	// OnRemoved, if not nil, is called with a name under which nothing is left, neither a
	// collection nor a version that is pinned or in use, before the name is used again. It
	// must not call the Catalog.
	OnRemoved func(name string)
	// LostOwner, if not "", gets the pins of replaced versions of which the database has lost who
	// pinned them, until it unpins.
	LostOwner string
	Log       *slog.Logger // nil means none
	// Now returns the time; nil means time.Now.
	Now func() time.Time

	disk   store.Disk
	atOnce int64 // bytes of rows that are written at once to a collection that changes by rows; 0: folder.MaxChangeBytes
}

// defaults sets zero options to their defaults.
func (o *Options) defaults() {
	o.MaxCollections = cmp.Or(max(o.MaxCollections, 0), 1024)
	o.MaxRows = min(cmp.Or(max(o.MaxRows, 0), collection.MaxAtoms), collection.MaxAtoms)
	o.atOnce = cmp.Or(o.atOnce, folder.MaxChangeBytes)
	o.MaxDim = min(cmp.Or(max(o.MaxDim, 0), collection.MaxDim), collection.MaxDim)
	o.MaxIDBytes = cmp.Or(max(o.MaxIDBytes, 0), 1024)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}
