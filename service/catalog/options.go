package catalog

import (
	"context"
	"log/slog"

	"thresher/batch"
	"thresher/collection"
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
	// Threads of a build; 0 means GOMAXPROCS.
	Threads int
	// Coalesce configures the Coalescer of each version but for its Observer, which
	// Runs makes; nil means the defaults.
	Coalesce *batch.CoalescerOptions
	Runs     func(name string) batch.RunObserver
	// Changed, if not nil, is told of each collection whose version, state or size
	// changed, and of those deleted, with gone set. It must be quick and must not
	// call the Catalog.
	Changed func(info Info, gone bool)
	Log     *slog.Logger // nil means none
}
