package files

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// Check reads every file in dir completely and compares it with its record in bolt, which may
// be nil. Nothing is changed.
func Check(ctx context.Context, dir string, bolt *bbolt.DB, tell func(store.Item)) error {
	s := &Store{dir: dir, db: bolt}
	if missing(dir) {
		return nil
	}
	folder, err := s.scan()
	if err != nil {
		return err
	}
	known := map[string]File{}
	if bolt != nil {
		err = bolt.View(func(tx *bbolt.Tx) error {
			for r, err := range eachRecord(tx) {
				if err == nil { // what is damaged is damage of the database, and the file unknown
					known[r.ID] = r.File
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		i, err := s.compare(ctx, known[id])
		if err != nil {
			return err
		}
		if err := s.checkNote(id); err != nil && i.Verdict == store.Intact && !folder[id].deleted {
			i.Verdict, i.Detail = store.Broken, store.WithoutFolder(err)+"; a start writes it again"
		}
		tell(i)
	}
	for _, id := range slices.Sorted(maps.Keys(folder)) {
		l := folder[id]
		if _, ok := known[id]; ok || l.deleted {
			continue
		}
		var a about
		switch err := store.Note(filepath.Join(dir, id+aboutSuffix), aboutKind, &a); {
		case !l.content && err == nil: // never acknowledged
		case err != nil:
			tell(store.Item{Kind: "file", Name: id, Verdict: store.Unknown, Detail: "nothing says what it is: " + store.WithoutFolder(err)})
		default:
			i, err := s.compare(ctx, a.File)
			if err != nil {
				return err
			}
			if i.Verdict == store.Intact {
				i.Verdict = store.Unknown
			}
			tell(i)
		}
	}
	return nil
}

// compare reads a file and compares it with its record.
func (s *Store) compare(ctx context.Context, f File) (store.Item, error) {
	i := store.Item{Kind: "file", Name: f.ID, Verdict: store.Intact, Detail: fmt.Sprintf("%q, %d bytes", f.Name, f.Bytes)}
	r, err := os.Open(filepath.Join(s.dir, f.ID))
	if os.IsNotExist(err) {
		i.Verdict = store.Missing
		return i, nil
	}
	if err != nil {
		return i, err
	}
	defer r.Close()
	n, sum, err := store.Measure(ctx, r, nil)
	if err != nil {
		return i, err
	}
	if n != f.Bytes || sum != f.SHA256 {
		i.Verdict = store.Broken
		i.Detail = fmt.Sprintf("%q has %d bytes of SHA-256 %s, it had %d of %s", f.Name, n, sum, f.Bytes, f.SHA256)
	}
	return i, nil
}
