package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"thresher/service/catalog"
	"thresher/service/db"
	"thresher/service/durable"
	"thresher/service/files"
	"thresher/service/lostfound"
	"thresher/service/offline"
	"thresher/service/slates"
	"thresher/service/tournaments"
)

// Check reads everything in a data folder, which no server may have open, and reports the
// state of each thing. Nothing is changed.
func Check(ctx context.Context, dir string, tell func(db.Item)) error {
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

// checkDatabase reports the state of a database, and opens it if it is intact.
func checkDatabase(dir, name string, tell func(db.Item)) (*bbolt.DB, error) {
	path := filepath.Join(dir, name)
	i := db.Item{Kind: "database", Name: name, Verdict: db.Intact}
	err := db.Check(path)
	var d *db.Damaged
	switch {
	case errors.Is(err, fs.ErrNotExist):
		i.Verdict = db.Missing
	case errors.As(err, &d):
		i.Verdict, i.Detail = db.Broken, d.Err.Error()
	case err != nil:
		return nil, err
	}
	tell(i)
	if i.Verdict != db.Intact {
		return nil, nil
	}
	bolt, _, err := db.Open(path, nil)
	return bolt, err
}

func checkSlates(ctx context.Context, dir string, tell func(db.Item)) error {
	bolt, err := checkDatabase(dir, slatesName, tell)
	if err != nil || bolt == nil {
		return err
	}
	if err := bolt.Close(); err != nil {
		return err
	}
	return slates.Check(ctx, filepath.Join(dir, slatesName), tell)
}

// Repaired is the result of Repair.
type Repaired struct {
	// Databases were damaged: each was moved and rebuilt.
	Databases []RepairedDatabase `json:"databases"`
	// Collections and Files were adopted; unrecognised files were moved.
	Collections []string          `json:"collections"`
	Files       []string          `json:"files"`
	Moved       []lostfound.Moved `json:"moved"`
}

// RepairedDatabase is the result of salvaging a damaged database.
type RepairedDatabase struct {
	Name    string   `json:"name"`
	MovedTo string   `json:"moved_to"`
	Buckets int      `json:"buckets"`
	Keys    int      `json:"keys"`
	Lost    []string `json:"lost"` // some of its faults
}

// Repair moves the damaged databases of a data folder, which no server may have open, to
// lost+found, rebuilds them from what can be read, and records all collections and files that
// exist. Batches are adopted when a server starts. Nothing is deleted.
func Repair(dir string, log *slog.Logger) (*Repaired, error) {
	if err := isDataFolder(dir); err != nil {
		return nil, err
	}
	r := &Repaired{Databases: []RepairedDatabase{}, Collections: []string{}, Files: []string{}, Moved: []lostfound.Moved{}}
	for _, name := range []string{metaName, slatesName} { // nothing is changed while one of them is in use
		if err := db.Check(filepath.Join(dir, name)); errors.Is(err, db.ErrInUse) {
			return nil, err
		}
	}
	for _, name := range []string{metaName, slatesName} {
		if err := r.database(dir, name); err != nil {
			return r, err
		}
	}
	if n := len(r.Databases); n > 0 && r.Databases[n-1].Name == slatesName {
		if err := slates.Repair(filepath.Join(dir, slatesName)); err != nil {
			return r, err
		}
	}
	meta, _, err := db.Open(filepath.Join(dir, metaName), nil)
	if err != nil {
		return r, err
	}
	defer meta.Close()
	return r, r.index(dir, meta, log)
}

// database rebuilds a damaged database.
func (r *Repaired) database(dir, name string) error {
	path := filepath.Join(dir, name)
	err := db.Check(path)
	var d *db.Damaged
	if !errors.As(err, &d) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	moved, err := lostfound.In(dir).Move(durable.Disk{}, path, "damaged: "+d.Err.Error())
	if err != nil {
		return err
	}
	s, err := db.Salvage(filepath.Join(dir, moved.To), path)
	if err != nil {
		return fmt.Errorf("%s was moved to %s, and another could not be made: %w", path, moved.To, err)
	}
	r.Databases = append(r.Databases, RepairedDatabase{name, moved.To, s.Buckets, s.Keys, s.Lost})
	return nil
}

// index records in bolt everything that exists.
func (r *Repaired) index(dir string, meta *bbolt.DB, log *slog.Logger) error {
	f, err := files.Repair(filepath.Join(dir, filesName), meta, &files.Options{Log: log})
	if err != nil {
		return err
	}
	r.Files, r.Moved = append(r.Files, f.Adopted...), append(r.Moved, f.Kept...)
	c, err := catalog.Repair(filepath.Join(dir, collectionsName), meta, catalog.Options{Log: log})
	if err != nil {
		return err
	}
	r.Collections, r.Moved = append(r.Collections, c.Adopted...), append(r.Moved, c.Kept...)
	return errors.Join(tournaments.Repair(meta), offline.Repair(meta))
}
