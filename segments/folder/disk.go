package folder

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"thresher/collection"
	"thresher/internal/atomicfile"
)

// disk is what a folder writes to. Tests make its steps fail.
type disk interface {
	// openLog opens a log to be written.
	openLog(path string) (logWriter, error)
	// commit gives a file its name, durably.
	commit(f *atomicfile.File) error
	// build writes a segment, durably, and opens it.
	build(ctx context.Context, path string, src collection.Source, o *collection.Options) (*collection.Collection, error)
	remove(path string) error
	// flush makes the names in a folder durable.
	flush(path string) error
}

// logWriter is a log that is being written.
type logWriter interface {
	Name() string
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// files is the disk itself.
type files struct{}

func (files) openLog(path string) (logWriter, error) { return os.OpenFile(path, os.O_RDWR, 0) }

func (files) commit(f *atomicfile.File) error { return f.Commit(true) }

func (files) build(ctx context.Context, path string, src collection.Source, o *collection.Options) (*collection.Collection, error) {
	return collection.Create(ctx, path, src, true, o)
}

func (files) remove(path string) error { return os.Remove(path) }

func (files) flush(path string) error { return atomicfile.FlushFolder(path) }

// modeIn is the mode of new files in a folder: who may read it may read them.
func modeIn(path string) fs.FileMode {
	info, err := os.Stat(path)
	if err != nil { // which whoever makes a file there is told
		return 0o600
	}
	return info.Mode().Perm() & 0o666
}

// writeFile writes a file, which appears whole and durable or not at all.
func writeFile(d disk, path string, b []byte) error {
	out, err := atomicfile.Create(path, modeIn(filepath.Dir(path)))
	if err != nil {
		return err
	}
	defer out.Discard()
	if _, err := out.Write(b); err != nil {
		return err
	}
	return d.commit(out)
}
