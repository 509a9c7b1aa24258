package files

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"thresher/store"
)

// Staged is the content of a file without a name: it is on the disk and counts towards the
// limits. Discard removes it unless Keep has made it a file.
type Staged struct {
	// Maker becomes that of the file.
	Maker string

	s *Store
	w *store.Writer
	b budget
}

// Stage writes the content of r. Errors of r are returned wrapped, and leave nothing behind.
// The caller calls Discard at the end.
func (s *Store) Stage(ctx context.Context, r io.Reader) (*Staged, error) {
	w, err := s.o.disk.Create(filepath.Join(s.dir, temporary+random()))
	if err != nil {
		return nil, err
	}
	st := &Staged{s: s, w: w, b: budget{s: s, most: s.o.MaxBytes}}
	if err := w.Copy(ctx, r, st.b.reserve); err != nil {
		st.Discard()
		return nil, err
	}
	return st, nil
}

// Keep flushes the content and makes it a file. key, if not "", is the idempotency key: the
// same file under the same key gets the record of the first unless that was deleted; another
// file is refused. It may be called once.
func (st *Staged) Keep(name, purpose, key string) (File, error) {
	if err := checkNames(name, purpose); err != nil {
		return File{}, err
	}
	if err := st.w.Close(); err != nil {
		return File{}, err
	}
	f := File{Name: name, Purpose: purpose, Bytes: st.w.Bytes(), SHA256: st.w.Sum(), Maker: st.Maker}
	fingerprint := strings.Join([]string{"create", name, purpose, f.SHA256}, "\x00")
	disk := &st.s.o.disk
	f, first, err := st.s.publish(f, key, fingerprint, func(to string) error { return disk.Rename(st.w.Path(), to) })
	if err != nil || !first {
		return f, errors.Join(err, disk.Remove(st.w.Path()))
	}
	st.b.keep()
	return f, nil
}

// Discard removes content that was not kept, and returns its reservation.
func (st *Staged) Discard() {
	st.w.Discard()
	st.b.release()
	st.b.keep()
}
