package catalog

import (
	"context"
	"errors"

	"go.etcd.io/bbolt"
)

// Catalog holds the collections of one folder. It is safe for concurrent use.
type Catalog struct {
	db *bbolt.DB
	o  Options
}

var errUnwritten = errors.New("not written yet")

// Open takes over dir, which is the catalog's own and is created if missing, and
// its bucket of db, which stays the caller's and must outlive the Catalog. What is
// recorded is loaded, and what was being built is built, in the background:
// see Ready. ctx is for what happens before Open returns.
func Open(ctx context.Context, dir string, db *bbolt.DB, o *Options) (*Catalog, error) {
	return nil, errUnwritten
}

// Ready is closed when all that was recorded has been loaded, or has failed to.
func (c *Catalog) Ready() <-chan struct{} { return nil }

// Create makes a collection, or with o.Replace a new version of one. It returns
// once the source is durable and what it tells of its size is known to fit; what
// is wrong with a row is found in the build. key, if not "", is the idempotency
// key: the same request under the same key gets the first one's version.
func (c *Catalog) Create(ctx context.Context, name string, src Source, o CreateOptions, key string) (Info, error) {
	return Info{}, errUnwritten
}

// Append makes a version that has src's rows behind those there are. Rows without
// ids get the integers after the greatest that ever was one; a collection of
// strings needs ids. See Create.
func (c *Catalog) Append(ctx context.Context, name string, src Source, key string) (Info, error) {
	return Info{}, errUnwritten
}

// Remove makes a version without the rows of these ids, all of which must exist,
// in the form of the collection's. What remains keeps its ids. A collection cannot
// lose all its rows. See Create.
func (c *Catalog) Remove(ctx context.Context, name string, ids Keys, key string) (Info, error) {
	return Info{}, errUnwritten
}

// Delete removes a collection. Searches under way end well, and pinned versions stay
// for those who name them.
func (c *Catalog) Delete(name string) error { return errUnwritten }

// List describes every collection, by name.
func (c *Catalog) List() []Info { return nil }

// Get describes a collection: its ready version, or else the one that is being made
// or that failed.
func (c *Catalog) Get(name string) (Info, error) { return Info{}, errUnwritten }

// Wait returns when the version is no longer being built or loaded: Info says
// whether it is Ready or Failed. Version 0 is the newest that was asked for.
func (c *Catalog) Wait(ctx context.Context, name string, version int64) (Info, error) {
	return Info{}, errUnwritten
}

// Use counts a use of a version, 0 being the ready one; the caller must Release
// it. Other versions can be used while they are pinned.
func (c *Catalog) Use(name string, version int64) (*Version, error) { return nil, errUnwritten }

// Pin keeps a version, durably, until owner unpins. An owner may have several.
func (c *Catalog) Pin(name string, version int64, owner string) error { return errUnwritten }

// Unpin drops all pins of owner, of which there may be none.
func (c *Catalog) Unpin(owner string) error { return errUnwritten }

// Owners lists who has pins, of those whose name begins with prefix.
func (c *Catalog) Owners(prefix string) ([]string, error) { return nil, errUnwritten }

// Close stops builds, which go on when the folder is opened again, waits until
// the last Version is released, and closes all.
func (c *Catalog) Close() error { return errUnwritten }
