package db

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// CreateBuckets creates a store's bucket and the named buckets in it, unless they exist.
func CreateBuckets(tx *bbolt.Tx, store string, names ...string) error {
	root, err := tx.CreateBucketIfNotExists([]byte(store))
	for _, name := range names {
		if err == nil {
			_, err = root.CreateBucketIfNotExists([]byte(name))
		}
	}
	return err
}

// Bucket returns a bucket of a store; nil if it was never created.
func Bucket(tx *bbolt.Tx, store, name string) *bbolt.Bucket {
	root := tx.Bucket([]byte(store))
	if root == nil {
		return nil
	}
	return root.Bucket([]byte(name))
}

// CheckNesting returns what is wrong with an entry of a bucket: those of a store's bucket, and of
// the holders in it, are buckets, and no others of the store are.
func CheckNesting(store, bucket string, value []byte, holders ...string) error {
	within, inside := strings.CutPrefix(bucket, store+"/")
	holds := bucket == store || inside && slices.Contains(holders, within)
	switch {
	case holds && value != nil:
		return errors.New("it is not a bucket")
	case inside && !holds && value == nil:
		return errors.New("it is a bucket")
	}
	return nil
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
