package serve

import (
	"context"
	"io/fs"
	"path/filepath"

	"go.etcd.io/bbolt"

	"thresher/choice/serve/slates"
	"thresher/service/catalog"
	"thresher/service/extension"
	"thresher/store"
)

// slatesName is the database of slates in the data folder.
const slatesName = "slates.db"

// Slates is the extension of slates. It implements extension.OfCollections.
type Slates struct {
	o           Options
	store       *slates.Store // nil until Open
	catalog     *catalog.Catalog
	interactive func() (done func())
}

// Data implements extension.Extension.
func (s *Slates) Data() extension.Data {
	return extension.Data{Name: slatesName, Of: slates.CheckRecord, Mend: slates.Repair}
}

// Share implements extension.Extension.
func (s *Slates) Share() extension.Share {
	return extension.Share{Name: "slates", Limit: s.o.SlateMemory}
}

// Used implements extension.Extension.
func (s *Slates) Used() int64 { return s.store.Bytes() }

// Open implements extension.Extension. It deletes what is left of collections whose deletion was interrupted.
func (s *Slates) Open(_ context.Context, h *extension.Host) error {
	o := &slates.Options{Memory: h.Memory, Slates: s.o.Slates, Keep: s.o.SlateKeep, Threads: h.Threads}
	if err := h.Mending(slatesName, func() (err error) {
		s.store, err = slates.Open(filepath.Join(h.Dir, slatesName), o)
		return err
	}); err != nil {
		return err
	}
	s.catalog, s.interactive = h.Catalog, h.Interactive
	if s.o.Metrics != nil {
		s.o.Metrics.watchSlates(s.store.Bytes)
	}
	deleted, err := h.Catalog.Deleted()
	if err != nil {
		return err
	}
	return s.store.Sweep(deleted)
}

// Close implements extension.Extension.
func (s *Slates) Close(context.Context) error {
	if s.store == nil {
		return nil
	}
	return s.store.Close()
}

// Database implements extension.Extension.
func (s *Slates) Database() *bbolt.DB { return s.store.Database() }

// Check implements extension.Extension.
func (s *Slates) Check(ctx context.Context, _, own *bbolt.DB, tell func(store.Item)) error {
	if own == nil {
		return nil
	}
	return slates.Check(ctx, own, tell)
}

// Repair implements extension.Extension: the service's database has nothing of slates.
func (s *Slates) Repair(*bbolt.DB) error { return nil }

// Description implements extension.Extension.
func (s *Slates) Description() []byte { return part("slates") }

// Pages implements extension.Extension: the page that makes slates and takes feedback.
func (s *Slates) Pages() fs.FS {
	found, _ := fs.Sub(slatePages, "slatepages") // embedded, cannot fail
	return found
}

// Drop implements extension.OfCollections.
func (s *Slates) Drop(ctx context.Context, collection string, first func() error) error {
	return s.store.Drop(ctx, collection, first)
}
