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

// File is a file on its way: what Name returns is temporary. The caller discards it in
// any case, as a rule by defer.
type File struct {
	*os.File
	path  string                      // to be
	named bool                        // it has that path
	link  func(from, to string) error // os.Link but in tests
}

// Create begins the file at path, with the permissions that the umask leaves of mode.
// What is at path stays as it is until Commit. A process that dies leaves a file of a
// dot, the name, ".new-" and what no other has, in the same folder.
func Create(path string, mode fs.FileMode) (*File, error) {
	return create(path, ".new-"+strconv.FormatUint(rand.Uint64(), 36), mode)
}

// CreateNext begins what will replace the file at path and has its permissions, those
// that the umask leaves if there is none yet. It is for callers who are alone with path:
// the temporary name is a dot, the name and ".new", and what a process that died left
// there, or a link that somebody put there, is removed and not written to.
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
	if err := f.Chmod(mode); err != nil { // the umask is not for it
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

// temporary lies in path's folder: names cannot be given across file systems.
func temporary(path, suffix string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+suffix)
}

// Commit flushes and closes the file, gives it its name and flushes the folder, so that
// it is durable on return. Unless replace, a name that is taken is an error that wraps
// fs.ErrExist. After an error what was at path is still there, unless it was the folder
// that could not be flushed: then the file has its name and may lose it in a crash.
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
	// A link fails when the name was taken meanwhile, which a rename does not.
	err := f.link(f.Name(), f.path)
	if err == nil {
		os.Remove(f.Name()) // at worst the file keeps a second name
		return nil
	}
	// Some file systems have no links; there a look just before must do.
	if _, taken := os.Lstat(f.path); taken == nil || errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "create", Path: f.path, Err: fs.ErrExist}
	}
	return os.Rename(f.Name(), f.path)
}

// Discard removes the file unless it has its name.
func (f *File) Discard() {
	if f.named {
		return
	}
	f.Close()
	os.Remove(f.Name()) // whoever discards has an error to tell already
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
