package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"thresher/store"
)

// meta is the database's path.
func (f *folder) meta() string { return filepath.Join(f.dir, "meta.db") }

// copyOf copies a file to another name.
func copyOf(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lost lists the files in lost+found.
func (f *folder) lost() (names []string) {
	f.t.Helper()
	entries, err := os.ReadDir(filepath.Join(f.dir, "lost+found", "files"))
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestDatabaseIsLost: every acknowledged file is restored with its name, purpose, time and
// key, in the same order.
func TestDatabaseIsLost(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	for i := range 5 {
		if _, err := f.Create(ctx, fmt.Sprint("in ", i), "batch", fmt.Sprint("key ", i), strings.NewReader(fmt.Sprint("content ", i))); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(f.dir, "made")
	write(t, path, "answers")
	if _, err := f.Adopt(ctx, path, "out", "batch_output", "b", ""); err != nil {
		t.Fatal(err)
	}
	want, used := f.all(), f.used.Load()
	f.close()
	if err := os.Remove(f.meta()); err != nil {
		t.Fatal(err)
	}
	f.open()
	if d := cmp.Diff(want, f.all()); d != "" || f.used.Load() != used || len(f.Found().Adopted) != len(want) {
		t.Error(d, f.used.Load(), f.Found())
	}
	for i := range 5 {
		if got := f.content(want[5-i].ID); got != fmt.Sprint("content ", i) {
			t.Error(i, got)
		}
	}
	again, err := f.Create(ctx, "in 3", "batch", "key 3", strings.NewReader("content 3"))
	if err != nil || again != want[2] || len(f.all()) != len(want) {
		t.Error(again, err)
	}
	f.close()
	f.open()
	if d := cmp.Diff(want, f.all()); d != "" || len(f.Found().Adopted) != 0 {
		t.Error(d, f.Found())
	}
	f.close()
	f.open() // for the cleanup
}

// TestDatabaseIsOlder: newer files than the database are restored, deleted ones are reported
// as missing.
func TestDatabaseIsOlder(t *testing.T) {
	f := newFolder(t, Options{})
	f.create("first", "", "1")
	second := f.create("second", "", "2")
	f.close()
	copyOf(t, f.meta(), f.meta()+".old")
	f.open()
	f.create("third", "p", "3")
	if err := f.Delete(second.ID); err != nil {
		t.Fatal(err)
	}
	f.close()
	copyOf(t, f.meta()+".old", f.meta())
	f.open()
	var names []string
	for _, file := range f.all() {
		names = append(names, file.Name)
	}
	if !slices.Equal(names, []string{"third", "second", "first"}) || !slices.Equal(f.Found().Missing, []string{second.ID}) {
		t.Error(names, f.Found())
	}
	if err := f.Delete(second.ID); err != nil { // which removes the leftovers
		t.Error(err)
	}
}

// TestUnknownFilesAreKept: files without a note are moved and listed; files with other names
// stay where they are.
func TestUnknownFilesAreKept(t *testing.T) {
	f := newFolder(t, Options{})
	known := f.create("known", "", "1")
	short := f.create("short", "", "12345")
	f.close()
	if err := os.Remove(f.meta()); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"file-of-before": "from a version without notes", short.ID: "1234", "stray": "not ours",
		".new-abc": "half an upload", "file-husk" + aboutSuffix: "no note",
	} {
		write(t, f.at(name), content)
	}
	f.open()
	if got := f.all(); len(got) != 1 || got[0] != known {
		t.Error(got)
	}
	want := []string{"file-husk.about", "file-of-before", short.ID, short.ID + ".about"}
	slices.Sort(want)
	if got := f.lost(); !slices.Equal(got, want) || len(f.Found().Kept) != len(want) {
		t.Error(got, f.Found().Kept)
	}
	if got := f.there(); !slices.Equal(got, []string{known.ID, "stray"}) {
		t.Error(got)
	}
}

// TestMarks: a file that is marked as deleted exists as long as the database knows it.
func TestMarks(t *testing.T) {
	f := newFolder(t, Options{})
	a, b := f.create("a", "", "1"), f.create("b", "", "2")
	for _, id := range []string{a.ID, b.ID} {
		if err := os.Rename(f.at(id+aboutSuffix), f.at(id+deletedSuffix)); err != nil {
			t.Fatal(err)
		}
	}
	f.close()
	f.open()
	if got := f.all(); len(got) != 2 || len(f.there()) != 2 {
		t.Error(got, f.there())
	}
	if err := os.Rename(f.at(a.ID+aboutSuffix), f.at(a.ID+deletedSuffix)); err != nil {
		t.Fatal(err)
	}
	f.close()
	if err := os.Remove(f.meta()); err != nil {
		t.Fatal(err)
	}
	f.open()
	if got := f.all(); len(got) != 1 || got[0] != b || len(f.lost()) != 0 {
		t.Error(got, f.lost())
	}
}

// TestFilesOfBefore: files without notes get them when they are opened.
func TestFilesOfBefore(t *testing.T) {
	f := newFolder(t, Options{})
	a := f.create("a", "", "1")
	if err := os.Remove(f.at(a.ID + aboutSuffix)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f.close()
		f.open()
		if got := f.all(); len(got) != 1 || got[0] != a || len(f.there()) != 1 {
			t.Error(got)
		}
		f.close()
		if err := os.Remove(f.meta()); err != nil {
			t.Fatal(err)
		}
		f.open()
	}
}

// TestRecordsAreLost: files whose records are lost keep their places in the order, and places that
// are lost are those of the records.
func TestRecordsAreLost(t *testing.T) {
	f := newFolder(t, Options{})
	var ids []string
	for i := range 5 {
		ids = append(ids, f.create(fmt.Sprint(i), "", "x").ID)
	}
	want := f.all()
	err := f.db.Update(func(tx *bbolt.Tx) error {
		order := bucket(tx, orderBucket)
		at, err := orderKey(tx, ids[3])
		return errors.Join(err, bucket(tx, recordsBucket).Delete([]byte(ids[1])), order.Delete(at), order.SetSequence(1),
			order.Put(store.Key(1<<40), []byte(ids[0])), order.Put(store.Key(1<<41), []byte("file-of-nobody")))
	})
	if err != nil {
		t.Fatal(err)
	}
	f.close()
	f.open()
	if d := cmp.Diff(want, f.all()); d != "" || !slices.Equal(f.Found().Adopted, ids[1:2]) {
		t.Error(d, f.Found())
	}
	last := f.create("last", "", "x")
	if got := f.all(); len(got) != 6 || got[0] != last {
		t.Error(got)
	}
	if err := f.Delete(ids[3]); err != nil || len(f.all()) != 5 {
		t.Error(err)
	}
}

// TestDamagedNotes: a note that is cut, or that of another file, is written again.
func TestDamagedNotes(t *testing.T) {
	f := newFolder(t, Options{})
	a, b, c := f.create("a", "", "1"), f.create("b", "", "2"), f.create("c", "", "3")
	want := f.all()
	f.close()
	if err := errors.Join(os.Truncate(f.at(a.ID+aboutSuffix), 40), os.Truncate(f.at(b.ID+aboutSuffix), 0)); err != nil {
		t.Fatal(err)
	}
	copyOf(t, f.at(a.ID+aboutSuffix), f.at(b.ID+deletedSuffix)) // its deletion was interrupted as well
	if err := os.Remove(f.at(b.ID + aboutSuffix)); err != nil {
		t.Fatal(err)
	}
	note, err := os.ReadFile(f.at(c.ID + aboutSuffix))
	if err != nil {
		t.Fatal(err)
	}
	f.open()
	f.close()
	for _, file := range []File{a, b, c} {
		if err := f.checkNote(file.ID); err != nil {
			t.Error(err)
		}
	}
	if got, err := os.ReadFile(f.at(c.ID + aboutSuffix)); err != nil || string(got) != string(note) {
		t.Errorf("a whole note was written again: %s, %v", got, err)
	}
	copyOf(t, f.at(a.ID+aboutSuffix), f.at(b.ID+aboutSuffix))
	f.open()
	f.close()
	if err := os.Remove(f.meta()); err != nil {
		t.Fatal(err)
	}
	f.open()
	if d := cmp.Diff(want, f.all()); d != "" || len(f.lost()) > 0 {
		t.Error(d, f.lost())
	}
}

// TestCheckRecord: records with a byte of zero are told from those that the store writes.
func TestCheckRecord(t *testing.T) {
	f := newFolder(t, Options{})
	a, err := f.Create(context.Background(), "a", "batch", "key", strings.NewReader("x"))
	if err := errors.Join(err, f.Hold(a.ID, "owner")); err != nil {
		t.Fatal(err)
	}
	n := 0
	err = f.db.View(func(tx *bbolt.Tx) error {
		for _, name := range []string{recordsBucket, orderBucket, keysBucket, holdsBucket, ownersBucket} {
			path := rootBucket + "/" + name
			err := bucket(tx, name).ForEach(func(k, v []byte) error {
				n++
				if err := Schema().CheckRecord(path, k, v); err != nil {
					t.Error(err)
				}
				for i := range v {
					bad := slices.Clone(v)
					if bad[i] = 0; Schema().CheckRecord(path, k, bad) == nil {
						t.Errorf("%s %q: byte %d may be 0", name, k, i)
					}
				}
				bad := slices.Clone(k)
				if bad[len(bad)-1] = 0; Schema().CheckRecord(path, bad, v) == nil {
					t.Errorf("%s %q: its last byte may be 0", name, k)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || n != 6 {
		t.Error(n, err)
	}
	if Schema().CheckRecord(rootBucket, []byte(recordsBucket), []byte{}) == nil || Schema().CheckRecord(rootBucket+"/"+recordsBucket, []byte("a"), nil) == nil || Schema().CheckRecord("catalog", []byte("keys"), nil) != nil {
		t.Error("a record in the place of a bucket")
	}
}
