package files

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// database is a new one in dir.
func database(t *testing.T, dir string) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, "meta.db"), 0o644, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// store is a new one, in a folder and a database of its own.
func store(t *testing.T, o *Options) *Store {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(filepath.Join(dir, "files"), database(t, dir), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContentComesBack(t *testing.T) {
	s := store(t, nil)
	const content = "{}\n{}\n"
	f, err := s.Create(context.Background(), "in.jsonl", "batch", "", strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	r, got, err := s.Open(f.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil || string(text) != content || got != f || f.Bytes != 6 {
		t.Fatalf("%q, %+v, %+v, %v", text, got, f, err)
	}
}
