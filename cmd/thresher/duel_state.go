package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// duelFile is the file of a tournament. One run has it at a time: a second one would
// go on from what it read, and put its own judgments in the place of the first one's.
type duelFile struct {
	path string
	held *os.File    // the file at path, locked
	mode fs.FileMode // its permissions
}

// openDuelFile takes the file and reads it; without create, the error is
// fs.ErrNotExist if there is none.
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
		info, content, err := readLocked(f, path)
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		if info != nil {
			return &duelFile{path, f, info.Mode().Perm()}, content, nil
		}
		f.Close() // it was replaced before it was locked
	}
}

// readLocked locks f and reads it. info is nil if f is not the file at path any more.
func readLocked(f *os.File, path string) (info fs.FileInfo, content []byte, err error) {
	ok, err := tryLock(f)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: cannot be locked: %w", path, err)
	}
	if !ok {
		return nil, nil, fmt.Errorf("%s: another run has this tournament", path)
	}
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(info, there) {
		return nil, nil, nil
	}
	content, err = io.ReadAll(f)
	return info, content, err
}

// save replaces the content as a whole, or leaves the old one, and is durable when it
// returns.
func (d *duelFile) save(content []byte) (err error) {
	f, next, err := createNext(d.path, d.mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(next) // the first error is the one to tell
		}
	}()
	if _, err = f.Write(content); err != nil {
		return err
	}
	if err = errors.Join(f.Chmod(d.mode), f.Sync()); err != nil {
		return err
	}
	if !locks { // an open file may not be replaced, nor a folder synced
		if err = errors.Join(f.Close(), d.close()); err != nil {
			return err
		}
		return os.Rename(next, d.path)
	}
	if _, err = tryLock(f); err != nil {
		return err
	}
	if err = os.Rename(next, d.path); err != nil {
		return err
	}
	d.held.Close() // only now: until it had the name, the old file was the one to lock
	d.held = f
	return syncFolder(d.path)
}

// close lets another run have the tournament.
func (d *duelFile) close() error {
	if err := d.held.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
