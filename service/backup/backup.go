package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"thresher/internal/filelock"
	"thresher/service/api"
	"thresher/store"
)

// Options say where backups are written to, and how many of them stay.
type Options struct {
	// Folder is the folder of the backups; it is created if missing. It lies neither in the data folder
	// nor around it.
	Folder string
	// Keep is how many backups without damage stay; older ones are removed after one that is without
	// damage. 0 keeps all.
	Keep int
	// Check reads everything in a data folder and reports the state of each thing.
	Check func(ctx context.Context, dir string, tell func(store.Item)) error

	// For tests: step is called before each step, link makes hard links; nil for nothing, and os.Link.
	step func(name string)
	link func(from, to string) error
}

// ErrRunning says that another backup is being written to the same folder.
var ErrRunning = errors.New("another backup is being made")

// making is a backup being made.
type making struct {
	source *Source
	o      *Options
	folder folder
	done   amounts

	mu sync.Mutex
	b  api.Backup // without what done counts
}

func newMaking(src *Source, o *Options) *making {
	m := &making{source: src, o: o, folder: folder{o.Folder}}
	m.b = api.Backup{Object: "backup", Status: api.BackupInProgress, CreatedAt: time.Now().UTC().Truncate(time.Millisecond), Program: src.Release}
	m.done.phase.Store("snapshot")
	return m
}

// view returns the backup with what is done of it.
func (m *making) view() api.Backup {
	m.mu.Lock()
	b := m.b
	m.mu.Unlock()
	b.Files, b.FilesDone = m.done.files.Load(), m.done.filesDone.Load()
	b.Bytes, b.BytesDone, b.BytesLinked = m.done.bytes.Load(), m.done.bytesDone.Load(), m.done.bytesLinked.Load()
	b.Phase, _ = m.done.phase.Load().(string)
	return b
}

// set changes what view returns.
func (m *making) set(change func(b *api.Backup)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.b)
}

func (m *making) step(name string) {
	m.done.phase.Store(name)
	if m.o.step != nil {
		m.o.step(name)
	}
}

// make makes the backup: flushed, checked, and complete. Damage that the data folder has is copied and
// named in the result; it is no error. If ctx ends nothing is left of the backup.
func (m *making) make(ctx context.Context) (err error) {
	unlock, err := m.open()
	if err != nil {
		return err
	}
	defer unlock()
	name, path, err := m.folder.begin(m.b.CreatedAt)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}()
	leftOut, err := m.fill(ctx, path)
	if err != nil {
		return err
	}
	m.step("checking")
	damaged, err := m.check(ctx, path)
	if err != nil {
		return fmt.Errorf("checking the backup: %w", err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.step("")
	now := time.Now().UTC()
	m.set(func(b *api.Backup) {
		b.Name, b.Status, b.EndedAt, b.Damaged, b.LeftOut = name, api.BackupCompleted, &now, damaged, leftOut
	})
	if err := m.folder.finish(path, m.view()); err != nil {
		return err
	}
	removed, late := m.folder.retain(m.o.Keep)
	m.set(func(b *api.Backup) { b.Removed = removed })
	if late != nil {
		return &retainError{late}
	}
	return nil
}

// retainError says that a backup is complete, and an older one could not be removed.
type retainError struct{ err error }

func (e *retainError) Error() string {
	return "the backup is complete, but an older one could not be removed: " + e.err.Error()
}

func (e *retainError) Unwrap() error { return e.err }

// open makes and locks the folder of backups.
func (m *making) open() (unlock func(), err error) {
	if err := os.MkdirAll(m.o.Folder, 0o700); err != nil {
		return nil, store.Full(err)
	}
	if err := apart(m.source.Dir, m.o.Folder); err != nil {
		return nil, err
	}
	dir, err := os.Open(m.o.Folder)
	if err != nil {
		return nil, err
	}
	taken, err := filelock.Try(dir)
	if err == nil && !taken {
		err = fmt.Errorf("%w in %s", ErrRunning, m.o.Folder)
	}
	if err == nil {
		err = m.folder.sweep()
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return func() { dir.Close() }, nil
}

// fill copies everything to path.
func (m *making) fill(ctx context.Context, path string) (leftOut []string, err error) {
	former := ""
	if all, err := m.folder.list(); err == nil && len(all) > 0 {
		former = filepath.Join(m.folder.dir, all[0].Name)
	}
	s := &snapshot{source: m.source, link: m.o.link}
	defer func() { err = errors.Join(err, s.close()) }()
	m.step("snapshot")
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	for _, f := range s.files {
		m.done.bytes.Add(f.size)
	}
	m.done.files.Add(int64(len(s.files)))
	m.step("copying")
	c := &copier{from: s.stage(), to: path, former: former, done: &m.done, folders: map[string]bool{path: true}}
	for _, f := range s.files {
		if err := c.file(ctx, f); err != nil {
			return nil, err
		}
	}
	return s.leftOut, c.flush()
}

// check reads the whole copy and returns what is damaged in it.
func (m *making) check(ctx context.Context, path string) (damaged []string, err error) {
	err = m.o.Check(ctx, path, func(i store.Item) {
		if i.Verdict == store.Intact {
			return
		}
		text := fmt.Sprintf("%s %s is %s", i.Kind, i.Name, i.Verdict)
		if i.Detail != "" {
			text += ": " + i.Detail
		}
		damaged = append(damaged, text)
	})
	return damaged, err
}
