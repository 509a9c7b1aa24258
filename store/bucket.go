package store

import (
	"fmt"

	"go.etcd.io/bbolt"
)

// Bucket returns a bucket in a root; nil if it was never created.
func Bucket(tx *bbolt.Tx, root, name string) *bbolt.Bucket {
	b := tx.Bucket([]byte(root))
	if b == nil {
		return nil
	}
	return b.Bucket([]byte(name))
}

// PutJSON stores v as sealed JSON.
func PutJSON(b *bbolt.Bucket, key []byte, v any) error {
	text, err := Seal(v)
	if err != nil {
		return err
	}
	return b.Put(key, text)
}

// ReadJSON decodes a record, sealed or of an early release, into v. Errors name what it is the
// record of.
func ReadJSON(what string, text []byte, v any) error {
	if err := Unseal(text, v); err != nil {
		return fmt.Errorf("record of %s: %w", what, err)
	}
	return nil
}

// CheckFormat refuses a record whose format this program does not read. A format's number
// changes whenever an older program would misunderstand a record.
func CheckFormat(what string, have, want int) error {
	if have != want {
		return fmt.Errorf("record of %s has format %d, want %d", what, have, want)
	}
	return nil
}
