package service

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"thresher/choice/serve/slates"
	"thresher/choice/serve/tournaments"
	"thresher/service/catalog"
	"thresher/service/files"
	"thresher/service/offline"
	"thresher/store"
)

// Check reads everything in a data folder, which no server may have open, and reports the
// state of each thing. Nothing is changed.
func Check(ctx context.Context, dir string, tell func(store.Item)) error {
	if err := isDataFolder(dir); err != nil {
		return err
	}
	bolt, err := checkDatabase(dir, metaName, tell)
	if err != nil {
		return err
	}
	if bolt != nil {
		defer bolt.Close()
	}
	for _, check := range []func() error{
		func() error { return catalog.Check(ctx, filepath.Join(dir, collectionsName), bolt, tell) },
		func() error { return files.Check(ctx, filepath.Join(dir, filesName), bolt, tell) },
		func() error { return offline.Check(ctx, filepath.Join(dir, batchesName), bolt, tell) },
		func() error {
			if bolt == nil {
				return nil
			}
			return tournaments.Check(ctx, bolt, tell)
		},
		func() error { return checkSlates(ctx, dir, tell) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// isDataFolder returns an error if dir is no folder, or of a format that this program does not know.
func isDataFolder(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a folder")}
	}
	if err != nil {
		return err
	}
	_, err = checkFormat(dir)
	return err
}

// checkDatabase reports the state of a database, and opens it if all its pages are intact.
func checkDatabase(dir, name string, tell func(store.Item)) (*bbolt.DB, error) {
	path := filepath.Join(dir, name)
	i := store.Item{Kind: "database", Name: name, Verdict: store.Intact}
	err := store.Check(path, checksOf(name)...)
	var d *store.Damaged
	switch {
	case errors.Is(err, fs.ErrNotExist):
		i.Verdict = store.Missing
		tell(i)
		return nil, nil
	case errors.As(err, &d):
		for _, fault := range d.Faults {
			i.Verdict, i.Detail = store.Broken, fault
			tell(i)
		}
	case err != nil:
		return nil, err
	default:
		tell(i)
	}
	bolt, _, err := store.Open(path, nil) // if only records are damaged
	if errors.As(err, &d) {
		return nil, nil
	}
	return bolt, err
}

func checkSlates(ctx context.Context, dir string, tell func(store.Item)) error {
	bolt, err := checkDatabase(dir, slatesName, tell)
	if err != nil || bolt == nil {
		return err
	}
	defer bolt.Close()
	return slates.Check(ctx, bolt, tell)
}

// Repaired is the result of Repair.
type Repaired struct {
	// Databases were damaged: each was rebuilt.
	Databases []MendedDatabase `json:"databases"`
	// Collections and Files were adopted; unrecognised files were moved.
	Collections []string      `json:"collections"`
	Files       []string      `json:"files"`
	Moved       []store.Moved `json:"moved"`
}

// Repair does what a start does with the data folder, which no server may have open: it rebuilds
// damaged databases, and records all collections and files that exist. Batches are adopted when a
// server starts. Nothing is deleted.
func Repair(dir string, log *slog.Logger) (*Repaired, error) {
	if err := isDataFolder(dir); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	r := &Repaired{Databases: []MendedDatabase{}, Collections: []string{}, Files: []string{}, Moved: []store.Moved{}}
	meta, err := r.database(dir, metaName, log)
	if err != nil {
		return r, err
	}
	defer meta.Close()
	if _, err := os.Stat(filepath.Join(dir, slatesName)); err == nil { // a start makes one that is missing
		bolt, err := r.database(dir, slatesName, log)
		if err == nil {
			err = bolt.Close()
		}
		if err != nil {
			return r, err
		}
	}
	return r, r.index(dir, meta, log)
}

// database opens a database, and rebuilds it before if it is damaged.
func (r *Repaired) database(dir, name string, log *slog.Logger) (bolt *bbolt.DB, err error) {
	m, err := mending(dir, name, log, func() error {
		bolt, _, err = store.Open(filepath.Join(dir, name), &store.Options{Checks: checksOf(name)})
		return err
	})
	if m != nil {
		r.Databases = append(r.Databases, *m)
	}
	return bolt, err
}

// index records in bolt everything that exists.
func (r *Repaired) index(dir string, meta *bbolt.DB, log *slog.Logger) error {
	f, err := files.Open(filepath.Join(dir, filesName), meta, &files.Options{Log: log})
	if err != nil {
		return err
	}
	r.Files, r.Moved = append(r.Files, f.Found().Adopted...), append(r.Moved, f.Found().Kept...)
	c, err := catalog.Repair(filepath.Join(dir, collectionsName), meta, catalog.Options{Log: log})
	if err != nil {
		return err
	}
	r.Collections, r.Moved = append(r.Collections, c.Adopted...), append(r.Moved, c.Kept...)
	return errors.Join(tournaments.Repair(meta), offline.Repair(meta))
}
