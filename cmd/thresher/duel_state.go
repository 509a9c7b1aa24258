package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"thresher/internal/atomicfile"
	"thresher/internal/filelock"
)

// duelFile is the file of a tournament. One run has it at a time: a second one would
// go on from what it read, and put its own judgments in the place of the first one's.
type duelFile struct {
	path string
	held *os.File // the file at path, locked
	end  int64    // where the next line goes; -1 if held is for reading alone
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
		content, named, err := readLocked(f, path)
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		if named {
			return &duelFile{path, f, -1}, content, nil
		}
		f.Close() // it was replaced before it was locked
	}
}

// readLocked locks f and reads it. named says that f is still the file at path.
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

// save replaces the content as a whole, or leaves the old one, and is durable when it
// returns.
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
	held, err := os.OpenFile(next.Name(), os.O_RDWR, 0) // stays open, and so locked, under its new name
	if errors.Is(err, fs.ErrPermission) {               // as the one before had
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
	d.held.Close() // only now: until it had the name, the old file was the one to lock
	d.held, d.end = held, end
	return nil
}

// appends says whether append will do: the file is what save made it, and nobody has
// moved it or put another in its place.
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

// append adds to what save wrote, and is durable when it returns. After an error a part
// of it may be there.
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

// close lets another run have the tournament.
func (d *duelFile) close() error {
	if err := d.held.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
