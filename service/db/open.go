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

// Damaged is a database that cannot be used. Nothing of it was changed.
type Damaged struct {
	Path string
	Err  error // what is wrong
}

func (d *Damaged) Error() string {
	return fmt.Sprintf("%s is damaged: %v; it was left as it is. \"thresher data repair --data %s\" puts it aside and makes another of all that can still be read",
		d.Path, d.Err, filepath.Dir(d.Path))
}

func (d *Damaged) Unwrap() error { return d.Err }

// Options configure Open; nil means defaults.
type Options struct {
	// Wait is how long another process has to leave the database; 0 is a second.
	Wait time.Duration
	// NoSync leaves out flushing, for tests.
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

// mostChecked is up to which size every page is read before bbolt gets a database. Of
// larger ones the headers are, which know whether the file was cut.
const mostChecked = 1 << 30

// Open opens the database at path. One that is missing, or of no bytes, is made, as a
// whole or not at all; fresh says so. One that is damaged is a *Damaged; one that
// another process has open wraps ErrInUse.
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
	db, err = open(path, b)
	var unsound *os.PathError
	switch {
	case err == nil:
		return db, fresh, nil
	case errors.Is(err, ErrInUse), errors.Is(err, bolterrors.ErrTimeout):
		return nil, false, fmt.Errorf("%s is %w", path, ErrInUse)
	case errors.As(err, &unsound):
		return nil, false, err // which names it
	}
	var d *Damaged
	if !errors.As(err, &d) {
		d = &Damaged{path, err}
	}
	return nil, false, d
}

// open calls bbolt, of which panics and faults become errors.
func open(path string, o *bbolt.Options) (db *bbolt.DB, err error) {
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

// openChecked opens an existing database for bbolt, waits for its lock, and reads it.
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

// lockWithin takes the lock that bbolt takes on the same open file, so that bbolt gets it again at
// once. Where filelock has none, bbolt alone locks.
func lockWithin(f *os.File, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	err := filelock.Wait(ctx, f)
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrInUse
	}
	return err
}

// checkFile says what is wrong with a database.
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

// Check says what is wrong with the database at path, which is locked meanwhile: every
// page is read, whatever its size. A file that does not exist wraps fs.ErrNotExist; one of
// no bytes is a *Damaged.
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
