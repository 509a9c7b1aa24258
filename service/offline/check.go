package offline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// Check checks the records of batches in bolt, which may be nil, and the notes in dir.
// Nothing is changed.
func Check(ctx context.Context, dir string, bolt *bbolt.DB, tell func(store.Item)) error {
	m := &Manager{dir: dir, ledger: ledger{db: bolt, dir: dir}}
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		return nil
	}
	notes, folders, err := m.list()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	if bolt != nil {
		err := bolt.View(func(tx *bbolt.Tx) error {
			for rec, err := range eachRecord(tx) {
				if err != nil {
					continue // it is damage of the database, and the batch unknown
				}
				known[rec.Batch.ID] = true
				i := store.Item{Kind: "batch", Name: rec.Batch.ID, Verdict: store.Intact, Detail: string(rec.Batch.Status)}
				if rec.Batch.Status == InProgress && !slices.Contains(folders, rec.Batch.ID) {
					i.Verdict, i.Detail = store.Missing, "in_progress, and its folder is not there: it begins anew"
				}
				if _, err := m.ledger.readNote(rec.Batch.ID); err != nil {
					i.Verdict, i.Detail = store.Broken, store.WithoutFolder(err)+"; a start writes it again"
				}
				tell(i)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, id := range notes {
		if known[id] {
			continue
		}
		i := store.Item{Kind: "batch", Name: id, Verdict: store.Unknown}
		if rec, err := m.ledger.readNote(id); err != nil {
			i.Verdict, i.Detail = store.Broken, store.WithoutFolder(err)
		} else {
			i.Detail = string(rec.Batch.Status)
		}
		tell(i)
	}
	for _, id := range folders {
		if !known[id] && !slices.Contains(notes, id) {
			tell(store.Item{Kind: "batch", Name: id, Verdict: store.Unknown, Detail: fmt.Sprintf("folder %s, and nothing says what it is", filepath.Base(id))})
		}
	}
	return ctx.Err()
}

// Repair rebuilds the index of batches by id.
func Repair(bolt *bbolt.DB) error {
	_, err := openLedger("", bolt, store.Disk{})
	return err
}
