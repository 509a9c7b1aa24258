package db

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
	Path string
	Err  error // the damage
}

func (d *Damaged) Error() string {
	return fmt.Sprintf("%s is damaged: %v; it was left as it is. \"thresher data repair --data %s\" puts it aside and makes another of all that can still be read",
		d.Path, d.Err, filepath.Dir(d.Path))
}

func (d *Damaged) Unwrap() error { return d.Err }

// Options configure Open; nil means defaults.
type Options struct {
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

// mostChecked is the largest file, in bytes, of which every page is read before bbolt opens
// it. Of larger files only the headers are checked, which reveal truncation.
const mostChecked = 1 << 30

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
	b.OpenFile = func(name string, _ int, _ os.FileMode) (*os.File, error) { return openChecked(name, b.Timeout) }
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
		d = &Damaged{path, err}
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
func openChecked(path string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err = lockWithin(f, wait); err == nil {
		err = checkFile(f)
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

// checkFile returns what is wrong with a database.
func checkFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &os.PathError{Op: "open", Path: f.Name(), Err: errors.New("not a regular file")}
	}
	if info.Size() > mostChecked {
		_, err = newest(f, info.Size())
	} else {
		err = checkPages(f, info.Size())
	}
	if err != nil {
		return &Damaged{f.Name(), err}
	}
	return nil
}

// Check returns what is wrong with the database at path, which it locks meanwhile; every page
// is read, whatever the file's size. A missing file wraps fs.ErrNotExist; an empty one is a
// *Damaged.
func Check(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lockWithin(f, time.Second); err != nil {
		if errors.Is(err, ErrInUse) {
			err = fmt.Errorf("%s is %w", path, err)
		}
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := checkPages(f, info.Size()); err != nil {
		return &Damaged{path, err}
	}
	return nil
}
