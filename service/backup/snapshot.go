package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// stageName is the folder of the second names in the data folder.
const stageName = ".backup"

// snapshot is the state of a source at one instant.
type snapshot struct {
	source *Source
	files  []staged
	reads  []*bbolt.Tx // one of each database
	// leftOut are the entries of the data folder of which nobody knows what they are.
	leftOut []string
	link    func(from, to string) error // nil is os.Link
}

// staged is a file of a snapshot.
type staged struct {
	path string // relative to the data folder
	size int64
}

// stage returns the path of the second names.
func (s *snapshot) stage() string { return filepath.Join(s.source.Dir, stageName) }

// Sweep removes what a backup that was killed left in a data folder that this process uses alone.
func Sweep(data string) error { return os.RemoveAll(filepath.Join(data, stageName)) }

// take makes the snapshot. The caller calls close.
func (s *snapshot) take(ctx context.Context) error {
	if err := s.pause(ctx); err != nil {
		return err
	}
	// A database that has to grow waits for transactions that read it. So its copy, too, is made here
	// first, and not where a slow disk would keep them open.
	for i, tx := range s.reads {
		if err := s.stageDatabase(ctx, tx, filepath.Base(s.source.databases()[i].Path())); err != nil {
			return err
		}
	}
	slices.SortFunc(s.files, func(a, b staged) int { return strings.Compare(a.path, b.path) })
	return s.endReads()
}

// pause begins the reading transactions, and gives second names to the files of their records; nothing
// changes a record meanwhile.
func (s *snapshot) pause(ctx context.Context) (err error) {
	if err := Sweep(s.source.Dir); err != nil {
		return err
	}
	if err := os.Mkdir(s.stage(), 0o700); err != nil {
		return err
	}
	pause, err := s.source.Meta.Begin(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pause.Rollback()) }()
	for _, d := range s.source.databases() {
		tx, err := d.Begin(false)
		if err != nil {
			return err
		}
		s.reads = append(s.reads, tx)
	}
	return s.stageAll(ctx)
}

// close ends the transactions and removes the second names.
func (s *snapshot) close() error { return errors.Join(s.endReads(), Sweep(s.source.Dir)) }

// endReads ends the reading transactions, which keep pages of the databases from being used again.
func (s *snapshot) endReads() error {
	var err error
	for _, tx := range s.reads {
		err = errors.Join(err, tx.Rollback())
	}
	s.reads = nil
	return err
}

// stageAll gives second names to all files.
func (s *snapshot) stageAll(ctx context.Context) error {
	for _, name := range s.source.Files {
		if err := s.add(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, f := range s.source.Folders {
		if err := s.stageFolder(ctx, &f); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(s.source.Dir)
	for _, e := range entries {
		if !s.source.expects(e.Name()) {
			s.leftOut = append(s.leftOut, e.Name())
		}
	}
	return err
}

// stageDatabase copies a database as a transaction sees it.
func (s *snapshot) stageDatabase(ctx context.Context, tx *bbolt.Tx, name string) (err error) {
	f, err := os.OpenFile(filepath.Join(s.stage(), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return store.Full(err)
	}
	defer func() { err = store.Full(errors.Join(err, f.Close())) }()
	n, err := tx.WriteTo(&stopping{ctx, f})
	s.files = append(s.files, staged{name, n})
	return err
}

// stopping is a writer that fails once its context has ended.
type stopping struct {
	ctx context.Context
	w   io.Writer
}

func (s *stopping) Write(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.w.Write(p)
}

// tries is how often a folder is listed whose files were renamed or removed while they were linked:
// a deletion that waits for its transaction has renamed a note, and the files of a record that is
// gone already are being removed.
const tries = 100

// stageFolder gives second names to the files of a folder.
func (s *snapshot) stageFolder(ctx context.Context, f *Folder) error {
	known := func(string) bool { return true }
	if f.Known != nil {
		var err error
		if known, err = f.Known(s.reads[0]); err != nil {
			return fmt.Errorf("folder %s: %w", f.Name, err)
		}
	}
	before := len(s.files)
	var err error
	for range tries {
		s.files = s.files[:before]
		if err = errors.Join(ctx.Err(), os.RemoveAll(filepath.Join(s.stage(), f.Name))); err != nil {
			return err
		}
		if err = s.list(f, known); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// list lists a folder once, which may be missing.
func (s *snapshot) list(f *Folder, known func(name string) bool) error {
	entries, err := os.ReadDir(filepath.Join(s.source.Dir, f.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(s.stage(), f.Name), 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(f.Name, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."), !known(e.Name()):
		case e.IsDir() && f.Known == nil:
			err = s.list(&Folder{Name: path}, known)
		case e.IsDir():
			err = s.stageSubfolder(path, f)
		case e.Type().IsRegular():
			err = s.add(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stageSubfolder stages a subfolder of f.
func (s *snapshot) stageSubfolder(path string, f *Folder) error {
	if f.Copy == nil {
		return s.stageJob(path, f.First)
	}
	to := filepath.Join(s.stage(), path)
	done, err := f.Copy(filepath.Base(path), to)
	if err != nil {
		return err
	}
	if !done {
		return s.stageJob(path, f.First)
	}
	entries, err := os.ReadDir(to)
	for _, e := range entries {
		info, ierr := e.Info()
		if ierr != nil {
			return ierr
		}
		s.files = append(s.files, staged{filepath.Join(path, e.Name()), info.Size()})
	}
	return err
}

// stageJob gives second names to the files of a subfolder that may grow, and copies the first.
func (s *snapshot) stageJob(dir, first string) error {
	if err := os.MkdirAll(filepath.Join(s.stage(), dir), 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(s.source.Dir, dir))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == first }) {
		if err := s.copySmall(filepath.Join(dir, first)); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || e.Name() == first || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := s.add(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// add gives a file its second name.
func (s *snapshot) add(path string) error {
	from, to := filepath.Join(s.source.Dir, path), filepath.Join(s.stage(), path)
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	link := os.Link
	if s.link != nil {
		link = s.link
	}
	if err = link(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		_, err = copyFile(context.Background(), from, to, nil) // there are no hard links here
	}
	if err != nil {
		return err
	}
	s.files = append(s.files, staged{path, info.Size()})
	return nil
}

// copySmall copies a small file that may be written to meanwhile: what two readings agree on.
func (s *snapshot) copySmall(path string) error {
	var last []byte
	for i := range tries {
		text, err := os.ReadFile(filepath.Join(s.source.Dir, path))
		if err != nil {
			return err
		}
		if i > 0 && bytes.Equal(last, text) {
			s.files = append(s.files, staged{path, int64(len(text))})
			return os.WriteFile(filepath.Join(s.stage(), path), text, 0o600)
		}
		last = text
	}
	return fmt.Errorf("%s changes all the time", path)
}
