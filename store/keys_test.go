package store

import (
	"slices"
	"testing"

	"go.etcd.io/bbolt"
)

// TestKeysOfParts: the keys of an owner are those with its name as the first part, and owners
// are listed once, by a prefix of their names.
func TestKeysOfParts(t *testing.T) {
	updateKeys(t, openKeys(t), func(b *bbolt.Bucket) error {
		for _, owner := range []string{"batch 1", "batch 10", "batch 2", "other"} {
			for _, name := range []string{"a", "b\x00c"} {
				if err := b.Put(JoinKey(owner, name), nil); err != nil {
					return err
				}
			}
		}
		keys, err := KeysWith(b, JoinKey("batch 1", ""))
		if err != nil || len(keys) != 2 {
			t.Fatalf("%q: %v", keys, err)
		}
		if first, rest, ok := CutKey(keys[1]); string(first) != "batch 1" || string(rest) != "b\x00c" || !ok {
			t.Errorf("%q, %q, %t", first, rest, ok)
		}
		owners, err := FirstParts(b, "batch")
		if want := []string{"batch 1", "batch 10", "batch 2"}; !slices.Equal(owners, want) {
			t.Errorf("%q, want %q", owners, want)
		}
		return err
	})
	if _, err := FirstParts(nil, ""); err == nil {
		t.Error("a missing bucket has no keys")
	}
}
