package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"thresher/internal/atomicfile"
	"thresher/service/problem"
)

// Disk is what is asked of the disk. The zero value is the disk as it is.
type Disk struct {
	// Step, if not nil, is called before every step with its name (create, write,
	// flush, rename, link, flush folder, remove, and those of At) and the file's path, from any
	// goroutine; an error takes the place of the step. For tests.
	Step func(step, path string) error
}

// At is for steps of the caller's own.
func (d Disk) At(name, path string) error {
	if d.Step == nil {
		return nil
	}
	return d.Step(name, path)
}

// Full makes a problem of the ways in which a disk says that it is full; other
// errors stay as they are.
func Full(err error) error {
	if problem.Full(err) || errors.Is(err, io.ErrShortWrite) {
		return problem.New(problem.DiskFull, "no space left to write; existing data is unharmed").Because(err)
	}
	return err
}

// Create begins a file that does not exist yet. It does until the Writer is closed
// or discarded.
func (d Disk) Create(path string) (*Writer, error) {
	if err := d.At("create", path); err != nil {
		return nil, Full(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, Full(err)
	}
	return newWriter(d, f), nil
}

// Rename gives a file another name on the same file system, taking the place of
// whatever has it, and flushes the folder.
func (d Disk) Rename(from, to string) error {
	if err := d.At("rename", to); err != nil {
		return Full(err)
	}
	if err := os.Rename(from, to); err != nil {
		return Full(err)
	}
	return d.FlushFolder(filepath.Dir(to))
}

// Link gives a flushed file a second name, which must be free, and flushes the folder.
// Where there are no links to from it is copied.
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

// copyStep is how much Copy copies between two looks at its context.
const copyStep = 64 << 20

// Copy copies a file to a name that must be free, flushed with its folder.
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
		_, err := io.CopyN(w.f, f, copyStep) // which the kernel can do by itself
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

// Remove removes a file, which may be gone already. That is not durable: what a
// crash brings back must be removed by Sweep.
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

// WithoutFolder is the text of an error of a file, named without its folder.
func WithoutFolder(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Sprintf("%s: %v", filepath.Base(p.Path), p.Err)
	}
	return err.Error()
}
