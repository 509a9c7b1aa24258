package service

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"thresher/service/catalog"
	"thresher/service/extension"
	"thresher/service/files"
	"thresher/service/offline"
	"thresher/store"
)

// Check reads everything in a data folder, which no server may have open, and reports the
// state of each thing. Nothing is changed.
func (x Extensions) Check(ctx context.Context, dir string, tell func(store.Item)) error {
	if err := IsDataFolder(dir); err != nil {
		return err
	}
	bolt, err := x.checkDatabase(dir, metaName, tell)
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
	} {
		if err := check(); err != nil {
			return err
		}
	}
	for _, one := range x {
		if err := x.checkOne(ctx, dir, one, bolt, tell); err != nil {
			return err
		}
	}
	return nil
}

// checkOne reports the state of what an extension keeps.
func (x Extensions) checkOne(ctx context.Context, dir string, one extension.Extension, meta *bbolt.DB, tell func(store.Item)) error {
	name := one.Data().Name
	if name == "" {
		return one.Check(ctx, meta, nil, tell)
	}
	own, err := x.checkDatabase(dir, name, tell)
	if err != nil {
		return err
	}
	if own != nil {
		defer own.Close()
	}
	return one.Check(ctx, meta, own, tell)
}

// IsDataFolder returns an error if dir is no folder, or of a format that this program does not know.
func IsDataFolder(dir string) error {
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
func (x Extensions) checkDatabase(dir, name string, tell func(store.Item)) (*bbolt.DB, error) {
	path := filepath.Join(dir, name)
	i := store.Item{Kind: "database", Name: name, Verdict: store.Intact}
	err := store.Check(path, x.checksOf(name)...)
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

// Repaired is the result of Repair.
type Repaired struct {
	// Databases were damaged: each was rebuilt.
	Databases []MendedDatabase `json:"databases"`
	// Collections and Files were adopted; unrecognised files were moved.
	Collections []string      `json:"collections"`
	Files       []string      `json:"files"`
	Moved       []store.Moved `json:"moved"`

	extensions Extensions
}

// Repair does what a start does with the data folder, which no server may have open: it rebuilds
// damaged databases, and records all collections and files that exist. Batches are adopted when a
// server starts. Nothing is deleted.
func (x Extensions) Repair(dir string, log *slog.Logger) (*Repaired, error) {
	if err := IsDataFolder(dir); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	r := &Repaired{extensions: x, Databases: []MendedDatabase{}, Collections: []string{}, Files: []string{}, Moved: []store.Moved{}}
	meta, err := r.database(dir, metaName, log)
	if err != nil {
		return r, err
	}
	defer meta.Close()
	for _, name := range x.databases() {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil { // a start makes one that is missing
			continue
		}
		bolt, err := r.database(dir, name, log)
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
	m, err := r.extensions.mending(dir, name, log, func() error {
		bolt, _, err = store.Open(filepath.Join(dir, name), &store.Options{Checks: r.extensions.checksOf(name)})
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
	for _, one := range r.extensions {
		err = errors.Join(err, one.Repair(meta))
	}
	return errors.Join(err, offline.Repair(meta))
}
