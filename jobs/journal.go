package jobs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"thresher/internal/atomicfile"
)

const (
	bucketName = "thresher job"
	stateKey   = "state"
)

// create builds the database under another name and then gives it its own, so
// that a crash never leaves half of one.
func (d diskStorage) create(path string, s state, replace bool) error {
	if replace {
		// The former database stays locked until it is replaced: a run that
		// still uses it must not lose it. One that cannot be opened has no user.
		former, err := d.open(path)
		if err == nil {
			defer former.close()
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDamaged) {
			return err
		}
	}

	tmp, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return fmt.Errorf("creating %s: %w", path, err)
	}
	defer tmp.Discard()
	if err = d.fill(tmp.Name(), s); err == nil {
		err = tmp.Commit(replace)
	}
	if err != nil {
		return fmt.Errorf("creating %s: %w", path, err)
	}
	return nil
}

func (d diskStorage) fill(path string, s state) error {
	j := &diskJournal{path: path}
	if err := j.openDB(d.lockWait, os.OpenFile); err != nil {
		return err
	}
	return errors.Join(j.save(s), j.close())
}

// open locks and checks the database at path. Errors wrap fs.ErrNotExist,
// ErrLocked or ErrDamaged where they apply.
func (d diskStorage) open(path string) (journal, error) {
	j := &diskJournal{path: path}
	err := j.openDB(d.lockWait, openChecked)
	if err != nil {
		return nil, err
	}
	if err := j.checkName(); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

// openChecked opens an existing file for bbolt, which would otherwise create a
// missing one, take over an empty one and believe a damaged one.
func openChecked(path string, flag int, perm os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag&^os.O_CREATE, perm)
	if err != nil {
		return nil, err
	}
	if err := checkDatabase(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func checkDatabase(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: not a regular file (%s)", ErrDamaged, info.Mode().Type())
	}
	// This comes before the lock, so another run may be writing. It leaves the
	// pages alone that its last header leads to until its next record but one;
	// the second look is for one that got so far during the first.
	if checkPages(f, info.Size()) == nil {
		return nil
	}
	if err := checkPages(f, info.Size()); err != nil {
		return fmt.Errorf("%w: not a progress database: %w", ErrDamaged, err)
	}
	return nil
}

type diskJournal struct {
	path string
	db   *bbolt.DB
	file *os.File // db's own
	// broken says that bbolt panicked. Its locks may still be held, so db must
	// not be touched again.
	broken bool
}

func (j *diskJournal) openDB(wait time.Duration, openFile func(string, int, os.FileMode) (*os.File, error)) error {
	err := j.guard(func() (err error) {
		j.db, err = bbolt.Open(j.path, 0o666, &bbolt.Options{
			Timeout:      wait,
			PageSize:     pageSize,
			NoStatistics: true,
			OpenFile: func(path string, flag int, perm os.FileMode) (*os.File, error) {
				f, err := openFile(path, flag, perm)
				j.file = f
				return f, err
			},
		})
		return err
	})
	if err == nil {
		return nil
	}
	if j.broken && j.file != nil {
		err = errors.Join(err, unlock(j.file)) // else bbolt has closed it
	}

	var refused syscall.Errno // by the system, which says nothing of the content
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("%s: %w", j.path, ErrLocked)
	case errors.Is(err, ErrDamaged), errors.As(err, &refused):
		return fmt.Errorf("%s: %w", j.path, err)
	}
	return fmt.Errorf("%s: %w: not a progress database: %w", j.path, ErrDamaged, err)
}

// checkName says whether the locked file still has its name. While this run
// waited for the lock, its holder may have removed or replaced the file; the
// lock would then guard nothing.
func (j *diskJournal) checkName() error {
	locked, err := j.file.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	named, err := os.Stat(j.path)
	if err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	if !os.SameFile(locked, named) {
		return fmt.Errorf("%s: %w: it was replaced a moment ago", j.path, ErrLocked)
	}
	return nil
}

func (j *diskJournal) load() (state, error) {
	var s state
	err := j.guard(func() error {
		return j.db.View(func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte(bucketName))
			if b == nil {
				return errors.New("database of another program")
			}
			record := b.Get([]byte(stateKey))
			if record == nil {
				return errors.New("no record")
			}
			var err error
			s, err = decodeState(record)
			return err
		})
	})
	if errors.Is(err, ErrDamaged) {
		return state{}, fmt.Errorf("%s: %w", j.path, err)
	}
	if err != nil {
		return state{}, fmt.Errorf("%s: %w: not a progress database: %w", j.path, ErrDamaged, err)
	}
	return s, nil
}

func (j *diskJournal) save(s state) error {
	record, err := s.encode()
	if err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	err = j.guard(func() error {
		return j.db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(bucketName))
			if err != nil {
				return err
			}
			return b.Put([]byte(stateKey), record)
		})
	})
	if err != nil {
		return fmt.Errorf("recording progress in %s: %w", j.path, err)
	}
	return nil
}

func (j *diskJournal) close() error {
	shut := j.db.Close
	if j.broken {
		shut = func() error { return unlock(j.file) }
	}
	if err := j.guard(shut); err != nil {
		return fmt.Errorf("closing %s: %w", j.path, err)
	}
	return nil
}

// guard turns bbolt's panics on corrupted pages into errors, and so the faults
// of reading a mapped file that is shorter than its header says.
func (j *diskJournal) guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			j.broken = true
			err = fmt.Errorf("%w: corrupted: %v", ErrDamaged, r)
		}
	}()
	return f()
}
