package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// CreateBuckets creates the bucket of a kind of records and the named buckets in it, unless they exist.
func CreateBuckets(tx *bbolt.Tx, root string, names ...string) error {
	b, err := tx.CreateBucketIfNotExists([]byte(root))
	for _, name := range names {
		if err == nil {
			_, err = b.CreateBucketIfNotExists([]byte(name))
		}
	}
	return err
}

// Bucket returns one of those named buckets; nil if it was never created.
func Bucket(tx *bbolt.Tx, root, name string) *bbolt.Bucket {
	b := tx.Bucket([]byte(root))
	if b == nil {
		return nil
	}
	return b.Bucket([]byte(name))
}

// CheckNesting returns what is wrong with an entry of a bucket: those of the bucket root, and of
// the holders in it, are buckets, and no others in it are.
func CheckNesting(root, bucket string, value []byte, holders ...string) error {
	within, inside := strings.CutPrefix(bucket, root+"/")
	holds := bucket == root || inside && slices.Contains(holders, within)
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
