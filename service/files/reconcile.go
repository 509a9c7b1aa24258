package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// The suffixes of a file's note, and of the note of a file that is being deleted.
const (
	aboutSuffix   = ".about"
	deletedSuffix = ".gone"
	aboutKind     = "file"
)

// about is the content of a file's note.
type about struct {
	File
	Key         string `json:"key,omitempty"` // idempotency key
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Found returns what Open found.
func (s *Store) Found() store.Found { return s.found }

// onDisk says which files of an id exist: the content, its note, its note marked as deleted.
type onDisk struct{ content, about, deleted bool }

// scan lists the folder by the ids of files.
func (s *Store) scan() (all map[string]onDisk, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	all = map[string]onDisk{}
	for _, e := range entries {
		name := e.Name()
		switch {
		case !e.Type().IsRegular():
		case strings.HasPrefix(name, idPrefix):
			id := strings.TrimSuffix(strings.TrimSuffix(name, aboutSuffix), deletedSuffix)
			l := all[id]
			l.content = l.content || name == id
			l.about = l.about || name == id+aboutSuffix
			l.deleted = l.deleted || name == id+deletedSuffix
			all[id] = l
		}
	}
	return all, nil
}

// reconcile compares the folder with the database, and updates both.
func (s *Store) reconcile() error {
	known := map[string]File{}
	var places map[string]uint64 // of files that the database has lost
	err := s.db.Update(func(tx *bbolt.Tx) (err error) {
		if err := Schema().Create(tx); err != nil {
			return err
		}
		if places, err = arrange(tx); err != nil {
			return err
		}
		for r, err := range eachRecord(tx) {
			if err != nil {
				return err
			}
			known[r.ID] = r.File
			s.used.Add(r.Bytes)
		}
		return nil
	})
	if err != nil {
		return err
	}
	all, err := s.scan()
	if err != nil {
		return err
	}
	if err := s.o.disk.Sweep(s.dir, func(name string) bool {
		return !strings.HasPrefix(name, temporary) && !store.Unfinished(name, idPrefix)
	}); err != nil {
		return err
	}
	for id, f := range known {
		if err := s.repairNote(f, all[id]); err != nil {
			return err
		}
	}
	var adopted []about
	for id, l := range all {
		if _, ok := known[id]; ok {
			continue
		}
		a, err := s.classify(id, l)
		if err != nil {
			return err
		}
		if a != nil {
			adopted = append(adopted, *a)
		}
	}
	return s.adopt(adopted, places)
}

// repairNote writes or renames the note of a file that the database knows, if it is missing,
// damaged or misnamed.
func (s *Store) repairNote(f File, l onDisk) error {
	at := filepath.Join(s.dir, f.ID)
	if !l.content {
		s.found.Missing = append(s.found.Missing, f.ID)
		s.o.Log.Error("a file's content is missing", "file", f.ID, "name", f.Name, "bytes", f.Bytes)
	}
	var err error
	switch {
	case l.about && l.deleted:
		err = s.o.disk.Remove(at + deletedSuffix)
	case l.deleted: // its deletion was interrupted
		err = s.o.disk.Rename(at+deletedSuffix, at+aboutSuffix)
	}
	if err != nil {
		return err
	}
	if err := s.checkNote(f.ID); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		s.o.Log.Warn("a damaged note was written again", "file", f.ID, "reason", err)
	}
	return s.o.disk.PutNote(at+aboutSuffix, aboutKind, about{File: f})
}

// checkNote returns what is wrong with the note of a file.
func (s *Store) checkNote(id string) error {
	var a about
	err := store.Note(filepath.Join(s.dir, id+aboutSuffix), aboutKind, &a)
	if err == nil && a.ID != id {
		err = fmt.Errorf("%s: %w: it is that of %s", id+aboutSuffix, store.ErrNote, a.ID)
	}
	return err
}

// classify decides about a file that the database does not know: it returns the note of a
// file to adopt, moves a file without a note, and removes a file that is marked as deleted.
func (s *Store) classify(id string, l onDisk) (*about, error) {
	at := filepath.Join(s.dir, id)
	if l.deleted {
		return nil, errors.Join(s.o.disk.Remove(at), s.o.disk.Remove(at+aboutSuffix), s.o.disk.Remove(at+deletedSuffix))
	}
	var a about
	why := "the database does not know it, and no note says what it is"
	if l.about {
		err := store.Note(at+aboutSuffix, aboutKind, &a)
		switch info, lost := os.Stat(at); {
		case err != nil:
			why = err.Error()
		case a.ID != id:
			why = "its note is that of " + a.ID
		case errors.Is(lost, fs.ErrNotExist): // never acknowledged, or nothing is left of it
			return nil, s.o.disk.Remove(at + aboutSuffix)
		case lost != nil:
			return nil, lost
		case info.Size() == a.Bytes:
			return &a, nil
		default:
			why = "it is not as long as its note says"
		}
	}
	return nil, errors.Join(s.found.Move(s.o.disk, s.o.Log, at, why), s.found.Move(s.o.disk, s.o.Log, at+aboutSuffix, why))
}

// adopt records files described by notes, in the order of their creation, or at their places.
func (s *Store) adopt(all []about, places map[string]uint64) error {
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b about) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID)) })
	var again []about // sent twice under one key, the second time interrupted
	err := s.db.Update(func(tx *bbolt.Tx) error {
		again = again[:0]
		for _, a := range all {
			first, free, err := firstOf(tx, a)
			if err != nil {
				return err
			}
			if first != nil && first.SHA256 == a.SHA256 {
				again = append(again, a)
				continue
			}
			text, err := putRecord(tx, a.File, places[a.ID])
			if err != nil {
				return err
			}
			if free {
				if err := store.PutKey(bucket(tx, keysBucket), a.Key, a.Fingerprint, text, a.CreatedAt); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return store.Full(err)
	}
	for _, a := range again {
		at := filepath.Join(s.dir, a.ID)
		if err := errors.Join(s.o.disk.Remove(at), s.o.disk.Remove(at+aboutSuffix)); err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(b about) bool { return b.ID == a.ID })
	}
	for _, a := range all {
		s.used.Add(a.Bytes)
		s.found.Adopted = append(s.found.Adopted, a.ID)
		s.o.Log.Warn("a file missing from the database was restored", "file", a.ID, "name", a.Name, "bytes", a.Bytes)
	}
	return nil
}

// firstOf returns the file that the database has under a's key, nil if there is none; free
// says that the key is unused, or that its file was deleted.
func firstOf(tx *bbolt.Tx, a about) (first *File, free bool, err error) {
	text, found, err := store.FindKey(bucket(tx, keysBucket), a.Key, a.Fingerprint, a.CreatedAt)
	if err != nil {
		return nil, false, nil // a key of another request does not prevent adoption
	}
	if !found {
		return nil, true, nil
	}
	r, err := readRecord([]byte(a.Key), text)
	if err != nil || !hasRecord(tx, r.ID) {
		return nil, err == nil, err
	}
	return &r.File, false, nil
}
