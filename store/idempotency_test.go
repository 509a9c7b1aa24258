package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// updateKeys runs f on the bucket of keys.
func updateKeys(t *testing.T, db *bbolt.DB, f func(b *bbolt.Bucket) error) {
	t.Helper()
	err := db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("keys"))
		if err != nil {
			return err
		}
		return f(b)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func openKeys(t *testing.T) *bbolt.DB {
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "db"), 0o644, &bbolt.Options{NoSync: true, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestKeysAreFoundUntilTheyAreOld(t *testing.T) {
	db := openKeys(t)
	begun := time.Unix(1_700_000_000, 0)
	now := begun
	has := func(b *bbolt.Bucket, key, want string) {
		t.Helper()
		value, found, err := FindKey(b, key, "print of "+key, now)
		if err != nil || found != (want != "") || string(value) != want {
			t.Errorf("%s: %q, %t, %v", key, value, found, err)
		}
	}
	updateKeys(t, db, func(b *bbolt.Bucket) error {
		for i := range 5 {
			key := fmt.Sprint("k", i)
			has(b, key, "")
			if err := PutKey(b, key, "print of "+key, []byte(key), begun.Add(time.Duration(i)*time.Hour)); err != nil {
				return err
			}
			has(b, key, key)
		}
		_, found, err := FindKey(b, "k1", "another", now)
		if other := (*KeyReusedError)(nil); found || !errors.As(err, &other) || !other.At.Equal(begun.Add(time.Hour)) {
			t.Error(found, err)
		}
		has(b, "k", "") // a prefix of a key is not a key
		return nil
	})
	updateKeys(t, db, func(b *bbolt.Bucket) error {
		now = begun.Add(KeepKeys + time.Hour) // nothing was recorded since
		for key, want := range map[string]string{"k0": "", "k1": "k1", "k4": "k4"} {
			has(b, key, want)
		}
		if _, found, err := FindKey(b, "k0", "another", now); found || err != nil {
			t.Error("a key that is too old is refused for another request:", found, err)
		}
		return nil
	})
	updateKeys(t, db, func(b *bbolt.Bucket) error {
		if err := PutKey(b, "late", "print of late", []byte("late"), begun.Add(KeepKeys+2*time.Hour)); err != nil {
			return err
		}
		for key, want := range map[string]string{"k0": "", "k1": "", "k2": "k2", "k4": "k4", "late": "late"} {
			has(b, key, want)
		}
		if n := b.Inspect().KeyN; n != 8 { // removed keys leave no entries
			t.Errorf("%d entries for 4 keys", n)
		}
		return nil
	})
}

func TestNoKey(t *testing.T) {
	updateKeys(t, openKeys(t), func(b *bbolt.Bucket) error {
		if err := PutKey(b, "", "p", []byte("v"), time.Now()); err != nil {
			return err
		}
		if _, found, err := FindKey(b, "", "p", time.Now()); found || err != nil {
			t.Error(found, err)
		}
		return nil
	})
	if _, found, err := FindKey(nil, "k", "p", time.Now()); found || err != nil {
		t.Error(found, err)
	}
}

// TestKeyPutAgain: a replaced value lasts as long as a first one.
func TestKeyPutAgain(t *testing.T) {
	db := openKeys(t)
	begun := time.Unix(1_700_000_000, 0)
	updateKeys(t, db, func(b *bbolt.Bucket) error {
		for i, key := range []string{"k", "k", "late"} {
			if err := PutKey(b, key, key, []byte{byte(i)}, begun.Add(time.Duration(i)*(KeepKeys/2+time.Hour))); err != nil {
				return err
			}
		}
		value, found, err := FindKey(b, "k", "k", begun.Add(KeepKeys))
		if err != nil || !found || value[0] != 1 {
			t.Error(value, found, err)
		}
		return nil
	})
}

// TestAdoptedKeys: a key that another place has is recorded with its own time, unless it is old or was used since.
func TestAdoptedKeys(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	updateKeys(t, openKeys(t), func(b *bbolt.Bucket) error {
		for _, adopted := range []struct {
			value string
			age   time.Duration
			want  string
		}{{"old", KeepKeys + 1, ""}, {"first", 3 * time.Hour, "first"}, {"before", 4 * time.Hour, "first"}, {"again", 3 * time.Hour, "again"}, {"later", time.Hour, "later"}} {
			if err := AdoptKey(b, "k", "print", []byte(adopted.value), now.Add(-adopted.age), now); err != nil {
				return err
			}
			if value, _, err := FindKey(b, "k", "print", now); err != nil || string(value) != adopted.want {
				t.Errorf("%s: %q, %v", adopted.value, value, err)
			}
		}
		if _, found, err := FindKey(b, "k", "print", now.Add(KeepKeys-time.Hour+1)); found || err != nil {
			t.Error("it is found for too long", err)
		}
		return nil
	})
}
