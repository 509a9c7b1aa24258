package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

type remark struct {
	Text string
	N    int
}

func TestNotesComeBack(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.about")
	for _, want := range []remark{{"first", 1}, {"second,\nlonger", 2}} {
		if err := (Disk{}).PutNote(path, "remark", want); err != nil {
			t.Fatal(err)
		}
		var got remark
		if err := Note(path, "remark", &got); err != nil || got != want {
			t.Error(got, err)
		}
	}
	if err := Note(path, "another", &remark{}); !errors.Is(err, ErrNote) || !strings.Contains(err.Error(), "a.about") {
		t.Error(err)
	}
	if err := Note(path+"x", "remark", &remark{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if got := list(t, dir); !slices.Equal(got, []string{"a.about"}) {
		t.Error(got)
	}
}

// TestDamagedNotes: a note that lost or changed a byte is refused.
func TestDamagedNotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.about")
	if err := (Disk{}).PutNote(path, "remark", remark{"text", 7}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		changed := slices.Clone(whole)
		changed[i] ^= 1
		for _, text := range [][]byte{whole[:i], changed} {
			if err := readNote(text, "remark", &remark{}); !errors.Is(err, ErrNote) {
				t.Errorf("byte %d: %v", i, err)
			}
		}
	}
}

func TestNoteThatFails(t *testing.T) {
	for _, fault := range []string{"create", "write", "flush", "rename"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.about")
		if err := (Disk{}).PutNote(path, "remark", remark{"old", 1}); err != nil {
			t.Fatal(err)
		}
		d := Disk{Step: func(step, _ string) error {
			if step == fault {
				return syscall.ENOSPC
			}
			return nil
		}}
		var got remark
		if err := d.PutNote(path, "remark", remark{"new", 2}); err == nil {
			t.Error(fault)
		}
		if err := Note(path, "remark", &got); err != nil || got.Text != "old" || len(list(t, dir)) != 1 {
			t.Error(fault, got, err, list(t, dir))
		}
	}
}

func FuzzNote(f *testing.F) {
	f.Add([]byte("thresher remark 00000000\n{}\n"))
	f.Add([]byte("thresher remark d1d0b50c\n{\"Text\":\"a\"}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var v remark
		if err := readNote(text, "remark", &v); err != nil && !errors.Is(err, ErrNote) {
			t.Error(err)
		}
	})
}
