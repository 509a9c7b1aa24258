package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, path, content string) {
	t.Helper()
	if text, err := os.ReadFile(path); err != nil || string(text) != content {
		t.Errorf("%s holds %q, %v", filepath.Base(path), text, err)
	}
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestFull(t *testing.T) {
	for _, err := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, io.ErrShortWrite} {
		wrapped := fmt.Errorf("writing: %w", &fs.PathError{Op: "write", Path: "/secret", Err: err})
		full := Full(wrapped)
		if !errors.Is(full, ErrFull) || !errors.Is(full, err) || Full(full) != full {
			t.Error(err, full)
		}
	}
	for _, err := range []error{nil, syscall.EIO, fs.ErrNotExist} {
		if Full(err) != err {
			t.Error(err)
		}
	}
}

func TestWriterIsThereOnlyWhenClosed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, fault := range []string{"", "create", "write", "flush", "flush folder"} {
		d := Disk{Step: func(step, _ string) error {
			if step == fault {
				return syscall.ENOSPC
			}
			return nil
		}}
		w, err := d.Create(path)
		if err == nil {
			_, err = io.WriteString(w, "abc")
			if err == nil {
				err = w.Close()
			}
			w.Discard()
		}
		if fault == "" {
			if err != nil || w.Bytes() != 3 || w.Sum()[:8] != "ba7816bf" {
				t.Error(err, w.Bytes(), w.Sum())
			}
			has(t, path, "abc")
			if _, err := d.Create(path); !errors.Is(err, fs.ErrExist) {
				t.Error("created twice:", err)
			}
			os.Remove(path)
			continue
		}
		if !errors.Is(err, ErrFull) || len(list(t, dir)) != 0 {
			t.Error(fault, err, list(t, dir))
		}
	}
}

func TestCopyAsksBeforeItWrites(t *testing.T) {
	w, err := Disk{}.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Discard()
	refused := errors.New("too long")
	var asked int64
	allow := func(n int64) error {
		if asked += n; asked > copyBytes {
			return refused
		}
		return nil
	}
	if err := w.Copy(context.Background(), strings.NewReader(strings.Repeat("x", copyBytes+1)), allow); err != refused {
		t.Error(err)
	}
	if w.Bytes() != copyBytes {
		t.Error(w.Bytes())
	}
	if err := w.Copy(context.Background(), idle{}, nil); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestSecondNames(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "from")
	write(t, from, "abc")
	noLinks := Disk{Step: func(step, _ string) error {
		if step == "link" {
			return syscall.EXDEV
		}
		return nil
	}}
	for name, d := range map[string]Disk{"linked": {}, "copied": noLinks} {
		to := filepath.Join(dir, name)
		if err := d.Link(from, to); err != nil {
			t.Error(err)
		}
		has(t, to, "abc")
		if err := d.Link(from, to); !errors.Is(err, fs.ErrExist) {
			t.Error(name, err)
		}
		if err := d.Link(from+"x", to+"x"); !errors.Is(err, fs.ErrNotExist) {
			t.Error(name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (Disk{}).Copy(ctx, from, filepath.Join(dir, "late")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	full := Disk{Step: func(step, _ string) error {
		if step == "link" || step == "rename" {
			return syscall.ENOSPC
		}
		return nil
	}}
	for _, err := range []error{full.Link(from, filepath.Join(dir, "full")), full.Rename(from, filepath.Join(dir, "full"))} {
		if !errors.Is(err, ErrFull) {
			t.Error(err)
		}
	}
	if err := (Disk{}).Rename(from, filepath.Join(dir, "copied")); err != nil {
		t.Error(err)
	}
	if got := list(t, dir); !slices.Equal(got, []string{"copied", "linked"}) {
		t.Error(got)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"keep", "drop", ".drop"} {
		write(t, filepath.Join(dir, name), name)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("keep", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := (Disk{}).Sweep(dir, func(name string) bool { return name == "keep" }); err != nil {
		t.Fatal(err)
	}
	if got := list(t, dir); !slices.Equal(got, []string{"folder", "keep", "link"}) {
		t.Error(got)
	}
	if err := (Disk{}).Remove(filepath.Join(dir, "gone")); err != nil {
		t.Error(err)
	}
}
