package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"thresher/internal/atomicfile"
)

// storage is all access of a job to the disk. Tests inject faults here.
type storage interface {
	// exists reports whether path names a file of any kind.
	exists(path string) (bool, error)
	// output opens path for reading and writing; flag holds os.O_CREATE and
	// os.O_EXCL or neither. A created name is durable on return.
	output(path string, flag int) (file, error)
	// create creates a progress file that holds s, atomically: after a crash it is there with s in
	// it, or not there. With replace an existing one is replaced, otherwise the error wraps
	// fs.ErrExist.
	create(path string, s state, replace bool) error
	// open locks an existing progress file and returns its state.
	open(path string) (journal, state, error)
	// remove deletes a file; the caller names it in errors.
	remove(path string) error
}

// file is an output.
type file interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
	size() (int64, error)
}

// journal is an open, locked progress file.
type journal interface {
	// save makes s the durable state. After an error the durable state may be the former one or s.
	save(s state) error
	close() error
}

// lockWait is long enough for a run that is ending to release the lock.
const lockWait = time.Second

type diskStorage struct {
	lockWait time.Duration
	mode     fs.FileMode // of outputs; 0 means 0666
}

func newDiskStorage() diskStorage {
	return diskStorage{lockWait: lockWait}
}

// storage returns the disk of a job.
func (s *Spec) storage() diskStorage {
	return diskStorage{lockWait: lockWait, mode: s.Mode}
}

func (diskStorage) exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (d diskStorage) output(path string, flag int) (file, error) {
	// Checked before opening: opening a pipe or a device can have effects.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file (%s)", path, info.Mode().Type())
	}
	f, err := os.OpenFile(path, os.O_RDWR|flag, cmp.Or(d.mode, 0o666))
	if err != nil {
		return nil, err
	}
	if info == nil {
		if err := atomicfile.FlushFolder(filepath.Dir(path)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return diskFile{f}, nil
}

func (diskStorage) remove(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return atomicfile.FlushFolder(filepath.Dir(path))
}

type diskFile struct{ *os.File }

func (f diskFile) size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
