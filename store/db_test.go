package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	_ "thresher/internal/draws"
)

// content maps paths to the contents of a database.
type content map[string]string

// read reads all of a database by bbolt.
func read(db *bbolt.DB) (content, error) {
	c := content{}
	var each func(path string, b *bbolt.Bucket) error
	each = func(path string, b *bbolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			if v == nil {
				return each(path+"/"+string(k), b.Bucket(k))
			}
			c[path+"/"+string(k)] = string(v)
			return nil
		})
	}
	err := db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return each(string(name), b) })
	})
	return c, err
}

// filled makes a database of two buckets, one of which contains others, with large values and
// many keys, so that it has branches, overflow pages and free pages.
func filled(t testing.TB, path string, keys int) content {
	t.Helper()
	db, fresh, err := Open(path, &Options{NoSync: true})
	if err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	for round := range 3 {
		err := db.Update(func(tx *bbolt.Tx) error {
			for _, name := range []string{"one", "two"} {
				b, err := tx.CreateBucketIfNotExists([]byte(name))
				if err != nil {
					return err
				}
				sub, err := b.CreateBucketIfNotExists([]byte("sub"))
				if err != nil {
					return err
				}
				small, err := b.CreateBucketIfNotExists([]byte("tiny"))
				if err != nil {
					return err
				}
				for i := range keys {
					key := fmt.Appendf(nil, "key %06d", i)
					if err := errors.Join(b.Put(key, bytes.Repeat([]byte{byte(i)}, 10+i%5*round)), sub.Put(key, bytes.Repeat(key, 1+i%50*20))); err != nil {
						return err
					}
				}
				if err := errors.Join(small.Put([]byte("k"), []byte("v")), b.SetSequence(uint64(7+round))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all, err := read(db)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return all
}

func opened(t *testing.T, path string) *bbolt.DB {
	t.Helper()
	db, _, err := Open(path, &Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestWholeDatabasesOpen(t *testing.T) {
	for _, keys := range []int{0, 1, 100, 3000} {
		path := filepath.Join(t.TempDir(), "meta.db")
		want := filled(t, path, keys)
		if err := Check(path); err != nil {
			t.Error(keys, err)
		}
		db := opened(t, path)
		got, err := read(db)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Error(keys, err, d)
		}
		_, _, err = Open(path, &Options{Wait: time.Millisecond})
		if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), path) {
			t.Error(err)
		}
		if err := Check(path); !errors.Is(err, ErrInUse) {
			t.Error(err)
		}
		db.Close()
	}
}

func TestMissingAndEmptyAreMade(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "meta.db")
	if err := Check(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for range 2 {
		db, fresh, err := Open(path, nil)
		if err != nil || !fresh {
			t.Fatal(fresh, err)
		}
		db.Close()
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 {
		t.Error(names)
	}
	if _, _, err := Open(filepath.Join(dir, "no", "meta.db"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, _, err := Open(dir, nil); err == nil || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
}

// damaged checks that a database is refused by name.
func damaged(t testing.TB, path string) {
	t.Helper()
	db, _, err := Open(path, nil)
	if err == nil {
		db.Close()
		t.Fatal("it was opened")
	}
	var d *Damaged
	if !errors.As(err, &d) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "thresher data repair --data "+filepath.Dir(path)) {
		t.Fatal(err)
	}
}

// TestCut truncates a database at all relevant sizes: bbolt panics on many of these.
func TestCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.db")
	filled(t, path, 300)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	metas, err := readMetas(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	used := int(metas[0].pages * metas[0].pageSize)
	for _, n := range []int{1, 100, 4095, 4096, 5000, 8192, 12288, used / 2, used/2 + 100, used - 4096, used - 1} {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		damaged(t, path)
		if err := Check(path); err == nil {
			t.Error(n, "is whole")
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, whole[:n]) {
			t.Error(n, "was changed", err)
		}
	}
	if err := os.WriteFile(path, whole[:used], 0o600); err != nil {
		t.Fatal(err)
	}
	opened(t, path).Close()
}

// salvaged makes a database at to from the file at from.
func salvaged(from, to string) (Salvaged, error) {
	f, err := os.Open(from)
	if err != nil {
		return Salvaged{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Salvaged{}, err
	}
	return salvage(f, info.Size(), to, nil)
}

// TestGarbage overwrites ranges with noise: a database that opens can be read to its end, and
// neither Open nor a salvage panics, which finds only what was stored.
func TestGarbage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "meta.db")
	all := filled(t, path, 60)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, salvages := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		b := bytes.Clone(whole)
		page := rapid.IntRange(0, len(b)/4096-1).Draw(t, "page")
		for range rapid.IntRange(1, 4).Draw(t, "pieces") {
			at := page*4096 + rapid.OneOf(rapid.IntRange(0, 31), rapid.IntRange(0, 4000)).Draw(t, "at")
			copy(b[at:], rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "noise"))
		}
		n++
		broken := filepath.Join(dir, fmt.Sprint("broken", n))
		if err := os.WriteFile(broken, b, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(broken)
		db, _, err := Open(broken, &Options{NoSync: true})
		if err == nil {
			_, err = read(db)
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			return
		}
		var d *Damaged
		if !errors.As(err, &d) {
			t.Fatal(err)
		}
		if salvages == 10 { // each flushes
			return
		}
		mended := broken + ".mended"
		defer os.Remove(mended)
		s, err := salvaged(broken, mended)
		if err != nil || len(s.Lost) == 0 {
			t.Fatal(s, err)
		}
		salvages++
		again, _, err := Open(mended, &Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		got, err := read(again)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > len(all)+8 {
			t.Fatalf("%d of %d keys", len(got), len(all))
		}
	})
}

// TestSalvageOfACutFile keeps the complete values before the cut.
func TestSalvageOfACutFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "meta.db")
	all := filled(t, path, 300)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for i := range 8 {
		cut, to := filepath.Join(dir, fmt.Sprint("cut", i)), filepath.Join(dir, fmt.Sprint("to", i))
		if err := os.WriteFile(cut, whole[:len(whole)*(i+1)/8], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := salvaged(cut, to)
		if err != nil {
			t.Fatal(err)
		}
		db := opened(t, to)
		got, err := read(db)
		db.Close()
		if err != nil || s.Keys != len(got) {
			t.Errorf("%d keys of %d: %v", len(got), s.Keys, err)
		}
		for k, v := range got {
			if all[k] != v {
				t.Fatalf("%s is %q, was %q", k, v, all[k])
			}
		}
		most = max(most, len(got))
	}
	if most != len(all) {
		t.Errorf("%d of %d keys of a file that is whole", most, len(all))
	}
	if err := os.WriteFile(path, []byte("no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := salvaged(path, filepath.Join(dir, "empty"))
	if err != nil || s.Keys != 0 || len(s.Lost) != 1 {
		t.Error(s, err)
	}
	opened(t, filepath.Join(dir, "empty")).Close()
}

// FuzzPages: bbolt can read every key of a database that passes the check.
func FuzzPages(f *testing.F) {
	path := filepath.Join(f.TempDir(), "meta.db")
	filled(f, path, 20)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), []byte{}, uint32(0))
	f.Add(uint16(4096+16), []byte("garbage"), uint32(0))
	f.Add(uint16(2*4096+10), []byte{255, 255}, uint32(5000))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, at uint16, noise []byte, cut uint32) {
		b := bytes.Clone(whole)
		copy(b[min(int(at), len(b)):], noise)
		b = b[:len(b)-int(min(cut, uint32(len(b)-1)))]
		path := filepath.Join(dir, "x")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		db, _, err := Open(path, &Options{NoSync: true})
		if err != nil {
			return
		}
		defer db.Close()
		if _, err := read(db); err != nil {
			t.Fatal(err)
		}
	})
}
