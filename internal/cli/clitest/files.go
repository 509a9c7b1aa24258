package clitest

import (
	"os"
	"path/filepath"
	"testing"
)

// WriteFile writes a file in the folder dir and returns its path.
func WriteFile(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// ReadFile returns the content of a file.
func ReadFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Exists reports whether there is something at a path; a link counts wherever it leads.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// FolderOf lists a folder, in the order of the names.
func FolderOf(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
