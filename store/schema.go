package store

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// Schema names the buckets of one kind of thing in a database.
type Schema struct {
	Root    string // the bucket that they are in
	Buckets []Entries
}

// Entries describes a bucket.
type Entries struct {
	Name string
	// Check returns what is wrong with an entry, nil if it is whole. Without it the entries are buckets,
	// and what those hold is checked by whoever reads it.
	Check func(key, value []byte) error
}

// Create creates the buckets, unless they exist.
func (s Schema) Create(tx *bbolt.Tx) error {
	root, err := tx.CreateBucketIfNotExists([]byte(s.Root))
	for _, b := range s.Buckets {
		if err == nil {
			_, err = root.CreateBucketIfNotExists([]byte(b.Name))
		}
	}
	return err
}

// CheckRecord is a CheckRecord of the schema's buckets.
func (s Schema) CheckRecord(bucket string, key, value []byte) error {
	path, inside := strings.CutPrefix(bucket, s.Root+"/")
	if !inside {
		if bucket == s.Root && value != nil {
			return errors.New("it is not a bucket")
		}
		return nil
	}
	name, _, deep := strings.Cut(path, "/")
	i := slices.IndexFunc(s.Buckets, func(b Entries) bool { return b.Name == name })
	switch holds := i >= 0 && s.Buckets[i].Check == nil; {
	case holds && !deep && value != nil:
		return errors.New("it is not a bucket")
	case holds:
		return nil
	case value == nil:
		return errors.New("it is a bucket")
	case i < 0 || deep:
		return nil
	}
	return s.Buckets[i].Check(key, value)
}

// Each yields the records of a bucket, each with the error of read if it cannot be read; none if b is
// nil, because the process that was to create the bucket stopped before.
func Each[T any](b *bbolt.Bucket, read func(key, text []byte) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if b == nil {
			return
		}
		c := b.Cursor()
		for key, text := c.First(); key != nil; key, text = c.Next() {
			if text != nil && !yield(read(key, text)) { // else it is a bucket, which is damage of the database
				return
			}
		}
	}
}
