package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"thresher/internal/atomicfile"
)

// Copy makes a folder at path, where nothing may be, that holds what f holds now, and returns its version. The new folder shares the
// files of segments with f, by hard links where the file system has them, and has a copy of the logs. It appears whole and durable or not at
// all; neither folder sees later writes to the other. After an error that only its name may not be durable it is there.
func (f *Folder) Copy(path string) (version uint64, err error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return 0, err
	}
	err = whole(f.disk, path, info.Mode().Perm(), func(aside string) (err error) {
		if version, err = f.copyTo(aside); err != nil {
			err = fmt.Errorf("copying %s to %s: %w", f.path, path, err)
		}
		return err
	})
	return version, err
}

// Clone makes a folder at to, where nothing may be, that has what the one at from has, which no process may write. They share the files
// of segments as those of Copy do. It appears whole and durable or not at all.
func Clone(from, to string) error {
	m, err := readManifest(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return whole(files{}, to, info.Mode().Perm(), func(aside string) error {
		for i := range m.Segments {
			for _, name := range m.Segments[i].files() {
				if err := linkFile(filepath.Join(from, name), filepath.Join(aside, name)); err != nil {
					return err
				}
			}
		}
		for number := m.Log; ; number++ {
			err := copyFile(filepath.Join(from, logFile(number)), filepath.Join(aside, logFile(number)), -1)
			if errors.Is(err, fs.ErrNotExist) && number > m.Log {
				break
			}
			if err != nil {
				return err
			}
		}
		return writeManifest(files{}, aside, m)
	})
}

// whole makes a folder at path, where nothing may be, that fill fills under another name. It appears whole and durable or not
// at all.
func whole(d disk, path string, mode fs.FileMode, fill func(aside string) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	aside, err := os.MkdirTemp(filepath.Dir(filepath.Clean(path)), "."+filepath.Base(path)+".new-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(aside))
		}
	}()
	if err := os.Chmod(aside, mode); err != nil {
		return err
	}
	if err := fill(aside); err != nil {
		return err
	}
	if err := d.flush(aside); err != nil {
		return err
	}
	if err := os.Rename(aside, path); err != nil {
		return err
	}
	return flushParent(d, path)
}

// copyTo fills an empty folder.
func (f *Folder) copyTo(dir string) (version uint64, err error) {
	f.filing.Lock() // so that no file is removed meanwhile
	defer f.filing.Unlock()
	f.committing.Lock()
	last, end, version, closed := f.lastLog, f.logEnd, f.version, f.closed
	f.committing.Unlock()
	switch {
	case f.readOnly:
		return 0, ErrReadOnly
	case closed:
		return 0, ErrClosed
	}
	m := *f.manifest
	for i := range m.Segments {
		for _, name := range m.Segments[i].files() {
			if err := linkFile(filepath.Join(f.path, name), filepath.Join(dir, name)); err != nil {
				return 0, err
			}
		}
	}
	for number := m.Log; number <= last; number++ {
		limit := int64(-1)
		if number == last { // of which a writer may be writing more
			limit = end
		}
		if err := copyFile(filepath.Join(f.path, logFile(number)), filepath.Join(dir, logFile(number)), limit); err != nil {
			return 0, err
		}
	}
	return version, writeManifest(f.disk, dir, &m)
}

// linkFile gives a file a second name, or copies it where that cannot be done.
func linkFile(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(from, to, -1)
}

// copyFile copies a file durably, its first limit bytes unless that is negative.
func copyFile(from, to string, limit int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := atomicfile.Create(to, modeIn(filepath.Dir(to)))
	if err != nil {
		return err
	}
	defer out.Discard()
	if limit < 0 {
		_, err = io.Copy(out, in)
	} else {
		_, err = io.CopyN(out, in, limit)
	}
	if err != nil {
		return err
	}
	return out.Commit(true)
}
