package files

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// Options configure a Store; nil means no limits.
type Options struct {
	MaxBytes int64 // of one file that Create stores; 0 is no limit
	Total    int64 // bytes of all files together; 0 is no limit

	Log *slog.Logger // nil means none

	disk store.Disk
}

// Store holds files. It is safe for concurrent use.
type Store struct {
	dir  string
	db   *bbolt.DB
	o    Options
	used atomic.Int64 // bytes of all files, including those being written

	deleting sync.Mutex

	found store.Found
}

const (
	idPrefix  = "file-"
	temporary = ".new-" // prefix of the names of incomplete files
)

// Open opens the store in dir, which belongs to the store and is created if missing, and in
// its bucket of bolt, which belongs to the caller.
func Open(dir string, bolt *bbolt.DB, o *Options) (*Store, error) {
	s := &Store{dir: dir, db: bolt}
	if o != nil {
		s.o = *o
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := s.o.disk.FlushFolder(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	if s.o.Log == nil {
		s.o.Log = slog.New(slog.DiscardHandler)
	}
	if err := s.reconcile(); err != nil {
		return nil, fmt.Errorf("files of %s: %w", dir, err)
	}
	return s, nil
}

// Create stores the content of r: Stage, then Keep.
func (s *Store) Create(ctx context.Context, name, purpose, key string, r io.Reader) (File, error) {
	if err := checkNames(name, purpose); err != nil {
		return File{}, err
	}
	staged, err := s.Stage(ctx, r)
	if err != nil {
		return File{}, err
	}
	defer staged.Discard()
	return staged.Keep(name, purpose, key)
}

// Adopt takes over a complete file, flushed or not, on the file system of the store;
// afterwards path is gone. Under a used key it returns the record of the first file, whether
// or not path still exists; if that file was deleted, path is adopted again if it exists. A
// process that dies meanwhile leaves path, or a record that the key finds. MaxBytes, which
// bounds uploads, does not apply. maker is that of the file.
func (s *Store) Adopt(ctx context.Context, path, name, purpose, key, maker string) (File, error) {
	if err := checkNames(name, purpose); err != nil {
		return File{}, err
	}
	fingerprint := strings.Join([]string{"adopt", name, purpose}, "\x00")
	first, found, err := s.known(key, fingerprint)
	if err != nil {
		return File{}, err
	}
	if found && (s.has(first.ID) || missing(path)) {
		return first, s.o.disk.Remove(path)
	}
	f := File{Name: name, Purpose: purpose, Maker: maker}
	b := budget{s: s}
	defer b.release()
	if err := s.measure(ctx, path, &f, b.reserve); err != nil {
		return File{}, err
	}
	f, stored, err := s.publish(f, key, fingerprint, func(to string) error { return s.o.disk.Link(path, to) })
	if err != nil {
		return File{}, err
	}
	if stored {
		b.keep()
	}
	// path is the file's second name now, which a crash may leave.
	return f, s.o.disk.Remove(path)
}

// measure flushes the file at path and determines its length and checksum.
func (s *Store) measure(ctx context.Context, path string, f *File, allow func(int64) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file (%s)", path, info.Mode().Type())
	}
	if err := file.Sync(); err != nil {
		return store.Full(err)
	}
	f.Bytes, f.SHA256, err = store.Measure(ctx, file, allow)
	return err
}

// publish gives a flushed file its id, its name and its record. first is false if the key
// already has a file, whose record is returned.
func (s *Store) publish(f File, key, fingerprint string, rename func(to string) error) (_ File, first bool, err error) {
	f.ID, f.CreatedAt = idPrefix+random(), time.Now().UTC()
	to := filepath.Join(s.dir, f.ID)
	defer func() {
		// A transaction that failed in its last step may be durable nevertheless.
		if _, gone := s.Get(f.ID); !first && gone != nil {
			err = errors.Join(err, s.o.disk.Remove(to), s.o.disk.Remove(to+aboutSuffix))
		}
	}()
	// The note comes first: content without a note was not acknowledged.
	if err := s.o.disk.PutNote(to+aboutSuffix, aboutKind, about{f, key, fingerprint}); err != nil {
		return File{}, false, err
	}
	if err := rename(to); err != nil {
		return File{}, false, err
	}
	if err := s.o.disk.At("record", to); err != nil {
		return File{}, false, err
	}
	out, recorded := f, false
	err = s.db.Update(func(tx *bbolt.Tx) error {
		keys := bucket(tx, keysBucket)
		value, found, err := store.FindKey(keys, key, fingerprint, f.CreatedAt)
		if err != nil {
			return err
		}
		if found {
			first, err := readRecord([]byte(key), value)
			if out = first.File; err != nil || hasRecord(tx, out.ID) {
				return err
			}
		}
		out, recorded = f, true
		text, err := putRecord(tx, f, 0)
		return errors.Join(err, store.PutKey(keys, key, fingerprint, text, f.CreatedAt))
	})
	return out, recorded && err == nil, store.Full(err)
}

// known looks up the record of a key, whose file may have been deleted. The key may be of any age: it
// is the server's own, and an interrupted delivery may go on days later.
func (s *Store) known(key, fingerprint string) (f File, found bool, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		value, ok, err := store.FindKey(bucket(tx, keysBucket), key, fingerprint, time.Time{})
		if err != nil || !ok {
			return err
		}
		found = true
		r, err := readRecord([]byte(key), value)
		f = r.File
		return err
	})
	return f, found, err
}

// has reports whether a file exists.
func (s *Store) has(id string) bool {
	_, gone := s.Get(id)
	return gone == nil
}

// missing reports whether no file has the name path.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Get describes a file.
func (s *Store) Get(id string) (f File, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		f, err = getRecord(tx, id)
		return err
	})
	return f, err
}

// Open opens a file for reading; the caller closes it.
func (s *Store) Open(id string) (*os.File, File, error) {
	path, f, err := s.Path(id)
	if err != nil {
		return nil, File{}, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, gone := s.Get(id); gone != nil {
			return nil, File{}, gone // deleted in the meantime
		}
	}
	if err != nil {
		return nil, File{}, err
	}
	return file, f, nil
}

// Path returns a file's path, for readers that need one; hold the file meanwhile.
func (s *Store) Path(id string) (string, File, error) {
	f, err := s.Get(id)
	if err != nil {
		return "", File{}, err
	}
	return filepath.Join(s.dir, f.ID), f, nil
}

// Delete removes a file, unless it is held.
func (s *Store) Delete(id string) error {
	f, err := s.Get(id)
	if err != nil {
		return err
	}
	s.deleting.Lock()
	defer s.deleting.Unlock()
	if err := s.db.View(func(tx *bbolt.Tx) error { return refuseHeld(tx, id) }); err != nil {
		return err
	}
	// A crash from here on leaves a file that the database knows, which exists, or one that
	// it does not know and that is marked as deleted.
	at := filepath.Join(s.dir, id)
	if err := s.o.disk.RenameExisting(at+aboutSuffix, at+deletedSuffix); err != nil {
		return err
	}
	err = s.db.Update(func(tx *bbolt.Tx) error {
		if _, err := getRecord(tx, id); err != nil {
			return err
		}
		return errors.Join(refuseHeld(tx, id), removeRecord(tx, id))
	})
	if err != nil {
		return errors.Join(store.Full(err), s.o.disk.RenameExisting(at+deletedSuffix, at+aboutSuffix))
	}
	s.used.Add(-f.Bytes)
	return errors.Join(s.o.disk.Remove(at), s.o.disk.Remove(at+deletedSuffix))
}

// random returns 24 random hexadecimal digits.
func random() string {
	b := make([]byte, 12)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
