package extension

import (
	"context"
	"io/fs"
	"log/slog"
	"time"

	"go.etcd.io/bbolt"

	"thresher/service/backup"
	"thresher/service/catalog"
	"thresher/store"
)

// MetaName is the name of the service's database in the data folder.
const MetaName = "meta.db"

// Extension is a kind of things that the service keeps and serves. One value serves one server; what it does
// not need a server for, it does without Open.
type Extension interface {
	// Data describes what the extension keeps in the data folder.
	Data() Data
	// Share is its share of the memory of the server, and Used what of it is in use, in bytes.
	Share() Share
	Used() int64

	// Open opens what there is, before the server answers requests; Close makes it durable, and is called
	// also if Open failed or was not called. It may go on when ctx has ended only for a moment.
	Open(ctx context.Context, h *Host) error
	Close(ctx context.Context) error
	// Database is the open database of its own, nil if it has none.
	Database() *bbolt.DB

	// Check reports the state of each thing. Nothing is changed, and no server has the folder open.
	// Databases that cannot be opened are nil.
	Check(ctx context.Context, meta, own *bbolt.DB, tell func(store.Item)) error
	// Repair makes the records of the service's database consistent.
	Repair(meta *bbolt.DB) error

	// Routes are the paths that it serves, the same before and after Open. Description describes them, as
	// a part of the service's openapi.yaml (see Join).
	Routes() []Route
	Description() []byte
	// Pages are files of the web page, served under /web/; nil for none.
	Pages() fs.FS
}

// Data is what an extension keeps in the data folder; all members may be empty.
type Data struct {
	// Records checks its records in the service's database.
	Records store.CheckRecord
	// Lost names what cannot be restored if that database is lost.
	Lost string
	// Name is the name of a database of its own, Of checks the records of it, and Mend completes what could
	// be read of it after it was damaged.
	Name string
	Of   store.CheckRecord
	Mend func(path string) error
	// Folder is a folder of files.
	Folder backup.Folder
}

// Share is a part of the memory of a server: a sixteenth of it, and at most Limit bytes.
type Share struct {
	Name  string // in logs and metrics
	Limit int64
}

// Host is what a server gives an extension.
type Host struct {
	Dir     string    // the data folder
	Meta    *bbolt.DB // the service's database
	Catalog *catalog.Catalog
	// Memory is the extension's share, in bytes, and Threads how many threads it may use; 0 means GOMAXPROCS.
	Memory  int64
	Threads int
	// Mending opens a database in the data folder by open, once more after mending it if that finds it damaged.
	Mending func(name string, open func() error) error
	// Interactive keeps offline jobs from beginning work until done is called.
	Interactive func() (done func())
	Log         *slog.Logger
}

// OfCollections is an extension that keeps things of collections.
type OfCollections interface {
	Extension
	// Drop deletes what it keeps of a collection, once nobody uses it, and waits for that until ctx ends.
	// It calls first before; if first fails, nothing is deleted.
	Drop(ctx context.Context, collection string, first func() error) error
}

// Expiring is an extension whose things are removed when they are old.
type Expiring interface {
	Extension
	// Keep is how long they are kept, 0 for ever. Kind is what the log and the metrics call them.
	Keep() time.Duration
	Kind() string
	// Expire removes what ended before a time, and tells the id of each.
	Expire(ctx context.Context, before time.Time, tell func(id string)) error
}
