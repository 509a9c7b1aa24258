package store

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"thresher/internal/crashtest"
)

func TestMain(m *testing.M) {
	crashtest.Main(mendAloud)
	m.Run()
}

// mendAloud mends the database meta.db of a folder, which it keeps as kept, and prints a line at every
// fiftieth record that is checked, and once all is done.
func mendAloud(child *crashtest.Child) error {
	path := filepath.Join(child.Args[0], "meta.db")
	keep := func(*Damaged) error {
		child.Print("keeping")
		if err := os.Link(path, filepath.Join(child.Args[0], "kept")); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		child.Print("kept")
		return nil
	}
	n := 0
	aloud := func(bucket string, key, value []byte) error {
		if n++; n%50 == 0 {
			child.Print("record")
		}
		return checkThing(bucket, key, value)
	}
	_, err := Mend(path, keep, aloud)
	child.Print("done")
	return err
}

// TestMendIsKilled kills a process while it mends a database: the database is the damaged one as it
// was, which can be mended again, or the one made of it, and once there is a choice the damaged one
// is kept.
func TestMendIsKilled(t *testing.T) {
	from := filepath.Join(t.TempDir(), "meta.db")
	want := storeOf(t, from, 300)
	delete(want, "store/things/thing 0123")
	db := opened(t, from)
	err := db.Update(func(tx *bbolt.Tx) error { return Bucket(tx, "store", "things").Put([]byte("thing 0123"), []byte("{}")) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	broken, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 12))
	mended := 0
	const kills = 24
	for range kills {
		dir := t.TempDir()
		path, kept := filepath.Join(dir, "meta.db"), filepath.Join(dir, "kept")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		life := crashtest.Run(t, 1+r.IntN(60), r.IntN(2) == 0, dir)
		now, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(now, broken) {
			mended++
			if was, err := os.ReadFile(kept); err != nil || !bytes.Equal(was, broken) {
				t.Fatalf("killed at %q: what was damaged is not kept: %v", life.Last(), err)
			}
		}
		if _, err := Mend(path, func(*Damaged) error { return nil }, checkThing); err != nil {
			t.Fatal(err)
		}
		db := opened(t, path)
		got, err := read(db)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Errorf("killed at %q: %d keys of %d", life.Last(), len(got), len(want))
		}
		for k, v := range want {
			if got[k] != v {
				t.Fatalf("killed at %q: %s is %q, was %q", life.Last(), k, got[k], v)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); life.Done && len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
	if mended == 0 || mended == kills {
		t.Errorf("mended before %d of %d kills", mended, kills)
	}
}
