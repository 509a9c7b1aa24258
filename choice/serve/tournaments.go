package serve

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"thresher/choice/serve/tournaments"
	"thresher/service/backup"
	"thresher/service/extension"
	"thresher/store"
)

// transcriptsName is the folder of the transcripts of tournaments.
const transcriptsName = "tournaments"

// Tournaments is the extension of tournaments. It implements extension.Expiring.
type Tournaments struct {
	o     Options
	store *tournaments.Store // nil until Open
	log   *slog.Logger
}

// Data implements extension.Extension.
func (t *Tournaments) Data() extension.Data {
	return extension.Data{
		Records: tournaments.Schema().CheckRecord, Lost: "tournaments",
		Folder: backup.Folder{Name: transcriptsName, Known: tournaments.Known},
	}
}

// Share implements extension.Extension.
func (t *Tournaments) Share() extension.Share {
	return extension.Share{Name: "tournaments", Limit: t.o.TournamentMemory}
}

// Used implements extension.Extension.
func (t *Tournaments) Used() int64 { return t.store.Memory() }

// Open implements extension.Extension.
func (t *Tournaments) Open(_ context.Context, h *extension.Host) error {
	dir := filepath.Join(h.Dir, transcriptsName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	o := &tournaments.Options{Most: t.o.Tournaments, Arms: t.o.Arms, Duels: t.o.Duels, Memory: h.Memory, Dir: dir, Log: h.Log}
	if t.o.Metrics != nil {
		o.Watch = t.o.Metrics
	}
	opened, err := tournaments.Open(h.Meta, o)
	if err != nil {
		return err
	}
	t.store, t.log = opened, h.Log
	if t.o.Metrics != nil {
		t.o.Metrics.watchTournaments(opened.Counts)
	}
	return nil
}

// Close implements extension.Extension.
func (t *Tournaments) Close(ctx context.Context) error {
	if t.store != nil {
		t.store.Close(ctx)
	}
	return nil
}

// Database implements extension.Extension: there is none.
func (t *Tournaments) Database() *bbolt.DB { return nil }

// Check implements extension.Extension.
func (t *Tournaments) Check(ctx context.Context, meta, _ *bbolt.DB, tell func(store.Item)) error {
	if meta == nil {
		return nil
	}
	return tournaments.Check(ctx, meta, tell)
}

// Repair implements extension.Extension.
func (t *Tournaments) Repair(meta *bbolt.DB) error { return tournaments.Repair(meta) }

// Description implements extension.Extension.
func (t *Tournaments) Description() []byte { return part("tournaments") }

// Pages implements extension.Extension.
func (t *Tournaments) Pages() fs.FS {
	found, _ := fs.Sub(pages, "pages") // embedded, cannot fail
	return found
}

// Keep implements extension.Expiring.
func (t *Tournaments) Keep() time.Duration { return t.o.TournamentKeep }

// Kind implements extension.Expiring.
func (t *Tournaments) Kind() string { return "tournaments" }

// Expire implements extension.Expiring.
func (t *Tournaments) Expire(ctx context.Context, before time.Time, tell func(id string)) error {
	return t.store.Expire(ctx, before, tell)
}
