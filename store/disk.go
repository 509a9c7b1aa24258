package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"thresher/internal/atomicfile"
)

// Disk performs the file operations of the package. The zero value uses the disk directly.
type Disk struct {
	// Step, if not nil, is called before every step with its name (create, write, flush,
	// rename, link, flush folder, remove, and those of At) and the file's path, from any
	// goroutine; an error replaces the step. For tests.
	Step func(step, path string) error
}

// At calls Step for a step of the caller.
func (d Disk) At(name, path string) error {
	if d.Step == nil {
		return nil
	}
	return d.Step(name, path)
}

// Create creates a file, which must not exist, and which only its owner may read. It is removed unless the Writer is closed.
func (d Disk) Create(path string) (*Writer, error) {
	if err := d.At("create", path); err != nil {
		return nil, Full(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, Full(err)
	}
	return newWriter(d, f), nil
}

// Rename renames a file within a file system, replacing an existing one, and flushes the
// folder.
func (d Disk) Rename(from, to string) error {
	if err := d.At("rename", to); err != nil {
		return Full(err)
	}
	if err := os.Rename(from, to); err != nil {
		return Full(err)
	}
	return d.FlushFolder(filepath.Dir(to))
}

// RenameExisting is Rename, unless the file is missing: it may have the other name already, or be removed
// meanwhile.
func (d Disk) RenameExisting(from, to string) error {
	_, err := os.Lstat(from)
	if err == nil {
		err = d.Rename(from, to)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Link gives a flushed file a second name, which must be free, and flushes the folder. Where
// hard links are not supported, from is copied.
func (d Disk) Link(from, to string) error {
	err := d.At("link", to)
	if err == nil {
		err = os.Link(from, to)
	}
	if err == nil {
		return d.FlushFolder(filepath.Dir(to))
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if full := Full(err); full != err {
		return full
	}
	return d.Copy(context.Background(), from, to)
}

// copyStep is the number of bytes Copy copies between two checks of its context.
const copyStep = 64 << 20

// Copy copies a file to a name that must be free, and flushes it and its folder.
func (d Disk) Copy(ctx context.Context, from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := d.Create(to)
	if err != nil {
		return err
	}
	defer w.Discard()
	for {
		if err := errors.Join(ctx.Err(), d.At("write", to)); err != nil {
			return Full(err)
		}
		_, err := io.CopyN(w.f, f, copyStep) // the kernel may do this by itself
		if err == io.EOF {
			return w.Close()
		}
		if err != nil {
			return fmt.Errorf("copying: %w", Full(err))
		}
	}
}

// FlushFolder makes the names in a folder durable.
func (d Disk) FlushFolder(dir string) error {
	if err := d.At("flush folder", dir); err != nil {
		return Full(err)
	}
	return Full(atomicfile.FlushFolder(dir))
}

// Remove removes a file, which may be missing. This is not durable: a file that a crash
// restores is removed by Sweep.
func (d Disk) Remove(path string) error {
	if err := d.At("remove", path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Sweep removes the regular files of a folder that are not wanted.
func (d Disk) Sweep(dir string, wanted func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || wanted(e.Name()) {
			continue
		}
		if err := d.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// WithoutFolder returns the text of an error about a file, without the path of its folder.
func WithoutFolder(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Sprintf("%s: %v", filepath.Base(p.Path), p.Err)
	}
	return err.Error()
}
