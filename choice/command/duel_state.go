package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"thresher/internal/atomicfile"
	"thresher/internal/filelock"
)

// duelFile is the locked file of a tournament. Only one run may use it at a time, because a
// second one would overwrite the judgments of the first.
type duelFile struct {
	path string
	held *os.File // the file at path, locked
	end  int64    // offset of the next line; -1 if held is read-only
}

// openDuelFile locks and reads the file. Without create a missing file is fs.ErrNotExist.
func openDuelFile(path string, create bool) (*duelFile, []byte, error) {
	path, err := linkedFile(path)
	if err != nil {
		return nil, nil, err
	}
	flag := os.O_RDONLY
	if create {
		flag = os.O_RDWR | os.O_CREATE
	}
	for {
		f, err := os.OpenFile(path, flag, 0o666)
		if err != nil {
			return nil, nil, err
		}
		content, named, err := readLocked(f, path)
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		if named {
			return &duelFile{path, f, -1}, content, nil
		}
		f.Close() // replaced before it was locked
	}
}

// readLocked locks f and reads it. named reports whether f is still the file at path.
func readLocked(f *os.File, path string) (content []byte, named bool, err error) {
	ok, err := filelock.Try(f)
	if err != nil {
		return nil, false, fmt.Errorf("%s: cannot be locked: %w", path, err)
	}
	if !ok {
		return nil, false, fmt.Errorf("%s: another run uses this tournament", path)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(info, there) {
		return nil, false, nil
	}
	content, err = io.ReadAll(f)
	return content, true, err
}

// save replaces the content atomically and durably.
func (d *duelFile) save(content []byte) error {
	next, err := atomicfile.CreateNext(d.path)
	if err != nil {
		return err
	}
	defer next.Discard()
	if _, err := next.Write(content); err != nil {
		return err
	}
	if !filelock.Supported { // an open file may not be replaced
		if err := d.close(); err != nil {
			return err
		}
		if err := next.Commit(true); err != nil {
			return err
		}
		d.held, err = os.OpenFile(d.path, os.O_RDWR, 0)
		d.end = int64(len(content))
		return err
	}
	end := int64(len(content))
	held, err := os.OpenFile(next.Name(), os.O_RDWR, 0) // stays open and locked when it is renamed
	if errors.Is(err, fs.ErrPermission) {               // permissions as of the old file
		end = -1
		held, err = os.Open(next.Name())
	}
	if err != nil {
		return err
	}
	if _, err = filelock.Try(held); err == nil {
		err = next.Commit(true)
	}
	if err != nil {
		held.Close()
		return err
	}
	d.held.Close() // only now: until the rename others lock the old file
	d.held, d.end = held, end
	return nil
}

// appends reports whether append is possible: the file is the one that save wrote, and was
// neither moved nor replaced.
func (d *duelFile) appends() bool {
	if d.end < 0 {
		return false
	}
	held, err := d.held.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(d.path)
	return err == nil && os.SameFile(held, there)
}

// append appends line durably to what save wrote. After an error a part of it may have been
// written.
func (d *duelFile) append(line []byte) error {
	if _, err := d.held.WriteAt(line, d.end); err != nil {
		return err
	}
	if err := d.held.Sync(); err != nil {
		return err
	}
	d.end += int64(len(line))
	return nil
}

// close releases the lock.
func (d *duelFile) close() error {
	if err := d.held.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
