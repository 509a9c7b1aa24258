package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// thing is a record of the tests.
type thing struct {
	Name string `json:"name"`
}

// checkThing is the CheckRecord of the bucket store/things.
func checkThing(bucket string, key, value []byte) error {
	var v thing
	if bucket != "store/things" {
		return nil
	}
	err := ReadJSON("thing "+string(key), value, &v)
	if err == nil && v.Name != string(key) {
		err = fmt.Errorf("it is that of %s", v.Name)
	}
	return err
}

// storeOf makes a database of n things.
func storeOf(t *testing.T, path string, n int) content {
	t.Helper()
	db := opened(t, path)
	defer db.Close()
	err := db.Update(func(tx *bbolt.Tx) error {
		if err := (Schema{Root: "store", Buckets: []Entries{{Name: "things"}, {Name: "others"}}}).Create(tx); err != nil {
			return err
		}
		for i := range n {
			name := fmt.Sprintf("thing %04d", i)
			err := errors.Join(PutJSON(Bucket(tx, "store", "things"), []byte(name), thing{name}), Bucket(tx, "store", "others").Put([]byte(name), []byte{0, byte(i)}))
			if err != nil {
				return err
			}
		}
		return nil
	})
	all, rerr := read(db)
	if err := errors.Join(err, rerr); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMend changes a byte of a record: a check that knows the record finds it, at whatever size of
// the file; the database made instead has all others, and the damaged one is as it was until then.
func TestMend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.db")
	want := storeOf(t, path, 300)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Seal(thing{"thing 0123"})
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(whole)
	for at := 0; ; { // in older pages, too
		i := bytes.Index(broken[at:], text)
		if i < 0 {
			break
		}
		at += i + len(text)
		broken[at-len(text)+18] ^= 1 // of the name
	}
	if err := os.WriteFile(path, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); err != nil {
		t.Error("the pages are damaged:", err)
	}
	never := func(*Damaged) error { t.Error("kept"); return nil }
	if s, err := Mend(path, never); s != nil || err != nil {
		t.Error(s, err)
	}
	for _, err := range []error{
		Check(path, checkThing),
		func() error { _, _, err := Open(path, &Options{Checks: []CheckRecord{checkThing}}); return err }(),
	} {
		var d *Damaged
		if !errors.As(err, &d) || len(d.Faults) != 1 || !strings.HasPrefix(d.Faults[0], `store/things "thing 0123": record of thing thing 0123: its checksum is wrong`) {
			t.Error(err)
		}
	}

	full := errors.New("no space")
	if _, err := Mend(path, func(*Damaged) error { return full }, checkThing); !errors.Is(err, full) {
		t.Error(err)
	}
	left := filepath.Join(filepath.Dir(path), ".meta.db.new-left")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kept := func(d *Damaged) error {
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, broken) || len(d.Faults) != 1 {
			t.Error("it was changed before it was kept", err)
		}
		_, err := Mend(path, never, checkThing)
		if !errors.Is(err, ErrInUse) {
			t.Error("another process may mend it meanwhile:", err)
		}
		return nil
	}
	s, err := Mend(path, kept, checkThing)
	if err != nil || s.Keys != len(want)-1 || s.Buckets != 3 || len(s.Lost) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	db := opened(t, path)
	defer db.Close()
	got, err := read(db)
	delete(want, "store/things/thing 0123")
	if err != nil || len(got) != len(want) {
		t.Error(len(got), len(want), err)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %q, was %q", k, got[k], v)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(names) != 1 {
		t.Error(names)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what a process left that died is still there")
	}
}

// TestLostHeader: of the two headers bbolt takes the one that is left without a word, perhaps without the last
// change. So a damaged one is damage, and mended.
func TestLostHeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.db")
	want := storeOf(t, path, 30)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	metas, err := readMetas(bytes.NewReader(whole))
	if err != nil || len(metas) != 2 {
		t.Fatal(metas, err)
	}
	for page := range 2 {
		broken := bytes.Clone(whole)
		clear(broken[page*4096 : page*4096+512])
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("page %d, one of its two headers, is damaged", page)
		var d *Damaged
		if err := Check(path); !errors.As(err, &d) || len(d.Faults) != 1 || !strings.HasPrefix(d.Faults[0], text) {
			t.Errorf("page %d: %v", page, err)
		}
		damaged(t, path)
		s, err := Mend(path, func(*Damaged) error { return nil })
		if err != nil || s == nil || len(s.Lost) != 1 || !strings.HasPrefix(s.Lost[0], text) {
			t.Fatalf("page %d: %+v, %v", page, s, err)
		}
		if err := Check(path); err != nil {
			t.Error(err)
		}
		db := opened(t, path)
		got, err := read(db)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		// The storing of them all was one change, or several: what came before the last is there.
		if uint64(page) != metas[0].transaction%2 && len(got) != len(want) {
			t.Errorf("%d of %d keys are left though the older header was lost", len(got), len(want))
		}
	}
}

// TestFirstLevels: of a large file the records that describe what there is are checked, too.
func TestFirstLevels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.db")
	storeOf(t, path, 10)
	db := opened(t, path)
	err := db.Update(func(tx *bbolt.Tx) error {
		deep, err := Bucket(tx, "store", "others").CreateBucket([]byte("deep"))
		return errors.Join(err, deep.Put([]byte("k"), []byte("v")), Bucket(tx, "store", "things").Put([]byte("bad"), []byte("{}")))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	f, info, err := openLocked(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for levels, want := range map[int][]string{0: {"deep", "bad"}, firstLevels: {"bad"}, 1: nil} {
		tree, _, err := newest(f, info.Size())
		if err != nil {
			t.Fatal(err)
		}
		tree.levels = levels
		var seen []string
		check := func(bucket string, key, value []byte) error {
			if bucket == "store/others/deep" {
				seen = append(seen, "deep")
			}
			if string(key) == "bad" {
				seen = append(seen, "bad")
			}
			return nil
		}
		var s Salvaged
		s.read(tree, []CheckRecord{check}, &copier{})
		if err := tree.walk(); err != nil || !slices.Equal(seen, want) || len(s.Lost) > 0 {
			t.Errorf("%d levels: %v %q, %+v", levels, err, seen, s)
		}
	}
}

// TestNamesOfBuckets: a bucket whose name was overwritten is damage, for its contents would be
// nobody's.
func TestNamesOfBuckets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.db")
	storeOf(t, path, 10)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"store", "others"} {
		broken := bytes.ReplaceAll(whole, []byte(name), append([]byte{0, 0, 0, 0}, name[4:]...))
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		var d *Damaged
		if err := Check(path); !errors.As(err, &d) || !strings.Contains(d.Faults[0], "is a bucket called") {
			t.Error(name, err)
		}
	}
}

// TestCheckKey: entries of idempotency keys are told from damaged ones.
func TestCheckKey(t *testing.T) {
	db := opened(t, filepath.Join(t.TempDir(), "meta.db"))
	defer db.Close()
	n := 0
	err := db.Update(func(tx *bbolt.Tx) error {
		if err := (Schema{Root: "store", Buckets: []Entries{{Name: "keys"}}}).Create(tx); err != nil {
			return err
		}
		b := Bucket(tx, "store", "keys")
		if err := PutKey(b, "key", "print", []byte("value"), time.Unix(1_700_000_000, 0)); err != nil {
			return err
		}
		return b.ForEach(func(k, v []byte) error {
			n++
			if err := CheckKey(k, v); err != nil {
				t.Error(err)
			}
			for i := range v {
				bad := bytes.Clone(v)
				bad[i] = 0
				if CheckKey(k, bad) == nil {
					t.Errorf("byte %d of %q may be 0", i, v)
				}
			}
			bad := append(bytes.Clone(k[:len(k)-1]), 0)
			if CheckKey(bad, v) == nil || CheckKey(k[:1], v) == nil || CheckKey([]byte("x"), v) == nil {
				t.Errorf("%q is an entry", bad)
			}
			return nil
		})
	})
	if err != nil || n != 2 {
		t.Error(n, err)
	}
}
