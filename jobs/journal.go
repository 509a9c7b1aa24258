package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"thresher/internal/atomicfile"
	"thresher/internal/filelock"
)

// create writes the progress file under another name and then renames it, so that a crash
// never leaves a partial one.
func (d diskStorage) create(path string, s state, replace bool) error {
	if replace {
		// The former file stays locked until it is replaced: a run that still uses it must not lose
		// it. If it cannot be opened no run uses it.
		former, _, err := d.open(path)
		if err == nil {
			defer former.close()
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDamaged) {
			return err
		}
	}
	if err := writeFile(path, s, replace); err != nil {
		return fmt.Errorf("creating %s: %w", path, err)
	}
	return nil
}

func writeFile(path string, s state, replace bool) error {
	f, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return err
	}
	defer f.Discard()
	record, err := s.encode()
	if err != nil {
		return err
	}
	if err := writeSlot(f, 0, record); err != nil {
		return err
	}
	return f.Commit(replace)
}

// open locks and reads the progress file at path. Errors wrap fs.ErrNotExist,
// ErrLocked or ErrDamaged where they apply.
func (d diskStorage) open(path string) (journal, state, error) {
	j, err := lockFile(path, d.lockWait)
	if err != nil {
		return nil, state{}, err
	}
	s, err := j.read()
	if errors.Is(err, errFormer) {
		// That version takes the same lock, so it is not using the file.
		if err = writeFile(path, s, true); err == nil {
			return d.open(path)
		}
	}
	if err != nil {
		return nil, state{}, errors.Join(fmt.Errorf("%s: %w", path, err), j.close())
	}
	return j, s, nil
}

// diskJournal is an open, locked progress file.
type diskJournal struct {
	path     string
	file     *os.File
	sequence uint64 // of the newest record
}

func lockFile(path string, wait time.Duration) (*diskJournal, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	j := &diskJournal{path: path, file: f}
	err = filelock.Wait(ctx, f)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%s: %w", path, ErrLocked)
	}
	if err == nil {
		err = j.checkName()
	}
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

// checkName checks that the locked file still has its name. While this run waited for the
// lock, its holder may have removed or replaced the file; the lock would then protect nothing.
func (j *diskJournal) checkName() error {
	locked, err := j.file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(j.path)
	if err != nil {
		return err
	}
	if !os.SameFile(locked, named) {
		return fmt.Errorf("%s: %w: it was replaced a moment ago", j.path, ErrLocked)
	}
	return nil
}

// read returns the newest state, or errFormer and the state that an earlier version recorded.
func (j *diskJournal) read() (state, error) {
	info, err := j.file.Stat()
	if err != nil {
		return state{}, err
	}
	if !info.Mode().IsRegular() {
		return state{}, fmt.Errorf("%w: not a regular file (%s)", ErrDamaged, info.Mode().Type())
	}
	sequence, record, err := newestRecord(j.file, info.Size())
	if errors.Is(err, errNoRecord) {
		if s, ok := formerState(j.file, info.Size()); ok {
			return s, errFormer
		}
		return state{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err != nil {
		return state{}, err
	}
	s, err := decodeState(record)
	if err != nil {
		return state{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	j.sequence = sequence
	// The run that wrote this record may have been killed before flushing it, and the older record
	// is overwritten next.
	return s, j.file.Sync()
}

func (j *diskJournal) save(s state) error {
	record, err := s.encode()
	if err == nil {
		err = writeSlot(j.file, j.sequence+1, record)
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("recording progress in %s: %w", j.path, err)
	}
	j.sequence++
	return nil
}

func (j *diskJournal) close() error {
	if err := j.file.Close(); err != nil {
		return fmt.Errorf("closing %s: %w", j.path, err)
	}
	return nil
}
