package offline

import (
	"context"
	"errors"
	"sync"

	"thresher/batch"
	"thresher/collection"
	"thresher/service/catalog"
	"thresher/service/files"
	"thresher/service/problem"
	"thresher/service/wire"
	"thresher/tasks"
)

// library is the part of a catalog that batches use.
type library interface {
	// pin pins what the current version holds for owner, and returns the version that has it. While there is none yet it
	// fails (problem.NotReady).
	pin(ctx context.Context, name, owner string) (version int64, err error)
	// pinAgain pins a version that an earlier process pinned.
	pinAgain(name string, version int64, owner string) error
	// wait returns once the collection has been loaded or built for the first time, or has
	// failed to.
	wait(ctx context.Context, name string) error
	unpin(owner string) error
	owners(prefix string) ([]string, error)
	// use opens a pinned version, waiting until it is loaded.
	use(ctx context.Context, name string, version int64) (shelf, error)
}

// shelf is a version in use.
type shelf interface {
	tasks.Searcher
	dim() int
	len() int
	// coordinates are the names of the coordinates, nil if they have none.
	coordinates() []string
	metric() collection.Metric
	// origin is what queries are taken relative to before they are rounded; nil is zero.
	origin() []float64
	// float64s reports whether the vectors are kept as float64, so that queries are taken as they are given; origin is nil then.
	float64s() bool
	// rows returns the row numbers of the ids that a request lists; nil for a nil list.
	rows(l *wire.IDList, field string) ([]int64, error)
	naming() wire.Naming
	// state is which version the vectors are, and how many writes it had seen if it changes by rows, else nil.
	state() (version int64, writes *uint64)
	// shard describes the vectors, as answers state it.
	shard() tasks.Shard
	release()
}

// fileStore is the part of the file store that batches use.
type fileStore interface {
	Get(id string) (files.File, error)
	Path(id string) (string, files.File, error)
	Hold(id, owner string) error
	Release(owner string) error
	Owners(prefix string) ([]string, error)
	Adopt(ctx context.Context, path, name, purpose, key, maker string) (files.File, error)
}

// inCatalog implements library with a catalog.
type inCatalog struct {
	c *catalog.Catalog
	shared
}

// shared holds the Options that all searches use.
type shared struct {
	answered func(collection string, m batch.Method, resp *batch.Response)
	withhold func() bool
	turns    func() (batch.Turns, func())
}

func (l inCatalog) pin(ctx context.Context, name, owner string) (int64, error) {
	return l.c.PinNow(ctx, name, owner)
}

func (l inCatalog) pinAgain(name string, version int64, owner string) error {
	return l.c.PinAgain(name, version, owner)
}

func (l inCatalog) wait(ctx context.Context, name string) error {
	info, err := l.c.Get(name)
	if err != nil {
		return err
	}
	_, err = l.c.Wait(ctx, name, info.Version)
	return err
}

func (l inCatalog) unpin(owner string) error               { return l.c.Unpin(owner) }
func (l inCatalog) owners(prefix string) ([]string, error) { return l.c.Owners(prefix) }

func (l inCatalog) use(ctx context.Context, name string, version int64) (shelf, error) {
	v, err := l.c.Use(name, version)
	if notReady(err) {
		if _, err := l.c.Wait(ctx, name, version); err != nil {
			return nil, err
		}
		v, err = l.c.Use(name, version)
	}
	if err != nil {
		return nil, err
	}
	shard := sync.OnceValue(func() tasks.Shard { return tasks.ShardOf(v.Collection(), v.IDs().Text()) })
	return inUse{v, name, shard, l.shared}, nil
}

// notReady reports whether err says that a collection is still being loaded or built.
func notReady(err error) bool {
	var p *problem.Problem
	return errors.As(err, &p) && p.Kind == problem.NotReady
}

// inUse implements shelf with a version.
type inUse struct {
	v    *catalog.Version
	name string
	of   func() tasks.Shard
	shared
}

func (u inUse) dim() int { return u.v.Dim() }
func (u inUse) len() int { return u.v.Len() }

func (u inUse) coordinates() []string { return u.v.Coordinates() }
func (u inUse) origin() []float64     { return u.v.QueryOrigin() }
func (u inUse) float64s() bool        { return u.v.Float64() }

func (u inUse) metric() collection.Metric { return u.v.Collection().Metric }

func (u inUse) shard() tasks.Shard { return u.of() }

func (u inUse) state() (version int64, writes *uint64) { return u.v.State() }

func (u inUse) release() { u.v.Release() }

func (u inUse) Search(ctx context.Context, req batch.Request) (*batch.Response, error) {
	if u.turns != nil {
		turns, end := u.turns()
		defer end()
		req.Turns = turns
	}
	resp, err := u.v.Direct(ctx, req)
	if resp != nil && u.answered != nil {
		u.answered(u.name, req.Method, resp)
	}
	if resp != nil && u.withhold != nil && u.withhold() {
		wire.Withhold(resp)
	}
	return resp, err
}

func (u inUse) rows(l *wire.IDList, field string) ([]int64, error) {
	if l == nil {
		return nil, nil
	}
	if l.Where != nil {
		return u.v.RowsFor(l.Where, field)
	}
	return u.v.IDs().Rows(&catalog.Keys{Ints: l.Ints, Names: l.Names}, field)
}

func (u inUse) naming() wire.Naming {
	naming := wire.Naming{Metric: u.metric()}
	switch ids := u.v.IDs(); ids.Kind() {
	case catalog.Integers:
		naming.Int = ids.Int
	case catalog.Strings:
		naming.Name, naming.Digits = ids.Name, ids.Digits
	}
	return naming
}
