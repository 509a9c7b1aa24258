package atomicfile

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// File is a file being written; Name returns its temporary name. The caller must Discard it in
// any case, usually by defer.
type File struct {
	*os.File
	path  string                      // final path
	named bool                        // it has the final path
	link  func(from, to string) error // os.Link except in tests
}

// Create creates a temporary file for path, with permissions mode less the umask. What is at
// path stays until Commit. A process that dies leaves a file in the same folder named with a
// dot, the name, ".new-" and a unique suffix.
func Create(path string, mode fs.FileMode) (*File, error) {
	return create(path, ".new-"+strconv.FormatUint(rand.Uint64(), 36), mode)
}

// CreateNext creates a temporary file that will replace the file at path, with its
// permissions, or 0666 less the umask if there is none. No other process may use path: the
// temporary name is a dot, the name and ".new", and whatever is there, left by a process that
// died or a link, is removed and not written to.
func CreateNext(path string) (*File, error) {
	mode := fs.FileMode(0o666)
	old, err := os.Stat(path)
	if err == nil {
		mode = old.Mode().Perm()
	}
	if err := os.Remove(temporary(path, ".new")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := create(path, ".new", mode)
	if err != nil || old == nil {
		return f, err
	}
	if err := f.Chmod(mode); err != nil { // independent of the umask
		f.Discard()
		return nil, err
	}
	return f, nil
}

func create(path, suffix string, mode fs.FileMode) (*File, error) {
	f, err := os.OpenFile(temporary(path, suffix), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return &File{File: f, path: path, link: os.Link}, nil
}

// temporary returns a name in path's folder: files cannot be renamed across file systems.
func temporary(path, suffix string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+suffix)
}

// Commit flushes and closes the file, gives it its name and flushes the folder, so that it is
// durable on return. Without replace, an existing file at path is an error that wraps
// fs.ErrExist. After an error what was at path is still there, unless flushing the folder
// failed: then the file has its name and may lose it in a crash.
func (f *File) Commit(replace bool) error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := f.name(replace); err != nil {
		return err
	}
	f.named = true
	return FlushFolder(filepath.Dir(f.path))
}

func (f *File) name(replace bool) error {
	if replace {
		return os.Rename(f.Name(), f.path)
	}
	// Unlike a rename, a link fails if the name has been taken meanwhile.
	err := f.link(f.Name(), f.path)
	if err == nil {
		os.Remove(f.Name()) // at worst the file keeps a second name
		return nil
	}
	// Some file systems have no links; there a check just before must do.
	if _, taken := os.Lstat(f.path); taken == nil || errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "create", Path: f.path, Err: fs.ErrExist}
	}
	return os.Rename(f.Name(), f.path)
}

// Discard removes the file unless it was committed.
func (f *File) Discard() {
	if f.named {
		return
	}
	f.Close()
	os.Remove(f.Name()) // the caller has an error to report already
}

// FlushFolder makes the names in a folder durable.
func FlushFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be opened for flushing there
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
