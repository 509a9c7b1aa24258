package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"thresher/internal/atomicfile"
	"thresher/internal/filelock"
)

// ErrInUse says that another process has the database open.
var ErrInUse = errors.New("in use by another server")

// Damaged is the error of a damaged database. The file is unchanged.
type Damaged struct {
	Path   string
	Faults []string // what is damaged: at least one, at most maxFaults
}

func (d *Damaged) Error() string {
	more := ""
	if n := len(d.Faults); n > 1 {
		more = fmt.Sprintf(", and %d more faults", n-1)
	}
	return fmt.Sprintf("%s is damaged: %s%s; it was left as it is. \"thresher data repair --data %s\" puts it aside and makes another of all that can still be read",
		d.Path, d.Faults[0], more, filepath.Dir(d.Path))
}

// CheckRecord returns what is wrong with a record, nil if it is whole or the caller does not know
// its bucket: the path of the bucket is joined by slashes. It is called with buckets in the bucket,
// too, which have no value.
type CheckRecord func(bucket string, key, value []byte) error

// Options configure Open; nil means defaults.
type Options struct {
	// Checks are called with every record, of which a damaged one is damage of the database.
	Checks []CheckRecord
	// Wait is how long to wait for another process to close the database; 0 means one second.
	Wait time.Duration
	// NoSync disables flushing, for tests.
	NoSync bool
}

func (o *Options) bolt() *bbolt.Options {
	b := &bbolt.Options{Timeout: time.Second}
	if o != nil {
		b.NoSync = o.NoSync
		if o.Wait > 0 {
			b.Timeout = o.Wait
		}
	}
	return b
}

// maxChecked is the largest file, in bytes, of which every page is read before bbolt opens
// it. Of larger files only the buckets of the first levels are read: their records describe what
// there is, and what makes a file large lies below them.
const (
	maxChecked  = 1 << 30
	firstLevels = 2
)

// Open opens the database at path. A missing or empty file is created atomically; fresh says
// so. A damaged file is a *Damaged; a file that another process has open wraps ErrInUse.
func Open(path string, o *Options) (db *bbolt.DB, fresh bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		if err := create(path, err == nil); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, false, fmt.Errorf("%s: %w", path, err)
		}
		fresh = true
	}
	b := o.bolt()
	var checks []CheckRecord
	if o != nil {
		checks = o.Checks
	}
	b.OpenFile = func(name string, _ int, _ os.FileMode) (*os.File, error) { return openChecked(name, b.Timeout, checks) }
	db, err = openBolt(path, b)
	var unsound *os.PathError
	switch {
	case err == nil:
		return db, fresh, nil
	case errors.Is(err, ErrInUse), errors.Is(err, bolterrors.ErrTimeout):
		return nil, false, fmt.Errorf("%s is %w", path, ErrInUse)
	case errors.As(err, &unsound):
		return nil, false, err // the error names the file
	}
	var d *Damaged
	if !errors.As(err, &d) {
		d = &Damaged{path, []string{err.Error()}}
	}
	return nil, false, d
}

// openBolt calls bbolt and converts panics and faults to errors.
func openBolt(path string, o *bbolt.Options) (db *bbolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be read: %v", r)
		}
	}()
	return bbolt.Open(path, 0o600, o)
}

// create makes an empty database at path.
func create(path string, replace bool) error {
	f, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return err
	}
	defer f.Discard()
	db, err := bbolt.Open(f.Name(), 0o600, nil)
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	return f.Commit(replace)
}

// openChecked locks an existing database, waiting for the lock, and checks its pages.
func openChecked(path string, wait time.Duration, checks []CheckRecord) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err = lockWithin(f, wait); err == nil {
		err = checkFile(f, checks, false)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lockWithin takes, on the same open file, the lock that bbolt takes, so that bbolt gets it
// at once. Where filelock is not supported only bbolt locks.
func lockWithin(f *os.File, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	err := filelock.Wait(ctx, f)
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrInUse
	}
	return err
}

// checkFile returns what is wrong with a database; every page is read if it is to be checked
// whole, or is not too large.
func checkFile(f *os.File, checks []CheckRecord, whole bool) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &os.PathError{Op: "open", Path: f.Name(), Err: errors.New("not a regular file")}
	}
	t, lost, err := newest(f, info.Size())
	if err != nil {
		return &Damaged{f.Name(), []string{err.Error()}}
	}
	if !whole && info.Size() > maxChecked {
		t.levels = firstLevels
	}
	var s Salvaged
	if lost != nil {
		s.add(lost)
	}
	s.read(t, checks, &copier{})
	if err := t.walk(); err != nil {
		return err
	}
	if len(s.Lost) > 0 {
		return &Damaged{f.Name(), s.Lost}
	}
	return nil
}

// openLocked opens and locks an existing database.
func openLocked(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	err = lockWithin(f, time.Second)
	if errors.Is(err, ErrInUse) {
		err = fmt.Errorf("%s is %w", path, err)
	}
	info, serr := f.Stat()
	if err = errors.Join(err, serr); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Check returns what is wrong with the database at path, which it locks meanwhile; every page
// is read, whatever the file's size, and the checks are called with every record. A missing file
// wraps fs.ErrNotExist; an empty one is a *Damaged.
func Check(path string, checks ...CheckRecord) error {
	f, _, err := openLocked(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return checkFile(f, checks, true)
}
