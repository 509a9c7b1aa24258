package servicetest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// Entry is a record in a database.
type Entry struct {
	Path       [][]byte // of its bucket
	Key, Value []byte
}

// Kind is the path of the entry's bucket, with * for numbers; where entries of one bucket differ in kind, the key or
// its first letter follows.
func (e Entry) Kind() string {
	var parts []string
	for _, p := range e.Path {
		if slices.ContainsFunc(p, func(c byte) bool { return c < ' ' }) {
			p = []byte("*")
		}
		parts = append(parts, string(p))
	}
	kind := strings.Join(parts, "/")
	switch {
	case kind == "tournaments/games/*", strings.HasPrefix(kind, "collections/"):
		return kind + "/" + string(e.Key)
	case strings.HasSuffix(kind, "/keys"):
		return kind + "/" + string(e.Key[:1])
	}
	return kind
}

// Put replaces the record in the database at path.
func (e Entry) Put(t *testing.T, path string, key, value []byte) {
	t.Helper()
	Alter(t, path, func(tx *bbolt.Tx) error {
		b := tx.Bucket(e.Path[0])
		for _, name := range e.Path[1:] {
			b = b.Bucket(name)
		}
		if err := b.Delete(e.Key); err != nil {
			return err
		}
		return b.Put(key, value)
	})
}

// Damages returns the record with four bytes of its key and of its value replaced by zeros, by what is damaged.
func (e Entry) Damages() map[string]Entry {
	all := map[string]Entry{"key": {e.Path, zeroed(e.Key, len(e.Key)), e.Value}}
	if n := len(e.Value); n > 0 {
		at := 2
		if n == 8 {
			at = 4
		}
		all["value"] = Entry{e.Path, e.Key, zeroed(e.Value, at)}
	}
	return all
}

// zeroed returns b with the four bytes from at on, or its last four, replaced by zeros.
func zeroed(b []byte, at int) []byte {
	b = bytes.Clone(b)
	at = max(0, min(at, len(b)-4))
	clear(b[at:min(at+4, len(b))])
	return b
}

// Entries returns the first record of each kind in the database at path.
func Entries(t *testing.T, path string) map[string]Entry {
	t.Helper()
	all := map[string]Entry{}
	Alter(t, path, func(tx *bbolt.Tx) error {
		var visit func(path [][]byte, b *bbolt.Bucket) error
		visit = func(path [][]byte, b *bbolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				if v == nil {
					return visit(append(slices.Clone(path), bytes.Clone(k)), b.Bucket(k))
				}
				e := Entry{path, bytes.Clone(k), bytes.Clone(v)}
				if _, ok := all[e.Kind()]; !ok {
					all[e.Kind()] = e
				}
				return nil
			})
		}
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return visit([][]byte{bytes.Clone(name)}, b) })
	})
	return all
}

// Alter runs a transaction on the database at path, which no server may have open.
func Alter(t *testing.T, path string, do func(*bbolt.Tx) error) {
	t.Helper()
	bolt, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer bolt.Close()
	if err := bolt.Update(do); err != nil {
		t.Fatal(err)
	}
}
