package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"

	"thresher/service/db"
	"thresher/service/durable"
)

// Check reads every file in dir completely and compares it with its record in bolt, which may
// be nil. Nothing is changed.
func Check(ctx context.Context, dir string, bolt *bbolt.DB, tell func(db.Item)) error {
	s := &Store{dir: dir, db: bolt}
	if missing(dir) {
		return nil
	}
	folder, _, err := s.scan()
	if err != nil {
		return err
	}
	known := map[string]File{}
	if bolt != nil {
		err = bolt.View(func(tx *bbolt.Tx) error {
			if bucket(tx, recordsBucket) == nil {
				return nil // the server stopped before creating it
			}
			return eachFile(tx, func(f File) { known[f.ID] = f })
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
		tell(i)
	}
	for _, id := range slices.Sorted(maps.Keys(folder)) {
		l := folder[id]
		if _, ok := known[id]; ok || l.deleted {
			continue
		}
		var a about
		switch err := durable.Note(filepath.Join(dir, id+aboutSuffix), aboutKind, &a); {
		case !l.content && err == nil: // never acknowledged
		case err != nil:
			tell(db.Item{Kind: "file", Name: id, Verdict: db.Unknown, Detail: "nothing says what it is: " + durable.WithoutFolder(err)})
		default:
			i, err := s.compare(ctx, a.File)
			if err != nil {
				return err
			}
			if i.Verdict == db.Intact {
				i.Verdict = db.Unknown
			}
			tell(i)
		}
	}
	return nil
}

// compare reads a file and compares it with its record.
func (s *Store) compare(ctx context.Context, f File) (db.Item, error) {
	i := db.Item{Kind: "file", Name: f.ID, Verdict: db.Intact, Detail: fmt.Sprintf("%q, %d bytes", f.Name, f.Bytes)}
	r, err := os.Open(filepath.Join(s.dir, f.ID))
	if os.IsNotExist(err) {
		i.Verdict = db.Missing
		return i, nil
	}
	if err != nil {
		return i, err
	}
	defer r.Close()
	n, sum, err := durable.Measure(ctx, r, nil)
	if err != nil {
		return i, err
	}
	if n != f.Bytes || sum != f.SHA256 {
		i.Verdict = db.Broken
		i.Detail = fmt.Sprintf("%q has %d bytes of SHA-256 %s, it had %d of %s", f.Name, n, sum, f.Bytes, f.SHA256)
	}
	return i, nil
}

// Repair rebuilds the order of the files that bolt knows, and adopts those that lie in dir,
// as Open does.
func Repair(dir string, bolt *bbolt.DB, o *Options) (Found, error) {
	err := bolt.Update(func(tx *bbolt.Tx) error {
		if err := createBuckets(tx); err != nil {
			return err
		}
		root := tx.Bucket([]byte(rootBucket))
		if err := root.DeleteBucket([]byte(orderBucket)); err != nil {
			return err
		}
		order, err := root.CreateBucket([]byte(orderBucket))
		if err != nil {
			return err
		}
		return bucket(tx, recordsBucket).ForEach(func(id, text []byte) error {
			var r record
			if err := db.ReadJSON("file "+string(id), text, &r); err != nil {
				return err
			}
			return errors.Join(order.SetSequence(max(order.Sequence(), r.Number)), order.Put(db.Key(r.Number), id))
		})
	})
	if err != nil {
		return Found{}, err
	}
	s, err := Open(dir, bolt, o)
	if err != nil {
		return Found{}, err
	}
	return s.Found(), nil
}
