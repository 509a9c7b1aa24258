package service

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestOthersReadNothing: whatever the folder was before, and whatever the server writes, each
// file is for its own user alone.
func TestOthersReadNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not say who may read")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := startIn(t, dir, nil)
	s.fill()
	s.do("POST", "/v1/collections/films/rows?wait", npy(gaussian(2, dim), dim), "Content-Type", npyType).want(200)
	put := s.upload("rows.npy", npy(gaussian(3, 9*dim), dim), "batch")
	s.do("PUT", "/v1/collections/more?metric=ip&wait", `{"source":{"file_id":"`+put+`"}}`).want(201)
	for _, format := range []string{"jsonl", "npz", "parquet"} {
		var made job
		s.do("POST", "/v1/batches", map[string]any{"input_file_id": put, "endpoint": "/v1/collections/films/search", "search": map[string]any{"k": 2}, "output_format": format}).want(200).into(&made)
		if j := s.over(made.ID); j.Status != "completed" {
			t.Errorf("%s: %+v", format, j)
		}
	}
	s.write("x")
	if err := os.WriteFile(filepath.Join(dir, collectionsName, "stray"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.stopAll()
	s = startIn(t, dir, nil) // which writes what a start does
	found := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if found++; info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || found < 20 {
		t.Errorf("%d files, %v", found, err)
	}
	if strings.Contains(s.log.String(), "other users") {
		t.Error("a warning of files that nobody else can read")
	}
}

// TestWarnsOfExposedFiles: a start counts the files that others can read, names one and says how
// to end it.
func TestWarnsOfExposedFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not say who may read")
	}
	dir := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"closed": 0o700, "open": 0o755, "open/in": 0o750, "group": 0o710} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Chmod(filepath.Join(dir, name), 0o700) }()
		for file, mode := range map[string]fs.FileMode{"mine": 0o600, "theirs": 0o604, "ours": 0o640} {
			path := filepath.Join(dir, name, file)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for mode, want := range map[fs.FileMode]exposed{
		0o700: {},
		0o755: {4, "group/ours"}, // open/ours, open/theirs, open/in/ours, group/ours
		0o750: {3, "group/ours"}, // not open/theirs, because only the group enters
	} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if got := findExposed(dir); got != want {
			t.Errorf("in a folder of mode %o: %+v, want %+v", mode, got, want)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	log := startIn(t, dir, nil).log.String()
	for _, says := range []string{`"files":4`, `"first":"group/ours"`, "chmod -R go-rwx " + dir} {
		if !strings.Contains(log, says) {
			t.Errorf("the log lacks %s", says)
		}
	}
}
